"""What one sampling pass brought back from the engines: the input of the signal windows.

`taken_at` and every other moment are Unix seconds on the process's steady clock (they never jump within a process).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum


class Engine(StrEnum):
    """The two engines."""

    VLLM = "vLLM"
    SGLANG = "SGLang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A cumulative histogram of one Pod, summed over the series that count.

    Bounds and counts are as long as each other, and empty when the text has no buckets or the series do not share
    their bounds. Engines of one kind share the tuple of their bounds: there are many histograms, and few such tuples.
    """

    count: float
    sum_seconds: Decimal | None
    """The exact sum of the decimals in the text; None where a series that counts has no sum."""
    bounds: tuple[Decimal, ...] = ()
    """Upper bounds in seconds, rising, without the infinite one."""
    counts: tuple[float, ...] = ()
    """How many observations did not exceed each bound."""

    @property
    def buckets(self) -> tuple[tuple[Decimal, float], ...]:
        """Bounds with their counts."""
        return tuple(zip(self.bounds, self.counts, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounters:
    """What one engine's text says, summed over the series that count; None is absent, zero is an observed zero."""

    engine: Engine | None = None
    running: float | None = None
    waiting: float | None = None
    """Without the decode transfer queue, which counts only for a Decode role."""
    transfer_queue: float | None = None
    kv_cache_usage: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None
    prefix_hits: float | None = None
    computed_prompt_tokens: float | None = None
    """vLLM's prompt tokens of source local_compute, where exported."""
    prefill_effective: Mapping[str, float] = field(default_factory=dict)
    """SGLang's tokens by mode: input, device_hit, host_hit, storage_hit."""
    ttft: Histogram | None = None
    itl: Histogram | None = None
    models: frozenset[str] = frozenset()
    """Names of the models that it serves, where its series tell."""
    process_start: float | None = None
    """`process_start_time_seconds`, else the earliest `_created` of a needed family: a change is a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeFailure:
    """A Pod that could not be read; `why` is one line for people, such as "HTTP 500" or "no answer within 2 s"."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PodScrape:
    """One Pod's part of a sample."""

    pod_uid: str
    pod_name: str
    role: str
    ordinal: int
    member: int
    container: str
    """Engine container ID and restart count: a change is a restart."""
    outcome: EngineCounters | ScrapeFailure
    read_at: float | None = None
    """When its answer was complete; None takes the pass's `taken_at`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetScrape:
    """One sampling pass over all scaled roles of a target."""

    target_uid: str
    taken_at: float
    """When the pass began."""
    pods: tuple[PodScrape, ...]
    answering: Mapping[str, int]
    """Ready answering Pods by role, before the cap of 64: more than were read means incomplete coverage."""
