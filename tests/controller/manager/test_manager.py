import asyncio
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from scaler_controller.manager import manager as module
from scaler_controller.manager.leadership import Leadership, LeadershipLostError
from scaler_controller.manager.manager import Background, Manager
from scaler_controller.manager.servers import Servers
from scaler_controller.manager.workers import Reconcile, Workers
from scaler_controller.runtime.lease import LeaseTimes
from scaler_controller.runtime.requeue import AT_ONCE, AWAIT_CHANGE, RequeueAfter
from scaler_controller.runtime.workqueue import WorkQueue
from scaler_controller.telemetry.machinery import MachineryMetrics
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.clock import SteadyClock
from scaler_kube.informer import Informer, Subject
from scaler_kube.leases import read_lease
from scaler_kube.resources import PODS
from scaler_kube.store import Store
from tests.fakes.memory_api import MemoryApi

pytestmark = pytest.mark.looptime
LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/scaler"
A, B = ObjectKey("ns", "a"), ObjectKey("ns", "b")


class NoServers(Servers):
    """Sockets do not work on the loop's own time; the routes have tests of their own."""

    def running(self, health: Any) -> Any:
        object.__setattr__(self, "health", health)
        return module.asyncio.timeout(None)


class House:
    """A manager over an API server in memory, with one scaler per key."""

    def __init__(self, reconcile: Reconcile, *, keys: tuple[ObjectKey, ...] = (A,), workers: int = 2) -> None:
        self.api = MemoryApi()
        clock = SteadyClock(source=asyncio.get_running_loop().time, wall_at_start=1_000.0)
        self.registry = CollectorRegistry()
        metrics = MachineryMetrics(self.registry)
        self.queue = WorkQueue(clock)
        client = self.api.client()
        self.informer = Informer(
            client=client,
            subject=Subject(versions=(PODS,)),
            decode=lambda document: document["metadata"]["name"],
            store=Store[str](),
            jitter=lambda: 0.0,
            handlers=(lambda change: self.queue.add(change.key),),
        )
        for key in keys:
            self.api.put(f"/api/v1/namespaces/{key.namespace}/pods/{key.name}", {"metadata": key._asdict()})
        self.leadership = Leadership(
            client=client, key=ObjectKey("ns", "scaler"), identity="one", times=LeaseTimes(), clock=clock
        )
        self.flushed_while_holding: list[bool] = []
        self.workers = Workers(
            queue=self.queue, reconcile=reconcile, count=workers, clock=clock, jitter=lambda: 0.0, metrics=metrics
        )
        self.parts: dict[str, Any] = {
            "servers": NoServers(host="", port=0, registry=self.registry, last_pass=lambda key: None),
            "informers": (self.informer,),
            "leadership": self.leadership,
            "workers": self.workers,
            "keys": self.informer.store.keys,
            "clock": clock,
            "metrics": metrics,
            "drain_seconds": 20.0,
            "flush": self._flush,
        }
        self.stop = asyncio.Event()

    async def run(self, **changed: Any) -> None:
        await Manager(**(self.parts | changed)).run(self.stop)

    def stop_at(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self.stop.set)

    @property
    def holder(self) -> str:
        return read_lease(self.api.objects[LEASE]).holder

    async def _flush(self) -> None:
        self.flushed_while_holding.append(LEASE in self.api.objects and self.holder == "one")


class Passes:
    """Records when passes begin and end."""

    def __init__(self, seconds: float, after: RequeueAfter = AWAIT_CHANGE) -> None:
        self.seconds, self.after = seconds, after
        self.log: list[tuple[str, ObjectKey, float]] = []

    async def __call__(self, key: ObjectKey) -> RequeueAfter:
        now = asyncio.get_running_loop().time
        self.log.append(("begin", key, now()))
        await asyncio.sleep(self.seconds)
        self.log.append(("end", key, now()))
        return self.after

    def began(self, key: ObjectKey = A) -> list[float]:
        return [at for what, whose, at in self.log if what == "begin" and whose == key]

    def ended(self, key: ObjectKey = A) -> list[float]:
        return [at for what, whose, at in self.log if what == "end" and whose == key]


async def test_stop_drains_the_pass_in_flight(looptime: float) -> None:
    passes = Passes(5, AT_ONCE)
    house = House(passes)
    house.stop_at(1)
    await house.run()
    assert looptime == 5
    assert passes.ended() == [5]
    assert passes.began() == [0], "no key is taken after the stop"
    assert house.holder == ""
    assert house.flushed_while_holding == [True], "events go out before the lease is released"


async def test_a_pass_that_does_not_finish_within_the_drain_is_cancelled(looptime: float) -> None:
    passes = Passes(500)
    house = House(passes)
    house.stop_at(1)
    await house.run()
    assert looptime == 21
    assert passes.ended() == []
    assert house.holder == ""


async def test_the_lease_is_renewed_while_passes_drain(looptime: float) -> None:
    house = House(Passes(18))
    house.stop_at(1)
    await house.run()
    assert looptime == 18


def cut_off(call: Any) -> errors.KubeError | None:
    if "leases" in call.path:
        return errors.UnavailableError(call.request, "connection lost", may_have_happened=True)
    return None


