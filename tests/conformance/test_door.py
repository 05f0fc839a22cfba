"""Our own client, elector and event writer against both servers."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from scaler_controller.manager.leadership import Leadership
from scaler_controller.runtime.lease import LeaseTimes
from scaler_core.api.reasons import EventReason
from scaler_core.model.action import Note
from scaler_kube import errors
from scaler_kube.client import DryRun, FieldConflicts
from scaler_kube.clock import SteadyClock
from scaler_kube.event_series import Regarding
from scaler_kube.events import EventRecorder
from scaler_kube.resources import EVENTS, LEASES, SECRETS, Resource, workloads
from scaler_kube.watch import EventType
from tests.conformance.conftest import Door


def secret(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def annotated(document: dict[str, Any], value: str) -> dict[str, Any]:
    return document | {"metadata": document["metadata"] | {"annotations": {"a": value}}}


async def test_a_stale_write_is_a_conflict_and_a_taken_name_is_told_apart(door: Door) -> None:
    first = await door.client.create(SECRETS, door.namespace, secret("s"))
    with pytest.raises(errors.ConflictError) as taken:
        await door.client.create(SECRETS, door.namespace, secret("s"))
    assert taken.value.is_already_there
    await door.client.replace(SECRETS, door.key("s"), annotated(first, "1"))
    with pytest.raises(errors.ConflictError) as stale:
        await door.client.replace(SECRETS, door.key("s"), annotated(first, "2"))
    assert not stale.value.is_already_there


async def test_absence_is_proven_only_by_the_objects_own_name(door: Door) -> None:
    with pytest.raises(errors.NotFoundError) as absent:
        await door.client.get(SECRETS, door.key("s"))
    assert absent.value.is_absent("s")
    with pytest.raises(errors.NotFoundError) as unserved:
        await door.client.get(workloads("v9"), door.key("s"))
    assert not unserved.value.is_absent("s")


async def test_a_delete_with_another_uid_deletes_nothing(door: Door) -> None:
    created = await door.client.create(SECRETS, door.namespace, secret("s"))
    with pytest.raises(errors.ConflictError):
        await door.client.delete(SECRETS, door.key("s"), uid="other")
    await door.client.delete(SECRETS, door.key("s"), uid=created["metadata"]["uid"])
    with pytest.raises(errors.NotFoundError):
        await door.client.get(SECRETS, door.key("s"))


async def test_pages_bring_everything_once(door: Door) -> None:
    for number in range(5):
        await door.client.create(SECRETS, door.namespace, secret(f"s{number}", {"kept": "yes"}))
    await door.client.create(SECRETS, door.namespace, secret("other"))
    listing = await door.client.list_all(SECRETS, namespace=door.namespace, labels="kept=yes", limit=2)
    assert [item["metadata"]["name"] for item in listing.items] == ["s0", "s1", "s2", "s3", "s4"]
    assert {item["kind"] for item in listing.items} == {"Secret"}


async def test_a_watch_brings_what_came_after_the_list(door: Door) -> None:
    created = await door.client.create(SECRETS, door.namespace, secret("s"))
    listing = await door.client.list_all(SECRETS, namespace=door.namespace)
    written = await door.client.replace(SECRETS, door.key("s"), annotated(created, "1"))
    await door.client.delete(SECRETS, door.key("s"))
    watch = door.client.watch(
        SECRETS, namespace=door.namespace, resource_version=listing.resource_version, timeout_seconds=10
    )
    async with aclosing(watch) as events:
        seen = [await anext(events), await anext(events)]
    assert [event.type for event in seen] == [EventType.MODIFIED, EventType.DELETED]
    assert seen[0].resource_version == written["metadata"]["resourceVersion"]


async def test_a_json_patch_tells_a_failed_test_from_success(door: Door) -> None:
    await door.client.create(SECRETS, door.namespace, secret("s", {"a": "1"}))
    test = {"op": "test", "path": "/metadata/labels/a", "value": "1"}
    change = {"op": "replace", "path": "/metadata/labels/a", "value": "2"}
    patched = await door.client.patch_json(SECRETS, door.key("s"), [test, change])
    assert patched["metadata"]["labels"] == {"a": "2"}
    with pytest.raises(errors.InvalidError) as failed:
        await door.client.patch_json(SECRETS, door.key("s"), [test, change])
    assert failed.value.is_failed_test


async def test_a_dry_run_stores_nothing(door: Door) -> None:
    await door.client.create(SECRETS, door.namespace, secret("s", {"a": "1"}))
    change = {"metadata": {"labels": {"a": "2"}}}
    dry = await door.client.patch_merge(SECRETS, door.key("s"), change, dry_run=DryRun.ALL)
    assert dry["metadata"]["labels"] == {"a": "2"}
    assert (await door.client.get(SECRETS, door.key("s")))["metadata"]["labels"] == {"a": "1"}


async def test_apply_refuses_anothers_field_unless_forced(door: Door) -> None:
    def body(value: str) -> dict[str, Any]:
        metadata = {"name": "s", "namespace": door.namespace, "labels": {"a": value}}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}

    await door.client.apply(SECRETS, door.key("s"), body("1"))
    with pytest.raises(errors.ConflictError, match='conflict with "door"'):
        await door.client.apply(SECRETS, door.key("s"), body("2"), field_manager="other")
    forced = await door.client.apply(
        SECRETS, door.key("s"), body("2"), field_manager="other", conflicts=FieldConflicts.FORCE
    )
    assert forced["metadata"]["labels"] == {"a": "2"}
    assert {entry["manager"] for entry in forced["metadata"]["managedFields"]} >= {"other"}


async def test_discovery(door: Door) -> None:
    assert (await door.client.discover("coordination.k8s.io", "v1"))["leases"] == "Lease"
    assert await door.client.serves(SECRETS)
    assert not await door.client.serves(workloads("v9"))
    assert not await door.client.serves(Resource(group="", version="v1", plural="nothings", kind="Nothing"))


async def test_a_lease_passes_from_one_leader_to_the_next(door: Door) -> None:
    def candidate(identity: str) -> Leadership:
        return Leadership(
            client=door.client,
            key=door.key("scaler"),
            identity=identity,
            times=LeaseTimes(lease_seconds=1.5, renew_seconds=1.0, retry_seconds=0.1),
            clock=SteadyClock(),
        )

    one, two = candidate("one"), candidate("two")
    await one.acquire()
    async with asyncio.TaskGroup() as group:
        renewal = group.create_task(one.keep(), name="renewal")
        waiting = group.create_task(two.acquire(), name="waiting")
        await asyncio.sleep(0.5)
        assert one.is_leader
        assert not waiting.done()
        assert two.holder == "one"
        renewal.cancel()
        await asyncio.wait([renewal])
        await one.release()
    assert two.is_leader
    lease = await door.client.get(LEASES, door.key("scaler"))
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("two", 1)


async def test_events_are_admitted_and_extended(door: Door) -> None:
    now = SteadyClock()
    recorder = EventRecorder(client=door.client, controller="gpustack.ai/scaler", instance="test", clock=now)
    owner = await door.client.create(SECRETS, door.namespace, secret("s"))
    regarding = Regarding(
        api_version="v1", kind="Secret", namespace=door.namespace, name="s", uid=owner["metadata"]["uid"]
    )
    note = Note(reason=EventReason.SCALED_UP, message="prefill=2 -> prefill=3")
    recorder.record(regarding, note)
    await recorder.flush()
    later = SteadyClock(wall_at_start=now.now() + 100)
    object.__setattr__(recorder, "_clock", later)
    recorder.record(regarding, note)
    await recorder.flush()
    assert (recorder.written, recorder.failed) == (2, 0)
    listing = await door.client.list_all(EVENTS, namespace=door.namespace)
    (event,) = [item for item in listing.items if item["reason"] == "ScaledUp"]
    assert event["series"]["count"] == 2
    assert event["regarding"]["uid"] == regarding.uid
