"""The sample streams of all targets: the shell around `schedule`."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import NoReturn, Protocol

from scaler_controller.sampling.schedule import Stream, Subscription, is_forgettable, next_due
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import TargetScrape
from scaler_kube.clock import Clock

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A target with the Pods around it, as the caches have them when a pass begins."""

    target: ModelDeployment
    pods: tuple[Pod, ...]


class Samples(Protocol):
    """What takes one sample; `Sampler` does."""

    async def sample(
        self, target: ModelDeployment, roles: frozenset[str], pods: tuple[Pod, ...], interval_seconds: float
    ) -> TargetScrape:
        """One pass over the target's engines; it has a result for every Pod and raises nothing."""
        ...


class SampleStreams:
    """Keeps the newest sample of every target that a scaler subscribed to, and tells when there is a new one.

    A target is sampled at the smallest interval of its scalers and never earlier, whatever happens in between.

    Args:
        sampler: takes the samples.
        clock: intervals are in its seconds.
        look_up: the target and its Pods from the caches; None when it is gone.
        on_sample: called after each pass with the target's key.
    """

    def __init__(
        self,
        *,
        sampler: Samples,
        clock: Clock,
        look_up: Callable[[ObjectKey], Subject | None],
        on_sample: Callable[[ObjectKey, TargetScrape], None],
    ) -> None:
        self._sampler = sampler
        self._clock = clock
        self._look_up = look_up
        self._on_sample = on_sample
        self._sampled_until: float | None = None
        self._streams: dict[str, Stream] = {}
        self._newest: dict[str, TargetScrape] = {}
        self._in_flight: set[str] = set()
        # The scheduler waits here for subscriptions and finished passes.
        self._changed = asyncio.Event()

    def subscribe(self, scaler: ObjectKey, subscription: Subscription) -> None:
        """Ask for samples; asking again replaces the wish, also for another target."""
        uid = subscription.target_uid
        known = self._streams.get(uid)
        if known is not None and known.subscribers.get(scaler) == subscription:
            return
        self._leave(scaler, other_than=uid)
        stream = known or Stream(target=subscription.target, target_uid=uid, sampled_at=self._sampled_until)
        self._streams[uid] = stream.subscribed(scaler, subscription)
        self._changed.set()

    def unsubscribe(self, scaler: ObjectKey) -> None:
        """Ask for nothing any more."""
        self._leave(scaler, other_than=None)
        self._changed.set()

    def newest(self, target_uid: str) -> TargetScrape | None:
        """The newest sample of the target; None before the first."""
        return self._newest.get(target_uid)

    def assume_sampled(self, now: float) -> None:
        """A previous leader may have sampled until now, in clock seconds: wait a whole interval after it."""
        self._sampled_until = now
        for uid, stream in self._streams.items():
            if stream.sampled_at is None:
                self._streams[uid] = replace(stream, sampled_at=now)

    async def run(self) -> NoReturn:
        """Sample until cancelled; passes in flight are cancelled with it."""
        async with asyncio.TaskGroup() as passes:
            while True:
                self._changed.clear()
                self._forget()
                now = self._clock.now()
                for uid in self._due(now):
                    stream = self._begin(uid, now)
                    passes.create_task(self._pass(uid, stream), name=f"sample-{stream.target}")
                await self._pause(now)
        raise AssertionError("the scheduler ended without being cancelled")

    def _due(self, now: float) -> list[str]:
        waiting = ((uid, next_due(stream, now)) for uid, stream in self._streams.items() if uid not in self._in_flight)
        return [uid for uid, due in waiting if due is not None and due <= now]

    async def _pause(self, now: float) -> None:
        """Until the next pass is due or something changed."""
        dues = [next_due(stream, now) for uid, stream in self._streams.items() if uid not in self._in_flight]
        wait = min((due - now for due in dues if due is not None), default=None)
        waits: list[Coroutine[None, None, object]] = [self._changed.wait()]
        if wait is not None:
            waits.append(self._clock.sleep(wait))
        tasks = [asyncio.create_task(each, name="sample-scheduler-wait") for each in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, uid: str, now: float) -> Stream:
        """Mark the pass before its first request, so that a slow pass does not delay the next one."""
        stream = replace(self._streams[uid], sampled_at=now)
        self._streams[uid] = stream
        self._in_flight.add(uid)
        return stream

    async def _pass(self, uid: str, stream: Stream) -> None:
        try:
            subject = self._look_up(stream.target)
            if subject is not None and subject.target.metadata.uid == uid:
                scrape = await self._sampler.sample(subject.target, stream.roles, subject.pods, stream.interval_seconds)
                self._newest[uid] = scrape
                self._on_sample(stream.target, scrape)
        except Exception:  # one target's pass must not end those of all others; its next one is due as ever
            logger.exception("A sampling pass failed", extra={"target": str(stream.target)})
        finally:
            self._in_flight.discard(uid)
            self._changed.set()

    def _leave(self, scaler: ObjectKey, other_than: str | None) -> None:
        for uid, stream in self._streams.items():
            if uid != other_than and scaler in stream.subscribers:
                self._streams[uid] = stream.left(scaler)

    def _forget(self) -> None:
        now = self._clock.now()
        for uid in [uid for uid, stream in self._streams.items() if is_forgettable(stream, now)]:
            del self._streams[uid]
            self._newest.pop(uid, None)
