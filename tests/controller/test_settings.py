import pytest
from pydantic import ValidationError

from scaler_controller.settings import Settings


def test_the_defaults_are_valid() -> None:
    assert Settings().lease_seconds == 15.0


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        pytest.param((10.0, 10.0, 2.0), "must fall in this order", id="a renew deadline as long as the lease"),
        pytest.param((15.0, 10.0, 9.0), "1.2 times retry", id="too few retries before the renew deadline"),
    ],
)
def test_lease_times_without_room_are_refused_with_a_remedy(times: tuple[float, float, float], wanted: str) -> None:
    lease, renew, retry = times
    with pytest.raises(ValidationError, match=wanted):
        Settings(lease_seconds=lease, lease_renew_seconds=renew, lease_retry_seconds=retry)


def test_the_environment_sets_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDS_CONTROLLER_WORKERS", "9")
    assert Settings().workers == 9
