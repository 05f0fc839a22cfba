"""The numbers of a decision in the log."""

from scaler_controller.reconciler.numbers import role_numbers
from scaler_core.decision import decide
from scaler_core.model.world import Snapshot
from tests.core.test_decision import Passes, deployment, owner, scaler
from tests.core.test_recording import record


def test_every_number_that_is_known_is_there() -> None:
    recording = record(owner(server=2), 16, 8.0)
    decision, _ = decide(recording.snapshot, recording.memory, "d")
    assert role_numbers(decision) == {
        "server": {
            "state": "Fresh",
            "complete": True,
            "current": 2,
            "ready": 2,
            "running": 0.0,
            "waiting": 16.0,
            "prompt_tokens_per_second": 0.0,
            "generation_tokens_per_second": 0.0,
            "demand": 16.0,
            "recommended": 4,
            "planned": 4,
            "reason": "Proportional",
        }
    }


def test_a_pass_that_plans_nothing_has_none() -> None:
    passes = Passes(scaler(suspend=True), deployment(server=2))
    decision, _ = decide(Snapshot(world=record(passes, 0, None).snapshot.world), None, "d")
    assert role_numbers(decision) == {}
