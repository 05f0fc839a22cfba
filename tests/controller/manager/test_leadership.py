import asyncio

import pytest

from scaler_controller.manager.leadership import Leadership, LeadershipLostError
from scaler_controller.runtime.lease import LeaseTimes
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.clock import SteadyClock
from scaler_kube.leases import read_lease, write_lease
from tests.fakes.memory_api import MemoryApi

pytestmark = pytest.mark.looptime
KEY = ObjectKey("ns", "scaler")
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/scaler"


def candidate(api: MemoryApi, identity: str = "one") -> Leadership:
    clock = SteadyClock(source=asyncio.get_running_loop().time, wall_at_start=1_000.0)
    return Leadership(client=api.client(), key=KEY, identity=identity, times=LeaseTimes(), clock=clock)


def holder(api: MemoryApi) -> str:
    return read_lease(api.objects[PATH]).holder


def down(call: object) -> errors.KubeError:
    return errors.UnavailableError(errors.Request(method="PUT", path=PATH), "connection lost", may_have_happened=True)


async def test_a_free_lease_is_acquired_at_once(looptime: float) -> None:
    api = MemoryApi()
    leadership = candidate(api)
    assert not leadership.is_leader
    await leadership.acquire()
    assert leadership.is_leader
    assert looptime == 0
    assert holder(api) == "one"
    assert leadership.valid_until == 10
    assert leadership.write_deadline(3) == 3
    assert leadership.write_deadline(30) == 10


async def test_a_second_candidate_waits_until_the_first_stopped_renewing(looptime: float) -> None:
    api = MemoryApi()
    first, second = candidate(api), candidate(api, "two")
    await first.acquire()
    async with asyncio.TaskGroup() as group:
        renewal = group.create_task(first.keep(), name="renewal")
        waiting = group.create_task(second.acquire(), name="second")
        await asyncio.sleep(100)
        assert not waiting.done()
        assert first.is_leader
        renewal.cancel()
        await waiting
    assert holder(api) == "two"
    assert not first.is_leader
    assert 113 <= looptime <= 117


async def test_a_released_lease_is_taken_over_within_a_retry(looptime: float) -> None:
    api = MemoryApi()
    first, second = candidate(api), candidate(api, "two")
    await first.acquire()
    async with asyncio.TaskGroup() as group:
        group.create_task(second.acquire(), name="second")
        await asyncio.sleep(5)
        await first.release()
        assert not first.is_leader
    assert holder(api) == "two"
    assert looptime <= 7


async def test_a_holder_that_cannot_renew_stops_before_the_lease_runs_out(looptime: float) -> None:
    api = MemoryApi()
    leadership = candidate(api)
    await leadership.acquire()
    api.fail = down
    with pytest.raises(LeadershipLostError, match=r"lease ns/scaler was lost: not renewed for 10 s"):
        await leadership.keep()
    assert looptime == 10


async def test_a_renewal_that_hangs_does_not_outlive_the_lease(looptime: float) -> None:
    api = MemoryApi()
    leadership = candidate(api)
    await leadership.acquire()
    api.latency = 60
    with pytest.raises(LeadershipLostError):
        await leadership.keep()
    assert looptime == 10


async def test_a_short_outage_is_survived() -> None:
    api = MemoryApi()
    leadership = candidate(api)
    await leadership.acquire()
    async with asyncio.TaskGroup() as group:
        renewal = group.create_task(leadership.keep(), name="renewal")
        await asyncio.sleep(3)
        api.fail = down
        await asyncio.sleep(6)
        api.fail = lambda call: None
        await asyncio.sleep(60)
        assert leadership.is_leader
        renewal.cancel()


async def test_a_lease_taken_by_another_is_lost_at_the_next_renewal(looptime: float) -> None:
    api = MemoryApi()
    leadership = candidate(api)
    await leadership.acquire()
    taken = read_lease(api.objects[PATH])
    api.put(PATH, write_lease(KEY, taken) | {"spec": {"holderIdentity": "thief"}})
    with pytest.raises(LeadershipLostError, match="taken by thief"):
        await leadership.keep()
    assert looptime == 2


async def test_a_deleted_lease_is_lost(looptime: float) -> None:
    api = MemoryApi()
    leadership = candidate(api)
    await leadership.acquire()
    api.delete(PATH)
    with pytest.raises(LeadershipLostError, match="deleted"):
        await leadership.keep()
    assert looptime == 2


async def test_a_missing_namespace_or_permission_is_retried_slowly() -> None:
    api = MemoryApi()
    leadership = candidate(api)
    status = errors.Status(message="no", details={})

    def refuse(call: object) -> errors.KubeError | None:
        method = call.method  # type: ignore[attr-defined]
        return errors.from_answer(call.request, 404, status) if method == "POST" else None  # type: ignore[attr-defined]

    api.fail = refuse
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(leadership.acquire(), name="acquire")
        await asyncio.sleep(20)
        assert len(api.asked) < 40
        api.fail = lambda call: None
        await waiting
    assert leadership.is_leader


async def test_a_release_that_fails_is_no_error() -> None:
    api = MemoryApi()
    leadership = candidate(api)
    await leadership.acquire()
    api.fail = down
    await leadership.release()
    assert not leadership.is_leader
