"""A small plant for closed loops: one Prefill role as a fluid queue, scaled by the real recommend and plan.

Tokens arrive at an offered rate, wait in one queue and are served by the ready replicas at `served_by_one` each.
Latency is a base plus the time that the queue needs. Replicas become ready `warm_up_seconds` after they were asked for
and leave at once. Time advances in steps of one second, a sample is taken every interval.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.recommend import recommend
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.counts import RoleCounts, WarmingReplica
from scaler_core.model.plan import PlanInput, RoleInput
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation
from scaler_core.planning.history import RecommendationHistory
from scaler_core.planning.planner import plan

ROLE = "prefill"
START = 1_700_000_000.0
CONFIGURED = 1000.0
"""Tokens per second of one replica as the spec states it."""
TOKENS_EACH = 1000.0
"""Tokens of a request."""
SERVICE_SECONDS = 8.0
"""How long a request is in service, so the configured rate keeps 8 requests running on a replica."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """How the role behaves."""

    offered: Callable[[float], float]
    """Tokens per second at a time since the start."""
    served_by_one: float = 1250.0
    base_milliseconds: float = 150.0
    warm_up_seconds: float = 120.0
    noise: float = 0.0
    """Standard deviation of the offered rate of each interval, relative."""
    never_ready: Callable[[int], bool] = lambda ordinal: False
    blind: Callable[[float], bool] = lambda second: False
    """When no engine answers a scrape."""
    silent_share: Callable[[float, int], float] = lambda second, ready: 0.0
    """Share of the served tokens that engines do not count: frozen ones, and ones that report zeros."""


@dataclass(slots=True)
class Run:
    """What happened, one entry for each sample."""

    interval: float
    offered: list[float] = field(default_factory=list)
    """Without the noise."""
    counts: list[int] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    answers: list[Recommendation] = field(default_factory=list)

    @property
    def changes(self) -> int:
        return sum(before != after for before, after in zip(self.counts, self.counts[1:], strict=False))

    @property
    def peak(self) -> int:
        return max(self.counts)

    def short_seconds(self, start: float = 0.0) -> float:
        """Time in which the ready replicas' configured capacity was below the offered rate."""
        first = int(start // self.interval)
        pairs = zip(self.offered[first:], self.ready[first:], strict=True)
        return self.interval * sum(ready * CONFIGURED < offered for offered, ready in pairs)

    def enough_after(self, start: float) -> float:
        """Seconds from `start` until the ready replicas' configured capacity reached the offered rate for good."""
        first = int(start // self.interval)
        short = [
            index for index in range(first, len(self.ready)) if self.ready[index] * CONFIGURED < self.offered[index]
        ]
        return self.interval * (short[-1] + 1 - first) if short else 0.0

    def replica_hours(self) -> float:
        return sum(self.counts) * self.interval / 3600


@dataclass(slots=True)
class _State:
    current: int
    ready_at: list[float]
    queue: float = 0.0
    served: float = 0.0
    last_read_at: float | None = None
    last_rate: float = 0.0


def simulate(plant: Plant, spec: ScalerSpec, *, seconds: float, start: int = 2, seed: int = 0) -> Run:
    """Run the loop; every replica of the start is ready."""
    interval = float(spec.sampling.interval_seconds)
    run, random = Run(interval), Random(seed)
    state = _State(current=start, ready_at=[0.0] * start)
    memory, windows = AlgorithmMemory(), RecommendationHistory()
    scale_up_at: float | None = None
    for sample in range(1, int(seconds // interval) + 1):
        second = sample * interval
        offered = plant.offered(second - interval / 2) * max(0.0, 1 + plant.noise * random.gauss(0, 1))
        latency = _serve(plant, state, offered, second - interval, interval)
        reading = _read(plant, state, second, interval, latency)
        advice = recommend({ROLE: reading}, {ROLE: _counts(plant, state, second)}, spec, memory, START + second)
        memory, answer = advice.memory, advice.recommendations[ROLE]
        windows = windows.append(START + second, answer.replicas, interval)
        wanted = _plan(reading, state, spec, answer, windows, START + second, scale_up_at)
        if wanted > state.current:
            scale_up_at = START + second
        run.offered.append(plant.offered(second - interval / 2))
        run.ready.append(_ready(plant, state, second))
        run.latency.append(latency)
        run.answers.append(answer)
        _resize(plant, state, wanted, second)
        run.counts.append(state.current)
    return run


def _ready(plant: Plant, state: _State, second: float) -> int:
    return sum(
        at <= second and not plant.never_ready(ordinal) for ordinal, at in enumerate(state.ready_at[: state.current])
    )


def _serve(plant: Plant, state: _State, offered: float, since: float, interval: float) -> float:
    """One interval in steps of a second; the p95 latency of it in milliseconds."""
    worst = []
    state.served = 0.0
    for step in range(int(interval)):
        capacity = _ready(plant, state, since + step) * plant.served_by_one
        state.queue += offered
        served = min(state.queue, capacity)
        state.queue -= served
        state.served += served
        wait = state.queue / capacity if capacity else math.inf
        worst.append(plant.base_milliseconds + 1000 * wait)
    return sorted(worst)[int(0.95 * (len(worst) - 1))]


def _read(plant: Plant, state: _State, second: float, interval: float, latency: float) -> RoleReading:
    """The reading as the signal windows would make it of engines in this state."""
    ready = _ready(plant, state, second)
    if plant.blind(second):
        expired = state.last_read_at is None or second - state.last_read_at > 2 * interval
        return RoleReading(
            role=ROLE,
            kind=RoleKind.PREFILL,
            taken_at=START + second,
            state=SignalState.STALE if expired else SignalState.FRESH,
            is_complete=False,
            ready_replicas=ready,
            read_replicas=Fraction(0),
            prompt_rate=None if expired else state.last_rate,
            generation_rate=None if expired else 0.0,
        )
    rate = state.served / interval * (1 - plant.silent_share(second, ready))
    state.last_read_at, state.last_rate = second, rate
    is_idle = state.served == 0 and state.queue == 0
    return RoleReading(
        role=ROLE,
        kind=RoleKind.PREFILL,
        taken_at=START + second,
        state=SignalState.IDLE if is_idle else SignalState.FRESH,
        is_complete=True,
        ready_replicas=ready,
        read_replicas=Fraction(ready),
        running=rate / TOKENS_EACH * SERVICE_SECONDS,
        waiting=state.queue / TOKENS_EACH,
        prompt_rate=rate,
        generation_rate=0.0,
        ttft_milliseconds=None if is_idle or math.isinf(latency) else Fraction(round(latency)),
        covered_seconds=interval,
    )


def _counts(plant: Plant, state: _State, second: float) -> RoleCounts:
    warming = tuple(
        WarmingReplica(ordinal=ordinal, admitted_at=START + at - plant.warm_up_seconds)
        for ordinal, at in enumerate(state.ready_at[: state.current])
        if at > second or plant.never_ready(ordinal)
    )
    return RoleCounts(kind=RoleKind.PREFILL, current=state.current, warming=warming)


def _plan(
    reading: RoleReading,
    state: _State,
    spec: ScalerSpec,
    answer: Recommendation,
    windows: RecommendationHistory,
    now: float,
    scale_up_at: float | None,
) -> int:
    bounds = spec.role(ROLE)
    assert bounds is not None
    role = RoleInput(
        name=ROLE,
        kind=RoleKind.PREFILL,
        current=state.current,
        ready=reading.ready_replicas,
        minimum=bounds.min_replicas,
        maximum=bounds.max_replicas,
        recommendation=answer,
        is_complete=reading.is_complete,
        stabilized_up=windows.lowest(spec.behavior.scale_up.stabilization_window_seconds),
        stabilized_down=windows.highest(spec.behavior.scale_down.stabilization_window_seconds),
        last_scale_up_at=scale_up_at,
    )
    return plan(PlanInput(now=now, roles=(role,), ratios=(), behavior=spec.behavior)).vector[ROLE]


def _resize(plant: Plant, state: _State, wanted: int, second: float) -> None:
    state.ready_at = state.ready_at[:wanted]
    state.ready_at += [second + plant.warm_up_seconds] * (wanted - len(state.ready_at))
    state.current = wanted
