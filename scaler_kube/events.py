"""Writer of events.k8s.io/v1: recording never waits and never fails; what goes wrong is counted."""

import asyncio
import itertools
import logging
from collections import deque
from typing import Final, Never

from scaler_core.api.meta import ObjectKey
from scaler_core.model.action import Note
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.clock import Clock
from scaler_kube.event_series import MAX_NOTE, Begin, Drop, EventSeries, Extend, Hold, Regarding
from scaler_kube.leases import micro_time
from scaler_kube.resources import EVENTS
from scaler_kube.transport import Document

QUEUE_LENGTH: Final = 1000
"""Notes that may wait while the API server is away; beyond it the oldest are lost."""
WRITE_SECONDS: Final = 5.0
_log = logging.getLogger(__name__)


class EventRecorder:
    """Turns notes into events, in order, on a task of its own."""

    def __init__(self, *, client: KubeClient, controller: str, instance: str, clock: Clock) -> None:
        """Prepare; nothing is written before `run` or `flush`.

        Args:
            client: writes the events.
            controller: who reports, a qualified name such as `gpustack.ai/model-deployment-scaler`.
            instance: which process of it, at most 128 characters.
            clock: for the events' times and the rate limits.
        """
        self._client: Final = client
        self._controller: Final = controller
        self._instance: Final = instance[:128]
        self._clock: Final = clock
        self._series: Final = EventSeries()
        self._waiting: Final[deque[tuple[Regarding, Note, float]]] = deque()
        self._arrived: Final = asyncio.Event()  # the writing task waits on it
        self._writing: Final = asyncio.Lock()  # between the task and a flush, so that order is kept
        self._numbers: Final = itertools.count()
        self.written = 0
        """Events created or extended."""
        self.held = 0
        """Repeats that wait for the next write of their series."""
        self.dropped = 0
        """Notes lost to rate limits or a full queue."""
        self.failed = 0
        """Notes that the API server did not take."""

    def record(self, regarding: Regarding, note: Note) -> None:
        """Have a note written soon."""
        if len(self._waiting) >= QUEUE_LENGTH:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append((regarding, note, self._clock.now()))
        self._arrived.set()

    async def run(self) -> Never:
        """Write what was recorded, until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self._write_waiting(deadline=None)

    async def flush(self, seconds: float = 2.0) -> None:
        """Write what waits, for at most so many real seconds; what is left is lost."""
        try:
            async with asyncio.timeout(seconds):
                await self._write_waiting(self._clock.monotonic() + seconds)
        except TimeoutError:
            self.dropped += len(self._waiting)
            self._waiting.clear()

    async def _write_waiting(self, deadline: float | None) -> None:
        async with self._writing:
            while self._waiting:
                regarding, note, at = self._waiting.popleft()
                await self._write(regarding, note, at, deadline)

    async def _write(self, regarding: Regarding, note: Note, at: float, deadline: float | None) -> None:
        limit = deadline if deadline is not None else self._clock.monotonic() + WRITE_SECONDS
        try:
            match self._series.rule(regarding, note, at):
                case Begin():
                    await self._begin(regarding, note, at, limit)
                case Extend(event_name=name, count=count):
                    await self._extend(regarding, note, ObjectKey(regarding.namespace, name), count, at, limit)
                case Hold():
                    self.held += 1
                case Drop():
                    self.dropped += 1
        except errors.KubeError as error:
            self.failed += 1
            _log.debug("Event was not written", extra={"reason": note.reason, "error": str(error)})

    async def _begin(self, regarding: Regarding, note: Note, at: float, limit: float) -> None:
        name = f"{regarding.name[:200]}.{int(at * 1e6):x}{next(self._numbers) % 4096:03x}"
        body = self._document(regarding, note, name, at)
        await self._client.create(EVENTS, regarding.namespace, body, deadline=limit)
        self._series.began(regarding, note, name, at)
        self.written += 1

    async def _extend(
        self, regarding: Regarding, note: Note, key: ObjectKey, count: int, at: float, limit: float
    ) -> None:
        series = {"series": {"count": count, "lastObservedTime": micro_time(at)}}
        try:
            await self._client.patch_merge(EVENTS, key, series, deadline=limit)
        except errors.NotFoundError:
            # The server keeps events for an hour only.
            self._series.forget(regarding, note)
            await self._begin(regarding, note, at, limit)
        else:
            self.written += 1

    def _document(self, regarding: Regarding, note: Note, name: str, at: float) -> Document:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"namespace": regarding.namespace, "name": name},
            "eventTime": micro_time(at),
            "type": note.type.value,
            "reason": note.reason.value,
            "action": note.reason.value,
            "note": note.message if len(note.message) <= MAX_NOTE else note.message[: MAX_NOTE - 3] + "...",
            "regarding": {
                "apiVersion": regarding.api_version,
                "kind": regarding.kind,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
            },
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
