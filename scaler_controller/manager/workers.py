"""Workers: take keys, run passes, map what comes of them to the queue."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Never

from scaler_controller.runtime.backoff import KeyBackoff
from scaler_controller.runtime.requeue import RequeueAfter
from scaler_controller.runtime.workqueue import QueueShutDownError, WorkQueue
from scaler_controller.telemetry.machinery import MachineryMetrics
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.clock import Clock

Reconcile = Callable[[ObjectKey], Awaitable[RequeueAfter]]
"""One pass over one scaler. It may raise: the key then comes again after a growing delay."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Some workers over one queue; a key is never in two passes at once."""

    queue: WorkQueue
    reconcile: Reconcile
    count: int
    clock: Clock
    jitter: Callable[[], float]
    """Uniform in [0, 1)."""
    metrics: MachineryMetrics
    backoff: KeyBackoff = field(default_factory=KeyBackoff)

    def start(self, group: asyncio.TaskGroup) -> tuple[asyncio.Task[None], ...]:
        """Begin in a group; the tasks end when the queue is shut down, each after the pass that it is in."""
        return tuple(group.create_task(self._work(), name=f"worker {number}") for number in range(self.count))

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.take()
            except QueueShutDownError:
                return
            try:
                await self._run_pass(key)
            finally:
                self.queue.done(key)

    async def _run_pass(self, key: ObjectKey) -> None:
        began = self.clock.monotonic()
        self.metrics.active_workers.inc()
        try:
            after = await self.reconcile(key)
        except Exception as error:
            self._failed(key, error)
        else:
            self.backoff.succeeded(key)
            self.queue.add_after(key, after.seconds)
            self.metrics.passes.labels(result="await_change" if math.isinf(after.seconds) else "requeue_after").inc()
        finally:
            self.metrics.active_workers.dec()
            self.metrics.pass_seconds.observe(self.clock.monotonic() - began)

    def _failed(self, key: ObjectKey, error: Exception) -> None:
        delay = self.backoff.failed(key, self.jitter())
        if isinstance(error, errors.TooManyRequestsError | errors.UnavailableError):
            delay = max(delay, error.retry_after_seconds or 0.0)
        self.metrics.passes.labels(result="error").inc()
        self.metrics.retries.inc()
        self.queue.add_after(key, delay)
        where = {"scaler": str(key), "retry_seconds": round(delay, 3)}
        if isinstance(error, errors.KubeError):
            _log.warning("Pass failed", extra=where | {"error": str(error)})
        else:
            _log.error("Pass failed by a fault of ours", exc_info=error, extra=where)


async def resync(
    queue: WorkQueue,
    keys: Callable[[], Iterable[ObjectKey]],
    *,
    period_seconds: float,
    clock: Clock,
    jitter: Callable[[], float],
) -> Never:
    """Put all keys into the queue, at once and then once a period, until cancelled.

    Args:
        queue: of the workers.
        keys: all scalers, as the cache knows them.
        period_seconds: clock seconds; shortened by up to a tenth, so that replicas of the controller drift apart.
        clock: of the queue.
        jitter: uniform in [0, 1).
    """
    while True:
        for key in keys():
            queue.add(key)
        await clock.sleep(period_seconds * (1 - jitter() / 10))