async def test_a_lost_lease_cancels_the_pass_in_flight(looptime: float) -> None:
    passes = Passes(50)
    house = House(passes)
    asyncio.get_running_loop().call_later(0.5, setattr, house.api, "fail", cut_off)
    with pytest.raises(LeadershipLostError, match="not renewed"):
        await house.run()
    assert looptime == 10
    assert passes.ended() == []
    assert house.flushed_while_holding == [], "nothing is written after the lease was lost"
    assert house.holder == "one", "a lost lease is not released: it may be another's"


async def test_a_lease_lost_while_draining_cancels_what_drains(looptime: float) -> None:
    passes = Passes(15)
    house = House(passes)
    house.stop_at(1)
    asyncio.get_running_loop().call_later(0.5, setattr, house.api, "fail", cut_off)
    with pytest.raises(LeadershipLostError):
        await house.run()
    assert looptime == 10
    assert passes.ended() == []


async def test_a_standby_stops_at_once_and_works_on_nothing(looptime: float) -> None:
    passes = Passes(1)
    house = House(passes)
    house.api.put(LEASE, {"metadata": {}, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 3600}})
    house.stop_at(30)
    await house.run()
    assert looptime == 30
    assert passes.log == []
    assert house.holder == "other"


async def test_workers_wait_for_the_caches() -> None:
    passes = Passes(1)
    house = House(passes)
    house.api.unserved = {"/api/v1/pods"}
    house.stop_at(100)
    await house.run()
    assert passes.log == []
    assert LEASE not in house.api.objects


async def test_everything_gets_a_pass_once_a_period() -> None:
    passes = Passes(0)
    house = House(passes)
    house.stop_at(125)
    await house.run(resync_seconds=60)
    assert passes.began() == [0, 60, 120]


async def test_a_change_causes_a_pass_and_never_two_at_once() -> None:
    passes = Passes(10)
    house = House(passes)
    path = f"/api/v1/namespaces/ns/pods/{A.name}"
    for at in (3, 4, 5):
        asyncio.get_running_loop().call_later(at, house.api.put, path, {"metadata": A._asdict()})
    house.stop_at(40)
    await house.run()
    assert passes.log == [("begin", A, 0), ("end", A, 10), ("begin", A, 10), ("end", A, 20)]


async def test_different_keys_are_worked_on_together() -> None:
    passes = Passes(10)
    house = House(passes, keys=(A, B))
    house.stop_at(15)
    await house.run()
    assert passes.began(A) == passes.began(B) == [0]


async def test_a_pass_that_fails_comes_again_after_growing_delays_and_is_counted() -> None:
    began: list[float] = []

    async def reconcile(key: ObjectKey) -> RequeueAfter:
        began.append(asyncio.get_running_loop().time())
        if len(began) != 4:
            raise RuntimeError("fault")
        return RequeueAfter(seconds=10)

    house = House(reconcile)
    house.stop_at(19)
    await house.run()
    assert began == [0, 1, 3, 7, 17, 18], "a success makes the delays short again"
    assert house.registry.get_sample_value("mds_reconcile_passes_total", {"result": "error"}) == 5
    assert house.registry.get_sample_value("mds_reconcile_passes_total", {"result": "requeue_after"}) == 1


async def test_a_throttled_pass_waits_as_long_as_the_server_asks() -> None:
    began: list[float] = []

    async def reconcile(key: ObjectKey) -> RequeueAfter:
        began.append(asyncio.get_running_loop().time())
        if len(began) == 1:
            request = errors.Request(method="GET", path="/")
            raise errors.TooManyRequestsError(request, "slow down", retry_after_seconds=9)
        return RequeueAfter(seconds=5)

    house = House(reconcile)
    house.stop_at(16)
    await house.run()
    assert began == [0, 9, 14]


async def test_background_work_runs_only_while_leading_and_its_failure_ends_the_process(looptime: float) -> None:
    async def fail() -> None:
        await asyncio.sleep(3)
        raise RuntimeError("background")

    house = House(Passes(0))
    with pytest.raises(ExceptionGroup) as caught:
        await house.run(background=(Background(name="sampler", run=fail),))
    assert caught.group_contains(RuntimeError, match="background")
    assert looptime == 3


async def test_readiness_is_about_caches_and_liveness_about_stuck_informers() -> None:
    house = House(Passes(0))
    seen: list[tuple[str, str]] = []
    servers = house.parts["servers"]

    def look() -> None:
        seen.append((servers.health.readiness(), servers.health.liveness()))

    house.api.unserved = {"/api/v1/pods"}
    loop = asyncio.get_running_loop()
    loop.call_later(1, look)
    loop.call_later(2, setattr, house.api, "unserved", set())
    loop.call_later(60, look)
    house.stop_at(61)
    await house.run()
    assert seen == [("caches not yet read: pods", ""), ("", "")]


async def test_metrics_show_leadership_and_caches() -> None:
    house = House(Passes(0))
    leading: list[float | None] = []
    loop = asyncio.get_running_loop()
    loop.call_later(1, lambda: leading.append(house.registry.get_sample_value("mds_leader")))
    house.stop_at(2)
    await house.run()
    leading.append(house.registry.get_sample_value("mds_leader"))
    assert leading == [1, 0]
    assert house.registry.get_sample_value("mds_informer_synced", {"kind": "pods"}) == 1
