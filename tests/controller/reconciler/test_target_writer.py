"""One action, one write, and an outcome whatever happens to it."""

import pytest

from scaler_controller.reconciler.target_writer import FENCE_IS_OPEN
from scaler_core.api.ownership import BINDING, DECISION, parse_binding, parse_decision
from scaler_core.api.scaler import FINALIZER
from scaler_core.api.scaler_status import Commit
from scaler_core.model.action import (
    AddFinalizer,
    Bind,
    Committed,
    CommitVector,
    Conflicted,
    Refused,
    Release,
    RemoveFinalizer,
    Unknown,
)
from scaler_sim.apiserver import Answer, Call, Drop, Fault
from tests.controller.reconciler.conftest import Room, scaler_document, target_document


def intent(room: Room, replicas: int = 3) -> CommitVector:
    target = room.target
    commit = Commit(
        decision_id="decision-1",
        term=1,
        vector={"server": replicas},
        baseline_vector=target.vector,
        timestamp=room.clock.now(),
        target_generation=target.metadata.generation + 1,
    )
    return CommitVector(intent=commit, why="a test")


def is_write(call: Call) -> bool:
    return call.verb == "patch" and call.resource.plural == "modeldeployments" and not call.is_dry_run


async def bound(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    with room.fence():
        assert isinstance(await room.targets.carry_out(Bind(term=1), room.world()), Committed)


async def test_a_bind_proves_the_fence_and_installs_only_the_binding(room: Room) -> None:
    await bound(room)
    annotations = room.target.metadata.annotations
    assert parse_binding(annotations[BINDING]).scaler_uid == room.scaler.metadata.uid
    assert DECISION not in annotations
    assert room.target.vector == {"server": 2}


async def test_nothing_is_bound_behind_an_open_fence(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    outcome = await room.targets.carry_out(Bind(term=1), room.world())
    assert outcome == Refused(message=FENCE_IS_OPEN)
    assert room.target.metadata.annotations == {}


async def test_a_missing_permission_proves_no_fence(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    forbidden = Answer(code=403, reason="Forbidden", message="modeldeployments is forbidden: no patch for you")
    with room.cluster.faults.active(Fault(when=lambda call: call.verb == "patch", does=forbidden)):
        outcome = await room.targets.carry_out(Bind(term=1), room.world())
    assert isinstance(outcome, Refused)
    assert "could not be proven" in outcome.message


async def test_a_commit_writes_counts_and_decision_together_and_leaves_the_rest(room: Room) -> None:
    await bound(room)
    before = room.target.metadata.generation
    outcome = await room.targets.carry_out(intent(room), room.world())
    assert outcome == Committed(generation=before + 1)
    assert parse_decision(room.target.metadata.annotations[DECISION]).vector == {"server": 3}
    assert room.stored("modeldeployments")["spec"]["roles"][0] | {"size": 1} == {
        "name": "server",
        "kind": "Server",
        "instanceType": "gpu",
        "replicas": 3,
        "image": "engine:1",
        "size": 1,
    }


async def test_a_commit_on_what_changed_meanwhile_is_a_conflict(room: Room) -> None:
    await bound(room)
    world, action = room.world(), intent(room)
    await room.client.patch_merge(
        room.targets.target_resource, room.target.metadata.key, {"spec": {"engine": {"version": "2"}}}
    )
    outcome = await room.targets.carry_out(action, world)
    assert isinstance(outcome, Conflicted)
    assert "generation" in outcome.message
    assert room.target.vector == {"server": 2}


async def test_another_webhooks_refusal_keeps_its_words(room: Room) -> None:
    await bound(room)
    no = Answer(code=422, reason="Invalid", message="names of server collide at 3 replicas")
    with room.cluster.faults.active(Fault(when=is_write, does=no)):
        outcome = await room.targets.carry_out(intent(room), room.world())
    assert outcome == Refused(message="names of server collide at 3 replicas")


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        pytest.param(Drop.AFTER_EFFECT, Committed, id="a lost answer of a write that landed is found by reading"),
        pytest.param(Drop.BEFORE_EFFECT, Unknown, id="a write that is not to be seen may still arrive"),
    ],
)
async def test_a_broken_connection(room: Room, drop: Drop, expected: type) -> None:
    await bound(room)
    with room.cluster.faults.active(Fault(when=is_write, does=drop)):
        outcome = await room.targets.carry_out(intent(room), room.world())
    assert isinstance(outcome, expected)


async def test_a_release_keeps_the_decision_and_the_counts(room: Room) -> None:
    await bound(room)
    await room.targets.carry_out(intent(room), room.world())
    assert isinstance(await room.targets.carry_out(Release(why="suspended"), room.world()), Committed)
    assert set(room.target.metadata.annotations) == {DECISION}
    assert room.target.vector == {"server": 3}


async def test_counts_are_co_owned_after_the_bind(room: Room) -> None:
    await bound(room)
    await room.targets.own_counts(room.world())
    manifest = target_document()
    del manifest["spec"]["roles"][0]["replicas"]
    await room.client.apply(room.targets.target_resource, room.target.metadata.key, manifest, field_manager="git")
    assert room.target.vector == {"server": 2}


async def test_the_finalizer_comes_and_goes_alone(room: Room) -> None:
    document = scaler_document()
    document["metadata"]["finalizers"] = ["example.org/other"]
    await room.create(document, target_document())
    await room.targets.carry_out(AddFinalizer(), room.world())
    assert room.scaler.metadata.finalizers == ("example.org/other", FINALIZER)
    await room.targets.carry_out(RemoveFinalizer(), room.world())
    assert room.scaler.metadata.finalizers == ("example.org/other",)


async def test_a_finalizer_on_a_scaler_that_changed_is_a_conflict(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    world = room.world()
    await room.client.patch_merge(
        room.targets.scaler_resource, room.scaler.metadata.key, {"metadata": {"labels": {"a": "b"}}}
    )
    assert isinstance(await room.targets.carry_out(RemoveFinalizer(), world), Conflicted)
