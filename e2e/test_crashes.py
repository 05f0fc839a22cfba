"""kill -9 and SIGSTOP of real controller processes, in the middle of commits."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from e2e.product import Watcher
from e2e.worlds import AuditedWrite, Server, World, is_stopped, running, until, watching
from scaler_core.api.ownership import BINDING, DECISION, parse_binding, parse_decision

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SERVERS = pytest.mark.parametrize("server", list(Server), ids=[f"on the {server} API server" for server in Server])
BEFORE_INTENT, BEFORE_COMMIT, BEFORE_OUTCOME = "before-intent", "before-commit", "before-outcome"
UP = [{"prefill": count, "decode": count} for count in (2, 3, 4)]
DOWN = [{"prefill": count, "decode": count} for count in (3, 2, 1)]
BUSY = 24
"""Streams that ask for eight replicas, of which the bounds allow four."""


@SERVERS
async def test_killed_at_every_write_of_three_commits_the_fleet_goes_the_way_of_a_twin_that_never_failed(
    server: Server, tmp_path: Path
) -> None:
    twin, crashed = tmp_path / "twin", tmp_path / "crashed"
    twin.mkdir()
    crashed.mkdir()
    async with running(server, twin, {}) as world, watching(world) as watcher:
        world.load(BUSY)
        await until("the twin is at its maximum", lambda: len(watcher.commits) == 3, world=world, seconds=90)
        undisturbed = [dict(commit.after) for commit in watcher.commits]
    assert undisturbed == UP

    async with running(server, crashed, {}, "--pause-at", BEFORE_INTENT) as world, watching(world) as watcher:
        world.load(BUSY)
        await crash(world, watcher, landed=0, intended=False, then=BEFORE_COMMIT)
        await crash(world, watcher, landed=0, intended=True, then=BEFORE_OUTCOME)
        await crash(world, watcher, landed=1, intended=True, then="")
        await until("at the maximum", lambda: len(watcher.commits) == 3, world=world, seconds=90)
        await quiet(world)
        assert [dict(commit.after) for commit in watcher.commits] == undisturbed
        await nothing_is_lost(world, watcher)


@SERVERS
@pytest.mark.parametrize("place", [BEFORE_INTENT, BEFORE_COMMIT, BEFORE_OUTCOME])
async def test_killed_in_a_scale_down_nothing_shrinks_twice(server: Server, place: str, tmp_path: Path) -> None:
    async with running(server, tmp_path, {}) as world, watching(world) as watcher:
        loop = world.load(BUSY)
        await until("at the maximum", lambda: len(watcher.commits) == 3, world=world, seconds=90)
        await quiet(world)
        await world.kill()
        await world.start_again("--pause-at", place)
        loop.stop()
        await crash(
            world, watcher, landed=4 if place == BEFORE_OUTCOME else 3, intended=place != BEFORE_INTENT, then=""
        )
        await until("back at the minimum", lambda: len(watcher.commits) == 6, world=world, seconds=150)
        await quiet(world)
        assert [dict(commit.after) for commit in watcher.commits] == UP + DOWN
        await nothing_is_lost(world, watcher)


@SERVERS
@pytest.mark.parametrize("place", [BEFORE_COMMIT, BEFORE_OUTCOME])
async def test_no_write_of_a_leader_that_slept_through_its_lease_lands_after_its_successors_first(
    server: Server, place: str, tmp_path: Path
) -> None:
    async with running(server, tmp_path, {}, "--pause-at", place, "--identity", "first") as world:
        second = world.second_controller("--identity", "second")
        try:
            await second.start()
            async with watching(world) as watcher:
                await until("the first one leads and bound", lambda: is_bound(world), world=world)
                world.load(BUSY)
                await until("the first one stopped", lambda: is_stopped(world.scenario.controller), world=world)
                known = len(watcher.commits)
                await until("the second one commits", lambda: len(watcher.commits) > known, world=world, seconds=90)
                world.scenario.controller.signal(signal.SIGCONT)
                assert await world.scenario.controller.wait(30) == 3, world.scenario.controller.tail()
                await until("at the maximum", lambda: len(watcher.commits) == 3, world=world, seconds=90)
                await asyncio.sleep(1.0)  # the audit log is written a moment after the answers
                assert [dict(commit.after) for commit in watcher.commits] == UP
                await nothing_is_lost(world, watcher)
                successors_come_last(world.audit())
        finally:
            await second.stop()


async def crash(world: World, watcher: Watcher, *, landed: int, intended: bool, then: str) -> None:
    """Wait until the controller has stopped itself, see what is stored, kill it, and start it anew."""
    await until("the controller stopped itself", lambda: is_stopped(world.scenario.controller), world=world, seconds=90)
    await until("the watch shows what landed", lambda: len(watcher.commits) >= landed, world=world)
    assert len(watcher.commits) == landed
    status = await world.status()
    assert (status.pending_commit is not None) is intended
    await world.kill()
    await world.start_again(*(("--pause-at", then) if then else ()))


async def quiet(world: World) -> None:
    """Nothing is under way any more."""

    async def is_quiet() -> bool:
        status = await world.status()
        return status.pending_commit is None and status.pending_cohort is None

    await until("nothing is under way", is_quiet, world=world)


async def is_bound(world: World) -> bool:
    status = await world.status()
    return status.binding is not None and status.binding.term is not None


async def nothing_is_lost(world: World, watcher: Watcher) -> None:
    """Every move of the counts carried its own decision, under one binding of one term."""
    decisions = [parse_decision(commit.annotations[DECISION]) for commit in watcher.commits]
    assert [dict(decision.vector) for decision in decisions] == [dict(commit.after) for commit in watcher.commits]
    assert len({decision.decision_id for decision in decisions}) == len(decisions)
    assert {parse_binding(commit.annotations[BINDING]).term for commit in watcher.commits} == {1}
    generations = [commit.generation for commit in watcher.commits]
    assert generations == list(range(generations[0], generations[0] + len(generations)))
    status, annotations = await world.status(), (await world.target())["metadata"]["annotations"]
    assert status.last_commit is not None
    assert status.last_commit.decision_id == parse_decision(annotations[DECISION]).decision_id


def successors_come_last(writes: Sequence[AuditedWrite]) -> None:
    """From the second process's first write on, no write of the first one took effect."""
    first_of_second = next(i for i, write in enumerate(writes) if "(second)" in write.agent and write.took_effect)
    assert any("(first)" in write.agent and write.took_effect for write in writes[:first_of_second])
    late = [write for write in writes[first_of_second:] if "(first)" in write.agent and write.took_effect]
    assert late == []
