"""What one engine process has counted since it started."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Self

from scaler_core.model.scrape import Engine
from scaler_sim.engines.profile import ITL_BOUNDS, TTFT_BOUNDS


class Histogram:
    """Counts of observations at most as large as each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.sum = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, in seconds, that many times."""
        self._counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        """All observations."""
        return sum(self._counts)

    def cumulative(self) -> tuple[int, ...]:
        """Observations up to each bound, and finally all of them."""
        return tuple(accumulate(self._counts))


@dataclass(slots=True, kw_only=True)
class Readings:
    """Counters of one engine process; they start at zero with it."""

    started_at: float
    """Seconds on the timeline."""
    ttft: Histogram
    itl: Histogram
    prompt_tokens: int = 0
    """Of prompts whose prefill is done (or whose KV was received)."""
    computed_tokens: int = 0
    """Prompt tokens that were computed here."""
    hit_tokens: int = 0
    """Prompt tokens that were found in the prefix cache."""
    queried_tokens: int = 0
    """Prompt tokens that were looked up in the prefix cache."""
    transferred_tokens: int = 0
    """Prompt tokens whose KV came from a prefill replica."""
    generated_tokens: int = 0
    finished_requests: int = 0
    finished_prompt_tokens: int = 0
    finished_generated_tokens: int = 0
    """Only of finished requests, as SGLang counts."""

    @classmethod
    def starting(cls, engine: Engine, at: float) -> Self:
        """The counters of a process that starts now."""
        return cls(started_at=at, ttft=Histogram(TTFT_BOUNDS[engine]), itl=Histogram(ITL_BOUNDS[engine]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """What one engine process holds at a moment."""

    running: int
    waiting: int
    """Scheduled neither for prefill nor for decode, KV complete."""
    transferring: int
    """On a decode replica: the KV is on its way."""
    announced: int
    """On a decode replica: the prompt is still with its prefill replica."""
    kv_usage: float
    """From 0 to 1."""


IDLE: Final = Gauges(running=0, waiting=0, transferring=0, announced=0, kv_usage=0.0)
"""The gauges of a process without requests."""
