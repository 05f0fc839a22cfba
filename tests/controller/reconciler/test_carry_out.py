"""The order of writes around an action, and what a crash between them leaves."""

import pytest

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import BindingStatus, Commit
from scaler_core.decision import Decision
from scaler_core.model.action import Bind, CommitVector, Note
from scaler_kube.errors import ConflictError
from tests.controller.reconciler.conftest import Room, scaler_document, target_document
from tests.controller.reconciler.test_target_writer import bound, intent


def with_intent(room: Room) -> Decision:
    action = intent(room)
    binding = BindingStatus(target_uid=room.target.metadata.uid, target_name="llm", term=1)
    status = room.scaler.status.model_copy(update={"pending_commit": action.intent, "binding": binding})
    return Decision(status=status, action=action)


async def test_a_decision_without_news_writes_nothing(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    before = room.scaler.metadata.resource_version
    await room.executor.carry_out(Decision(status=room.scaler.status), room.world())
    assert room.scaler.metadata.resource_version == before


async def test_the_intent_is_stored_before_the_target_moves_and_cleared_after(room: Room) -> None:
    await bound(room)
    seen: list[tuple[str, Commit | None, int]] = []

    def look(where: str) -> None:
        seen.append((where, room.scaler.status.pending_commit, room.target.vector["server"]))

    object.__setattr__(room.executor, "pause", look)
    await room.executor.carry_out(with_intent(room), room.world())
    assert [(where, pending is not None, count) for where, pending, count in seen] == [
        ("before-intent", False, 2),
        ("before-commit", True, 2),
        ("before-outcome", True, 3),
    ]
    status = room.scaler.status
    assert status.pending_commit is None
    assert status.last_commit is not None
    assert status.last_commit.vector == {"server": 3}
    assert status.last_commit.target_generation == room.target.metadata.generation
    assert status.pending_cohort is not None
    assert [note.reason for note in room.told] == [EventReason.SCALED_UP]


async def test_only_a_sample_after_the_landing_shows_what_was_written(room: Room) -> None:
    await bound(room)
    decision = with_intent(room)
    assert isinstance(decision.action, CommitVector)
    await room.executor.carry_out(decision, room.world())
    landed = room.scaler.status.last_commit
    assert landed is not None
    assert landed.timestamp > decision.action.intent.timestamp


async def test_a_scaler_that_changed_since_it_was_read_stops_the_write_of_the_target(room: Room) -> None:
    await bound(room)
    world, decision = room.world(), with_intent(room)
    await room.client.patch_merge(
        room.targets.scaler_resource, room.scaler.metadata.key, {"metadata": {"labels": {"a": "b"}}}
    )
    with pytest.raises(ConflictError):
        await room.executor.carry_out(decision, world)
    assert room.target.vector == {"server": 2}


async def test_events_follow_the_write_that_they_tell_of(room: Room) -> None:
    await bound(room)
    note = Note(reason=EventReason.ADMITTED, message="all of them")
    decision = Decision(status=room.scaler.status.model_copy(update={"observed_generation": 9}), notes=(note,))
    world = room.world()
    await room.client.patch_merge(
        room.targets.scaler_resource, room.scaler.metadata.key, {"metadata": {"labels": {"a": "b"}}}
    )
    with pytest.raises(ConflictError):
        await room.executor.carry_out(decision, world)
    assert room.told == []
    await room.executor.carry_out(decision, room.world())
    assert room.told == [note]


async def test_an_open_fence_is_told_and_backed_off(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    binding = BindingStatus(target_uid=room.target.metadata.uid, target_name="llm", pending_term=1, term_floor=1)
    status = room.scaler.status.model_copy(update={"binding": binding})
    await room.executor.carry_out(Decision(status=status, action=Bind(term=1)), room.world())
    assert EventReason.FENCE_OPEN in [note.reason for note in room.told]
    refusal = room.scaler.status.refusal
    assert refusal is not None
    assert refusal.retry_at > room.clock.now()


async def test_a_commit_is_counted_by_action_and_outcome(room: Room) -> None:
    await bound(room)
    decision = with_intent(room)
    assert isinstance(decision.action, CommitVector)
    await room.executor.carry_out(decision, room.world())
    value = room.metrics.registry.get_sample_value(
        "mds_commit_outcomes_total", {"action": "CommitVector", "outcome": "Committed"}
    )
    assert value == 1.0
