import pytest

from scaler_controller.runtime.backoff import KeyBackoff
from scaler_core.api.meta import ObjectKey
from scaler_kube.backoff import Exponential

A, B = ObjectKey("ns", "a"), ObjectKey("ns", "b")


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [
        pytest.param(0, 0.0, 0.0, id="no-failure-no-wait"),
        pytest.param(1, 0.0, 1.0, id="first"),
        pytest.param(4, 0.0, 8.0, id="doubles"),
        pytest.param(4, 0.5, 6.0, id="jitter-takes-off"),
        pytest.param(9, 0.0, 256.0, id="just-below-the-cap"),
        pytest.param(10, 0.0, 300.0, id="capped"),
        pytest.param(100_000, 0.0, 300.0, id="no-overflow"),
    ],
)
def test_delay(failures: int, jitter: float, seconds: float) -> None:
    assert Exponential(base_seconds=1, cap_seconds=300).delay_seconds(failures, jitter) == seconds


def test_failures_are_counted_by_key_and_forgotten_by_a_success() -> None:
    backoff = KeyBackoff()
    assert [backoff.failed(A, 0.0) for _ in range(3)] == [1, 2, 4]
    assert backoff.failed(B, 0.0) == 1
    backoff.succeeded(A)
    assert backoff.failures(A) == 0
    assert backoff.failed(A, 0.0) == 1
