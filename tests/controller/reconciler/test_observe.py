"""Snapshots: from caches, and past them when our own writes are not there yet."""

from dataclasses import replace

from scaler_controller.reconciler.observe import Gone, Lagging
from scaler_controller.reconciler.own_writes import PATIENCE_SECONDS
from scaler_core.model.world import Snapshot
from tests.controller.reconciler.conftest import KEY, Room, scaler_document, target_document


async def test_a_scaler_that_is_not_there_is_gone(room: Room) -> None:
    assert await room.observer.observe(KEY) == Gone()


async def test_the_caches_make_the_snapshot(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    seen = await room.observer.observe(KEY)
    assert isinstance(seen, Snapshot)
    assert seen.world.target is not None
    assert seen.world.target.vector == {"server": 2}
    assert seen.world.target_read_at is None
    assert seen.world.workloads is None


async def test_a_scaler_before_its_target_is_seen_without_one(room: Room) -> None:
    await room.create(scaler_document())
    seen = await room.observer.observe(KEY)
    assert isinstance(seen, Snapshot)
    assert seen.world.target is None


async def test_an_older_cache_than_our_own_write_is_waited_for(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    await room.statuses.write(room.scaler, room.scaler.status.model_copy(update={"observed_generation": 1}))
    assert isinstance(await room.observer.observe(KEY), Lagging)
    room.pump()
    assert isinstance(await room.observer.observe(KEY), Snapshot)


async def test_after_five_seconds_the_api_server_itself_is_asked(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    await room.statuses.write(room.scaler, room.scaler.status.model_copy(update={"observed_generation": 7}))
    written = room.own_writes.unseen(KEY)
    assert written is not None
    room.own_writes._written[KEY] = replace(written, at=written.at - PATIENCE_SECONDS)
    seen = await room.observer.observe(KEY)
    assert isinstance(seen, Snapshot)
    assert seen.world.scaler.status.observed_generation == 7
    assert seen.world.target_read_at is not None


async def test_a_pass_can_be_told_to_read_past_the_cache(room: Room) -> None:
    await room.create(scaler_document(), target_document())
    room.observer.direct.add(KEY)
    first, second = await room.observer.observe(KEY), await room.observer.observe(KEY)
    assert isinstance(first, Snapshot)
    assert isinstance(second, Snapshot)
    assert (first.world.target_read_at is not None, second.world.target_read_at) == (True, None)


async def test_a_scaler_that_only_the_cache_still_has_is_gone(room: Room) -> None:
    room.observer.direct.add(KEY)
    assert await room.observer.observe(KEY) == Gone()
