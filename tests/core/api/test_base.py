import pytest
from pydantic import ValidationError

from scaler_core.api.base import format_time, parse_time
from scaler_core.api.deployment import Retirement
from scaler_core.api.meta import Condition, ConditionStatus


def test_empty_texts_are_left_out_because_some_servers_take_them_for_null() -> None:
    assert Retirement(role_name="decode", state="Admitted").to_wire() == {
        "roleName": "decode",
        "replicaOrdinal": 0,
        "observedGeneration": 0,
        "state": "Admitted",
    }


def test_a_message_without_text_reads_back_as_empty() -> None:
    condition = Condition(type="Bound", status=ConditionStatus.TRUE, reason="Bound", last_transition_time=0.0)
    assert "message" not in condition.to_wire()
    assert Condition.from_wire(condition.to_wire()) == condition


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("1970-01-01T00:00:10Z", 10.0, id="whole seconds"),
        pytest.param("1970-01-01T00:00:10.250Z", 10.25, id="milliseconds"),
    ],
)
def test_times_survive_the_wire(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds
    assert format_time(seconds) == text


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00", "9999-12-31T23:59:60Z", "1" * 3])
def test_a_time_that_is_none_is_an_invalid_document_and_nothing_worse(text: str) -> None:
    with pytest.raises(ValidationError):
        Condition.from_wire({"type": "Bound", "status": "True", "reason": "Bound", "lastTransitionTime": text})
