"""Which notes become events: repeats extend a series, a flood is cut off. Pure; the time is passed in."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeVar

from scaler_core.model.action import Note

_K = TypeVar("_K")
_V = TypeVar("_V")

MAX_NOTE: Final = 1024
"""Characters that the API admits in a note."""
CAPACITY: Final = 1024
"""Series and objects that are remembered; the least recently used are forgotten."""
SERIES_SECONDS: Final = 360.0
"""A repeat within that long belongs to the series; a later one begins another (as in client-go's tools/events)."""
SERIES_WRITE_SECONDS: Final = 60.0
"""A series is written at most so often, however fast its notes come."""
BURST: Final = 25
"""Events that one object may cause at once."""
REFILL_SECONDS: Final = 30.0
"""Time after which an object may cause one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Create an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend:
    """Write the count and the time of an event that exists."""

    event_name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Write nothing now: the series was written a moment ago; its count goes with the next write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Write nothing: the object causes too many events."""


Ruling = Begin | Extend | Hold | Drop


@dataclass(slots=True)
class _Series:
    event_name: str
    count: int
    seen_at: float
    written_at: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class EventSeries:
    """Remembers what was said of whom."""

    def __init__(self) -> None:
        self._series: OrderedDict[tuple[Regarding, Note], _Series] = OrderedDict()
        self._buckets: OrderedDict[Regarding, _Bucket] = OrderedDict()

    def rule(self, regarding: Regarding, note: Note, now: float) -> Ruling:
        """What to write for a note at a moment, which is not earlier than that of the call before."""
        series = self._series.get((regarding, note))
        if series is not None and now - series.seen_at <= SERIES_SECONDS:
            self._series.move_to_end((regarding, note))
            return self._repeat(regarding, series, now)
        return Begin() if self._spend(regarding, now) else Drop()

    def began(self, regarding: Regarding, note: Note, event_name: str, now: float) -> None:
        """The event was created under that name."""
        self._series[regarding, note] = _Series(event_name, 1, now, now)
        _trim(self._series)

    def forget(self, regarding: Regarding, note: Note) -> None:
        """The event is not there any more: the next note begins another."""
        self._series.pop((regarding, note), None)

    def _repeat(self, regarding: Regarding, series: _Series, now: float) -> Ruling:
        series.count += 1
        series.seen_at = now
        if now - series.written_at < SERIES_WRITE_SECONDS:
            return Hold()
        if not self._spend(regarding, now):
            return Drop()
        series.written_at = now
        return Extend(event_name=series.event_name, count=series.count)

    def _spend(self, regarding: Regarding, now: float) -> bool:
        bucket = self._buckets.setdefault(regarding, _Bucket(BURST, now))
        self._buckets.move_to_end(regarding)
        _trim(self._buckets)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.filled_at) / REFILL_SECONDS)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _trim(memory: OrderedDict[_K, _V]) -> None:
    while len(memory) > CAPACITY:
        memory.popitem(last=False)
