"""Recent demand of one role, averaged over the time that its samples cover.

Unlike the windows of AIBrix, which never forget by time, and of Knative, which divide by wall time, a gap in the
samples is neither load nor the absence of it: the average is over the covered time alone.
"""

import math
from dataclasses import dataclass, replace
from typing import Final, Self

MAX_SAMPLES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandSample:
    """Demand over the time up to one moment."""

    at: float
    """End of the covered time, Unix seconds."""
    covered_seconds: float
    tokens_per_second: float
    is_partial: bool = False
    """Some Pods could not be read: a lower bound of the demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandHistory:
    """Samples in the order of time, at most 256: at the fastest cadence of 5 s they span twice the longest window."""

    samples: tuple[DemandSample, ...] = ()

    def append(self, sample: DemandSample, *, keep_seconds: float) -> Self:
        """The history with a newer sample; an out-of-order, duplicate or non-finite one changes nothing."""
        if not math.isfinite(sample.tokens_per_second) or (self.samples and sample.at <= self.samples[-1].at):
            return self
        oldest = sample.at - keep_seconds
        kept = tuple(known for known in self.samples if known.at > oldest)
        return replace(self, samples=(*kept, sample)[-MAX_SAMPLES:])

    def spans(self, start: float) -> bool:
        """Whether samples reach back to that moment."""
        return bool(self.samples) and self.samples[0].at - self.samples[0].covered_seconds <= start

    def measured_seconds(self, *, end: float, seconds: float) -> float:
        """How much of the window (end - seconds, end] any sample covers."""
        start = end - seconds
        spans = (min(sample.at, end) - max(sample.at - sample.covered_seconds, start) for sample in self.samples)
        return min(seconds, sum(span for span in spans if span > 0))

    def average(self, *, end: float, seconds: float) -> float | None:
        """Mean demand over the covered part of the window (end - seconds, end]; None where nothing covers it.

        Partial samples are lower bounds: they may raise the average of the complete ones, they never lower it.
        """
        start = end - seconds
        time, load, complete_time, complete_load = 0.0, 0.0, 0.0, 0.0
        for sample in reversed(self.samples):
            if sample.at <= start:
                break
            covered = min(sample.at, end) - max(sample.at - sample.covered_seconds, start)
            if covered > 0:
                time += covered
                load += covered * sample.tokens_per_second
                if not sample.is_partial:
                    complete_time += covered
                    complete_load += covered * sample.tokens_per_second
        if not time:
            return None
        return max(load / time, complete_load / complete_time) if complete_time else load / time
