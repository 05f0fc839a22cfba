import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.informer import Informer, Presence, Subject
from scaler_kube.reflector import Undecodable
from scaler_kube.resources import PODS, workloads
from scaler_kube.store import Change, Store
from tests.fakes.memory_api import MemoryApi

pytestmark = pytest.mark.looptime
PATH = "/api/v1/namespaces/ns/pods/a"
A = ObjectKey("ns", "a")
WORKLOADS = Subject(versions=(workloads("v1beta2"), workloads("v1beta1")), presence=Presence.OPTIONAL)


def pod(value: object) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": "a"}, "value": value}


def decode(document: dict[str, Any]) -> int:
    return int(document["value"])


class Following:
    def __init__(self, api: MemoryApi, subject: Subject) -> None:
        self.changes: list[Change[int]] = []
        self.unread: list[Undecodable] = []
        self.informer = Informer(
            client=api.client(),
            subject=subject,
            decode=decode,
            store=Store(),
            jitter=lambda: 0.0,
            handlers=(self.changes.append,),
            on_undecodable=self.unread.append,
        )


@asynccontextmanager
async def following(api: MemoryApi, subject: Subject | None = None) -> AsyncIterator[Following]:
    it = Following(api, subject or Subject(versions=(PODS,)))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(it.informer.run(), name="informer")
        yield it
        task.cancel()


async def test_it_lists_then_follows() -> None:
    api = MemoryApi()
    api.put(PATH, pod(1))
    async with following(api) as it:
        await it.informer.wait_until_settled()
        assert it.informer.store.get(A) == 1
        written = api.put(PATH, pod(2))
        await asyncio.sleep(0.01)
        assert it.informer.store.has_reached(written["metadata"]["resourceVersion"])
        api.delete(PATH)
        await asyncio.sleep(0.01)
    assert [(change.old, change.new) for change in it.changes] == [(None, 1), (1, 2), (2, None)]
    assert api.open_streams == 0


async def test_it_goes_on_when_the_server_ends_a_watch(looptime: float) -> None:
    api = MemoryApi()
    async with following(api) as it:
        await asyncio.sleep(301)
        api.put(PATH, pod(1))
        await asyncio.sleep(0.01)
        assert it.informer.store.get(A) == 1
    assert [method for method, _ in api.asked] == ["GET", "WATCH", "WATCH"]


async def test_after_a_forgotten_version_it_lists_again_and_misses_nothing() -> None:
    api = MemoryApi()
    api.put(PATH, pod(1))
    async with following(api) as it:
        await it.informer.wait_until_settled()
        api.fail = lambda call: errors.UnavailableError(call.request, "down", may_have_happened=False)
        api.put(PATH, pod(2))  # ends the watch
        await asyncio.sleep(0.1)
        api.delete(PATH)
        api.compact()
        api.fail = lambda call: None
        await asyncio.sleep(60)
        assert it.informer.store.get(A) is None
        assert it.informer.restarts == 2
        assert it.informer.last_error is None


async def test_a_handler_hears_of_objects_that_cannot_be_read_and_the_informer_lives_on() -> None:
    api = MemoryApi()
    api.put(PATH, pod("junk"))
    async with following(api) as it:
        await it.informer.wait_until_settled()
        assert [(it.key, "junk" in it.why) for it in it.unread] == [(A, True)]
        api.put(PATH, pod(1))
        await asyncio.sleep(0.01)
        assert it.informer.store.get(A) == 1


async def test_an_optional_kind_that_is_not_served_holds_nobody_up_and_is_found_later(looptime: float) -> None:
    api = MemoryApi()
    api.unserved = {"/apis/kueue.x-k8s.io/v1beta2/workloads", "/apis/kueue.x-k8s.io/v1beta1/workloads"}
    async with following(api, WORKLOADS) as it:
        await it.informer.wait_until_settled()
        assert looptime == 0
        assert not it.informer.is_served
        api.unserved = {"/apis/kueue.x-k8s.io/v1beta2/workloads"}
        api.put("/apis/kueue.x-k8s.io/v1beta1/namespaces/ns/workloads/a", pod(5))
        await asyncio.sleep(31)
        assert it.informer.is_served
        assert it.informer.resource.version == "v1beta1"
        assert it.informer.store.get(A) == 5


async def test_a_required_kind_that_is_not_served_is_waited_for() -> None:
    api = MemoryApi()
    api.unserved = {"/api/v1/pods"}
    async with following(api) as it:
        await asyncio.sleep(100)
        assert not it.informer.is_settled
        api.unserved = set()
        api.put(PATH, pod(5))
        await asyncio.sleep(31)
        assert it.informer.is_settled


async def test_the_preferred_version_is_taken_where_both_are_served() -> None:
    api = MemoryApi()
    api.put("/apis/kueue.x-k8s.io/v1beta1/namespaces/ns/workloads/a", pod(5))
    api.put("/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads/a", pod(6))
    async with following(api, WORKLOADS) as it:
        await it.informer.wait_until_settled()
        assert it.informer.resource.version == "v1beta2"


async def test_the_servers_wish_for_a_wait_is_kept(looptime: float) -> None:
    api = MemoryApi()
    api.fail = lambda call: errors.from_answer(call.request, 429, errors.NO_STATUS, 20.0)
    async with following(api) as it:
        await asyncio.sleep(19)
        api.fail = lambda call: None
        await it.informer.wait_until_settled()
        assert looptime == 20


async def test_it_counts_as_stuck_only_after_longer_than_any_step() -> None:
    api = MemoryApi()
    async with following(api) as it:
        assert it.informer.is_alive(0)
        await it.informer.wait_until_settled()
        assert it.informer.is_alive(599)
        assert not it.informer.is_alive(601)
