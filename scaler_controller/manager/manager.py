"""The life of the controller's process, as nested scopes: what starts first stops last.

```
servers
 `- caches: one task per informer                     standbys have these two
     `- leader: renewal, workers, resync, background   only while holding the lease
```

A stop drains: no key is taken any more, passes in flight may finish within `drain_seconds`, the rest is cancelled,
events are flushed, and only then is the lease released. A lost lease does not drain: everything that could write is
cancelled at once, and the error leaves the process, which must exit non-zero.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scaler_controller.manager.leadership import Leadership, LeadershipLostError
from scaler_controller.manager.servers import Health, Servers, measure_lag
from scaler_controller.manager.workers import Workers, resync
from scaler_controller.telemetry.machinery import MachineryMetrics
from scaler_core.api.meta import ObjectKey
from scaler_kube.clock import Clock
from scaler_kube.informer import Informer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Work that a leader does beside its passes; it runs until cancelled, and its failure ends the process."""

    name: str
    run: Callable[[], Coroutine[Any, Any, None]]


async def _nothing() -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Manager:
    """Everything that lives in the process, in the order of the module's diagram."""

    servers: Servers
    informers: Sequence[Informer[Any]]
    leadership: Leadership
    workers: Workers
    keys: Callable[[], Iterable[ObjectKey]]
    """All scalers, as the cache knows them."""
    clock: Clock
    metrics: MachineryMetrics
    resync_seconds: float = 60.0
    """Clock seconds between two passes over everything."""
    drain_seconds: float = 10.0
    """Real seconds that passes in flight may take after a stop."""
    background: Sequence[Background] = field(default_factory=tuple)
    flush: Callable[[], Awaitable[None]] = _nothing
    """Bring out what waits to be written, events for example, before the lease is released; bounded in time."""

    async def run(self, stop: asyncio.Event) -> None:
        """Live until `stop` is set.

        Raises:
            LeadershipLostError: another process may lead; exit non-zero.
        """
        self._follow()
        async with self.servers.running(Health(liveness=self._liveness, readiness=self._readiness)):
            try:
                await self._run_caches(stop)
            except BaseExceptionGroup as group:
                lost, rest = group.split(LeadershipLostError)
                if lost is None or rest is not None:
                    raise
                raise _first(lost) from None

    async def _run_caches(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as caches:
            tasks = [caches.create_task(it.run(), name=f"informer {it.name}") for it in self.informers]
            tasks.append(caches.create_task(measure_lag(self.metrics.loop_lag), name="loop lag"))
            await self._lead_until(stop)
            for task in tasks:
                task.cancel()

    async def _lead_until(self, stop: asyncio.Event) -> None:
        if await _ends_first(self._settled(), stop) and await _ends_first(self.leadership.acquire(), stop):
            await self._lead(stop)
        await self.flush()
        # Reached only when nothing can write any more: after a drain, or when we never led.
        await self.leadership.release()

    async def _lead(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as leader:
            others: list[asyncio.Task[Any]] = [
                leader.create_task(self.leadership.keep(), name="lease renewal"),
                # Before the workers, so that keys which the caches have queued already do not get a second pass.
                leader.create_task(self._resync(), name="resync"),
                *(leader.create_task(work.run(), name=work.name) for work in self.background),
            ]
            workers = self.workers.start(leader)
            await stop.wait()
            await self._drain(workers)
            for task in others:
                task.cancel()

    async def _drain(self, workers: Sequence[asyncio.Task[None]]) -> None:
        self.workers.queue.shut_down()
        _, late = await asyncio.wait(workers, timeout=self.drain_seconds)
        if late:
            _log.warning("Passes did not finish in time and are cancelled", extra={"passes": len(late)})
        for task in late:
            task.cancel()

    async def _resync(self) -> None:
        await resync(
            self.workers.queue,
            self.keys,
            period_seconds=self.resync_seconds,
            clock=self.clock,
            jitter=self.workers.jitter,
        )

    async def _settled(self) -> None:
        for informer in self.informers:
            await informer.wait_until_settled()

    def _readiness(self) -> str:
        waiting = [informer.name for informer in self.informers if not informer.is_settled]
        return f"caches not yet read: {', '.join(waiting)}" if waiting else ""

    def _liveness(self) -> str:
        now = self.clock.monotonic()
        stuck = [informer.name for informer in self.informers if not informer.is_alive(now)]
        return f"informers stuck: {', '.join(stuck)}" if stuck else ""

    def _follow(self) -> None:
        self.metrics.follow(
            queue_depth=lambda: self.workers.queue.depth, is_leader=lambda: float(self.leadership.is_leader)
        )
        for it in self.informers:
            self._follow_informer(it)

    def _follow_informer(self, informer: Informer[Any]) -> None:
        self.metrics.follow_informer(
            informer.name,
            synced=lambda: float(informer.is_settled),
            served=lambda: float(informer.is_served),
            lists=lambda: float(informer.restarts),
        )


def _first(group: BaseExceptionGroup[LeadershipLostError]) -> LeadershipLostError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, LeadershipLostError)
    return error


async def _ends_first(work: Awaitable[None], stop: asyncio.Event) -> bool:
    """Whether some work ended before the stop; cancelled otherwise. Its errors are raised."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(_awaited(work), name="work before a stop")
        stopping = group.create_task(stop.wait(), name="stop before work")
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        is_finished = working.done()
        working.cancel()
        stopping.cancel()
    return is_finished


async def _awaited(work: Awaitable[None]) -> None:
    await work
