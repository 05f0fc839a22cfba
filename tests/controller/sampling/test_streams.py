"""The shell of the sample streams: one flight per target, at the smallest interval, never early."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from scaler_controller.sampling.schedule import Subscription
from scaler_controller.sampling.streams import SampleStreams, Subject
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import TargetScrape
from scaler_kube.clock import SteadyClock
from tests.core.signals import worlds

TARGET = ObjectKey("default", "llm")
A, B = ObjectKey("default", "a"), ObjectKey("default", "b")
pytestmark = pytest.mark.looptime


@dataclass
class Engines:
    """Takes samples that last `seconds`, and notes when each began and for which roles."""

    seconds: float = 0.0
    began: list[float] = field(default_factory=list)
    roles: list[frozenset[str]] = field(default_factory=list)
    flying: int = 0

    async def sample(
        self, target: ModelDeployment, roles: frozenset[str], pods: tuple[Pod, ...], interval_seconds: float
    ) -> TargetScrape:
        assert self.flying == 0
        self.flying += 1
        now = asyncio.get_running_loop().time()
        self.began.append(round(now, 3))
        self.roles.append(roles)
        await asyncio.sleep(self.seconds)
        self.flying -= 1
        return TargetScrape(target_uid=target.metadata.uid, taken_at=now, pods=(), answering={})


@dataclass
class Watched:
    streams: SampleStreams
    engines: Engines
    told: list[ObjectKey]
    subject: list[Subject | None]


@asynccontextmanager
async def running(engines: Engines | None = None, sampled_until: float | None = None) -> AsyncIterator[Watched]:
    engines = engines or Engines()
    told: list[ObjectKey] = []
    subject: list[Subject | None] = [Subject(target=worlds.target(server=1), pods=())]
    clock = SteadyClock(source=asyncio.get_running_loop().time, wall_at_start=asyncio.get_running_loop().time())
    streams = SampleStreams(
        sampler=engines,
        clock=clock,
        look_up=lambda _: subject[0],
        on_sample=lambda key, _: told.append(key),
    )
    if sampled_until is not None:
        streams.assume_sampled(sampled_until)
    task = asyncio.create_task(streams.run(), name="streams")
    try:
        yield Watched(streams, engines, told, subject)
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def wish(interval: float, *roles: str, uid: str = worlds.UID) -> Subscription:
    return Subscription(target=TARGET, target_uid=uid, interval_seconds=interval, roles=frozenset(roles))


async def test_a_target_is_sampled_at_once_and_then_at_its_interval() -> None:
    async with running() as watched:
        assert watched.streams.newest(worlds.UID) is None
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(40)
        assert watched.engines.began == [0, 15, 30]
        assert watched.told == [TARGET] * 3
        newest = watched.streams.newest(worlds.UID)
        assert newest is not None
        assert newest.taken_at == 30


async def test_scalers_share_one_stream_at_the_smallest_interval() -> None:
    async with running() as watched:
        watched.streams.subscribe(A, wish(30, "prefill"))
        await asyncio.sleep(1)
        watched.streams.subscribe(B, wish(10, "decode"))
        await asyncio.sleep(30)
        assert watched.engines.began == [0, 10, 20, 30]
        assert watched.engines.roles[-1] == {"prefill", "decode"}


async def test_no_event_samples_early() -> None:
    async with running() as watched:
        for _ in range(14):
            watched.streams.subscribe(A, wish(15, "server"))
            watched.streams.unsubscribe(A)
            watched.streams.subscribe(B, wish(20, "server"))
            watched.streams.subscribe(A, wish(15, "server"))
            await asyncio.sleep(1)
        assert watched.engines.began == [0]


async def test_nobody_asks_so_nothing_is_sampled() -> None:
    async with running() as watched:
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(1)
        watched.streams.unsubscribe(A)
        await asyncio.sleep(100)
        assert watched.engines.began == [0]


async def test_a_slow_pass_flies_alone_and_the_next_one_follows() -> None:
    async with running(Engines(seconds=20)) as watched:
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(50)
        assert watched.engines.began == [0, 20, 40]


async def test_an_event_during_a_slow_pass_starts_no_second_one() -> None:
    async with running(Engines(seconds=20)) as watched:
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(17)
        watched.streams.subscribe(B, wish(5, "server"))
        await asyncio.sleep(2)
        assert watched.engines.began == [0]


async def test_a_new_leader_waits_out_the_interval_of_the_old_one() -> None:
    async with running(sampled_until=0.0) as watched:
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(20)
        assert watched.engines.began == [15]


async def test_a_target_that_is_gone_is_not_sampled() -> None:
    async with running() as watched:
        watched.subject[0] = None
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(40)
        assert watched.engines.began == []
        watched.subject[0] = Subject(target=worlds.target(server=1), pods=())
        await asyncio.sleep(10)
        assert watched.engines.began == [45]


async def test_a_successor_of_the_same_name_is_another_target() -> None:
    async with running() as watched:
        watched.streams.subscribe(A, wish(15, "server", uid="old"))
        await asyncio.sleep(1)
        watched.streams.subscribe(A, wish(15, "server"))
        await asyncio.sleep(1)
        assert watched.engines.began == [1]
        assert watched.streams.newest("old") is None


@pytest.mark.parametrize("where", ["look_up", "sample", "on_sample"])
async def test_one_targets_failing_pass_ends_no_other_and_is_tried_again(where: str) -> None:
    told: list[ObjectKey] = []
    failures: list[str] = []

    def fail_for_bad(name: str, what: str) -> None:
        if name == "bad" and what == where:
            failures.append(what)
            raise ValueError("Exceeds the limit (4300 digits) for integer string conversion")

    def look_up(key: ObjectKey) -> Subject:
        fail_for_bad(key.name, "look_up")
        target = worlds.target(server=1)
        metadata = target.metadata.model_copy(update={"uid": key.name})
        return Subject(target=target.model_copy(update={"metadata": metadata}), pods=())

    class Failing(Engines):
        async def sample(
            self, target: ModelDeployment, roles: frozenset[str], pods: tuple[Pod, ...], interval_seconds: float
        ) -> TargetScrape:
            fail_for_bad(target.metadata.uid, "sample")
            return TargetScrape(target_uid=target.metadata.uid, taken_at=0.0, pods=(), answering={})

    def on_sample(key: ObjectKey, _: TargetScrape) -> None:
        fail_for_bad(key.name, "on_sample")
        told.append(key)

    loop = asyncio.get_running_loop()
    clock = SteadyClock(source=loop.time, wall_at_start=loop.time())
    streams = SampleStreams(sampler=Failing(), clock=clock, look_up=look_up, on_sample=on_sample)
    for name in ("bad", "good"):
        wanted = Subscription(
            target=ObjectKey("default", name), target_uid=name, interval_seconds=15, roles=frozenset({"server"})
        )
        streams.subscribe(ObjectKey("default", f"scaler-of-{name}"), wanted)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(40):
            await streams.run()
    assert told == [ObjectKey("default", "good")] * 3
    assert failures == [where] * 3
