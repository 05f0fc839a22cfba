"""What a client measured in each phase."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from scaler_sim.engines.request import Request

_PER_DECADE: Final = 200  # gaps are counted in classes 1.2 % wide


def percentile(values: Sequence[float], share: float) -> float | None:
    """The nearest-rank percentile of some values, for a share from 0 to 1; None of no values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseResult:
    """Measurements of one phase, in the units of the benchmark's tables; None where nothing was measured."""

    phase: str
    requests: int
    """Finished and failed ones that began in the phase."""
    errors: int
    ttft_p50_milliseconds: float | None
    ttft_p99_milliseconds: float | None
    itl_p50_milliseconds: float | None
    itl_p99_milliseconds: float | None
    output_tokens_per_second: float
    """Tokens of finished requests over the time from the phase's start to its last answer."""


class Gaps:
    """Gaps between tokens, counted in narrow logarithmic classes: there are hundreds of thousands of them."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, seconds: float, count: int) -> None:
        """Count a gap that many times."""
        self._counts[round(math.log10(seconds) * _PER_DECADE)] += count

    def percentile(self, share: float) -> float | None:
        """The middle of the class that holds the percentile, in seconds."""
        left = share * self._counts.total()
        for key in sorted(self._counts):
            left -= self._counts[key]
            if left <= 0:
                return float(10 ** (key / _PER_DECADE))
        return None


@dataclass(slots=True)
class _Phase:
    name: str
    started_at: float
    first_tokens: list[float] = field(default_factory=list)
    gaps: Gaps = field(default_factory=Gaps)
    finished: int = 0
    failed: int = 0
    output_tokens: int = 0
    last_answer_at: float = 0.0


class Recorder:
    """Collects what happened to requests, by the phase in which each began; times are seconds on the timeline."""

    def __init__(self) -> None:
        self._phases: list[_Phase] = []
        self._starts: list[float] = []
        self._waiting: dict[int, float] = {}

    def begin_phase(self, name: str, at: float) -> None:
        """Requests from now on belong to this phase."""
        self._phases.append(_Phase(name, at))
        self._starts.append(at)

    def first_token(self, request: Request, at: float) -> None:
        """Remember the time to the first token; it counts when the request finishes."""
        self._waiting[request.identity] = at - request.arrived_at

    def gaps(self, at: float, seconds: float, count: int) -> None:
        """Count gaps between tokens in the phase that is running."""
        self._phase(at).gaps.add(seconds, count)

    def finished(self, request: Request, at: float) -> None:
        """Count an answer; one whose beginning was not seen belongs to another client."""
        waited = self._waiting.pop(request.identity, None)
        if waited is None:
            return
        phase = self._phase(request.arrived_at)
        phase.finished += 1
        phase.output_tokens += request.output_tokens
        phase.first_tokens.append(waited)
        phase.last_answer_at = max(phase.last_answer_at, at)

    def failed(self, request: Request, at: float, reason: str) -> None:  # noqa: ARG002 -- the observer's interface
        """Count an error."""
        self._waiting.pop(request.identity, None)
        self._phase(request.arrived_at).failed += 1

    def results(self) -> tuple[PhaseResult, ...]:
        """What was measured so far, in the phases' order."""
        return tuple(_result(phase) for phase in self._phases)

    def _phase(self, at: float) -> _Phase:
        return self._phases[max(0, bisect_right(self._starts, at) - 1)]


def _result(phase: _Phase) -> PhaseResult:
    wall = phase.last_answer_at - phase.started_at
    return PhaseResult(
        phase=phase.name,
        requests=phase.finished + phase.failed,
        errors=phase.failed,
        ttft_p50_milliseconds=_milliseconds(percentile(phase.first_tokens, 0.50)),
        ttft_p99_milliseconds=_milliseconds(percentile(phase.first_tokens, 0.99)),
        itl_p50_milliseconds=_milliseconds(phase.gaps.percentile(0.50)),
        itl_p99_milliseconds=_milliseconds(phase.gaps.percentile(0.99)),
        output_tokens_per_second=phase.output_tokens / wall if wall > 0 else 0.0,
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
