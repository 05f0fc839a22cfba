"""Which key is worked on next: a pure state, and an asyncio shell around it.

Rules, each a test: a key is never taken twice at once; a key that comes while it is worked on is taken again
afterwards; of several moments the earliest wins; keys that are due are taken in the order of their moments, and a key
that is not due never holds up another.
"""

import asyncio
import heapq
import itertools
import math
from typing import Final

from scaler_core.api.meta import ObjectKey
from scaler_kube.clock import Clock


class QueueState:
    """Keys and the moments at which they are due; knows no clock."""

    def __init__(self) -> None:
        self._due: dict[ObjectKey, float] = {}  # waiting to be taken
        self._heap: list[tuple[float, int, ObjectKey]] = []  # may hold stale moments, which taking skips
        self._processing: set[ObjectKey] = set()
        self._dirty: dict[ObjectKey, float] = {}  # came while being worked on
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._due) + len(self._dirty)

    @property
    def processing(self) -> int:
        """Keys that are being worked on."""
        return len(self._processing)

    def depth(self, now: float) -> int:
        """Keys that are due and not being worked on."""
        return sum(1 for at in self._due.values() if at <= now)

    def add(self, key: ObjectKey, at: float) -> None:
        """Have a key taken at a moment, or earlier when that was asked for before; infinity means never."""
        if math.isinf(at):
            return
        if key in self._processing:
            self._dirty[key] = min(at, self._dirty.get(key, math.inf))
        elif at < self._due.get(key, math.inf):
            self._due[key] = at
            heapq.heappush(self._heap, (at, next(self._order), key))

    def take(self, now: float) -> ObjectKey | None:
        """The key that has been due longest, which is worked on from now on; None when none is due."""
        self._drop_stale()
        if not self._heap or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._due[key]
        self._processing.add(key)
        return key

    def done(self, key: ObjectKey) -> None:
        """The work on a key has ended, well or not."""
        self._processing.discard(key)
        at = self._dirty.pop(key, None)
        if at is not None:
            self.add(key, at)

    def next_due(self) -> float:
        """The earliest moment at which a key is due; infinity when there is none."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else math.inf

    def _drop_stale(self) -> None:
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)


class QueueShutDownError(Exception):
    """No more keys are handed out."""


class WorkQueue:
    """Hands keys to workers when they are due."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._state: Final = QueueState()
        self._changed: Final = asyncio.Event()  # workers wait on it between two keys
        self._is_open = True

    @property
    def depth(self) -> int:
        """Keys that are due and wait for a worker."""
        return self._state.depth(self._clock.now())

    def add(self, key: ObjectKey) -> None:
        """Have a key taken as soon as possible."""
        self.add_after(key, 0.0)

    def add_after(self, key: ObjectKey, seconds: float) -> None:
        """Have a key taken after so many clock seconds at the latest."""
        self._state.add(key, self._clock.now() + seconds)
        self._changed.set()

    async def take(self) -> ObjectKey:
        """Wait for the next key; tell `done` when its work has ended.

        Raises:
            QueueShutDownError: no more keys are handed out.
        """
        while self._is_open:
            now = self._clock.now()
            key = self._state.take(now)
            if key is not None:
                return key
            self._changed.clear()
            await self._wait(self._state.next_due() - now)
        raise QueueShutDownError

    def done(self, key: ObjectKey) -> None:
        """The work on a key has ended, well or not."""
        self._state.done(key)
        self._changed.set()

    def shut_down(self) -> None:
        """Hand out no more keys; those that are being worked on may still be `done`."""
        self._is_open = False
        self._changed.set()

    async def _wait(self, seconds: float) -> None:
        limit = None if math.isinf(seconds) else self._clock.real_seconds(seconds)
        try:
            async with asyncio.timeout(limit):
                await self._changed.wait()
        except TimeoutError:
            return
