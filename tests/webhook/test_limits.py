"""How long judging may take."""

import pytest

from scaler_webhook.server import Limits


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        pytest.param("5s", 4.0, id="seconds"),
        pytest.param("1500ms", 0.5, id="milliseconds"),
        pytest.param("100ms", 0.2, id="less than the margin"),
        pytest.param("1" * 5000 + "s", 9.0, id="more digits than a float holds"),
        pytest.param(None, 9.0, id="nothing"),
    ],
)
def test_the_deadline_is_finite_whatever_is_asked(asked: str | None, seconds: float) -> None:
    assert Limits(timeout_seconds=10.0, margin_seconds=1.0).deadline(asked) == seconds
