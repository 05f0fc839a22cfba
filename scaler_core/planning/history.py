"""What was recommended for a role in the last half hour: the memory of the stabilization windows."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Self

from scaler_core.api.scaler_spec import MAX_REPLICAS
from scaler_core.api.scaler_status import RecommendationSample

MAX_SAMPLES: Final = 256
KEPT_SECONDS: Final = 1800.0  # the longest shrink window
EXACT_SECONDS: Final = 600.0  # the longest growth window: younger samples are never merged
MERGED_SECONDS: Final = 10.0  # two samples at a 5 s cadence: 120 young samples, 120 old pairs, 1800 s in all
GAP_INTERVALS: Final = 2
JITTER_SECONDS: Final = 0.5  # samples come at their interval or a little later, never earlier


def _no_times() -> "array[float]":
    return array("d")


def _no_counts() -> "array[int]":
    return array("H")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationHistory:
    """Recommendations by time, oldest first; a value: `append` returns another one.

    Samples older than 600 s share slots of 10 s, each with the later time and the larger count of the two. So the
    lowest recommendation of a growth window is exact, and the highest of a shrink window is never too low and at most
    one slot too old.
    """

    times: "array[float]" = field(default_factory=_no_times)
    """Seconds, increasing."""
    counts: "array[int]" = field(default_factory=_no_counts)
    """Replicas, one for each time; no more than 1024, since no role can have more."""
    unbroken_since: float | None = None
    """Time of the first sample after the last gap; None while every sample was restored."""

    def append(self, now: float, replicas: int, interval_seconds: float) -> Self:
        """Add the recommendation of the sample taken at `now`.

        After more than two intervals without a sample the span starts anew: one that is missing leaves a gap of two
        intervals and the jitter of a timer. A sample at or before the last one is a duplicate and ignored; one far
        before it means that the clock went back, and then the span starts anew as well, without the samples that lie in
        the future.
        """
        last = self.times[-1] if self.times else None
        gap = GAP_INTERVALS * interval_seconds + JITTER_SECONDS
        if last is not None and last - gap <= now <= last:
            return self
        is_unbroken = last is not None and last < now <= last + gap and self.unbroken_since is not None
        kept = [(time, count) for time, count in self._samples() if now - KEPT_SECONDS <= time < now]
        samples = _merged([*kept, (now, _storable(replicas))], now - EXACT_SECONDS)
        return type(self)(
            times=array("d", (time for time, _ in samples)),
            counts=array("H", (count for _, count in samples)),
            unbroken_since=self.unbroken_since if is_unbroken else now,
        )

    def lowest(self, window_seconds: float) -> int | None:
        """The lowest recommendation of the window that ends at the newest sample; None unless samples span it.

        The window includes both ends. Exact up to 600 s.
        """
        return min(self._window(window_seconds), default=None)

    def highest(self, window_seconds: float) -> int | None:
        """The highest recommendation of the window that ends at the newest sample; None unless samples span it.

        The window includes both ends. Never too low; beyond 600 s it may include a sample that left up to 10 s ago.
        """
        return max(self._window(window_seconds), default=None)

    def to_status(self) -> tuple[RecommendationSample, ...]:
        """`status.roles[].stabilizationHistory`."""
        return tuple(RecommendationSample(timestamp=time, replicas=count) for time, count in self._samples())

    @classmethod
    def from_status(cls, samples: Iterable[RecommendationSample]) -> Self:
        """Samples of another process: they keep their place in a window's floor, but span nothing."""
        newest = sorted(samples, key=lambda sample: sample.timestamp)[-MAX_SAMPLES:]
        return cls(
            times=array("d", (sample.timestamp for sample in newest)),
            counts=array("H", (_storable(sample.replicas) for sample in newest)),
        )

    def _samples(self) -> Iterator[tuple[float, int]]:
        return zip(self.times, self.counts, strict=True)

    def _window(self, seconds: float) -> list[int]:
        if self.unbroken_since is None or self.unbroken_since > self.times[-1] - seconds:
            return []
        start = self.times[-1] - seconds
        return [count for time, count in self._samples() if time >= start]


def _storable(replicas: int) -> int:
    return max(0, min(replicas, MAX_REPLICAS))


def _merged(samples: list[tuple[float, int]], old_before: float) -> list[tuple[float, int]]:
    """Old samples in one slot become one, with the later time and the larger count; at most 256 remain."""
    merged: list[tuple[float, int]] = []
    for time, count in samples:
        if merged and time < old_before and merged[-1][0] // MERGED_SECONDS == time // MERGED_SECONDS:
            merged[-1] = (time, max(merged[-1][1], count))
        else:
            merged.append((time, count))
    while len(merged) > MAX_SAMPLES:  # samples came faster than every 5 s
        (_, first), (time, second), *rest = merged
        merged = [(time, max(first, second)), *rest]
    return merged
