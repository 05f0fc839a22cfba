"""One role under `TokenThroughput`: history, windows, guard."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from scaler_core.algorithms import holding, latency_guard, token_throughput
from scaler_core.algorithms.capacity import served_by_one
from scaler_core.algorithms.demand import is_fair_part, token_demand
from scaler_core.algorithms.history import DemandHistory, DemandSample
from scaler_core.algorithms.latency_guard import Latency
from scaler_core.algorithms.memory import RoleMemory
from scaler_core.algorithms.token_throughput import WindowAverages
from scaler_core.api.scaler_spec import TokenThroughput
from scaler_core.model.counts import RoleCounts
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation

MAX_COVERED_INTERVALS: Final = 2
"""A sample stands for this many sampling intervals at most; what is beyond is a gap, not load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The cadence of the samples, and now (Unix seconds), which ends credits of replicas that warm up."""

    interval_seconds: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAnswer:
    """The guarded recommendation with what it was made of."""

    recommendation: Recommendation
    history: DemandHistory
    latency: Latency
    averages: WindowAverages | None
    """None where the rate is unknown or the windows are empty."""
    capacity: Fraction | None
    """None where the spec has none for this kind."""


def token_answer(
    reading: RoleReading,
    counts: RoleCounts,
    spec: TokenThroughput,
    memory: RoleMemory,
    moment: Moment,
    *,
    keep_seconds: float = 0.0,
) -> TokenAnswer:
    """The windows' count behind the latency guard, and the history with this sample.

    Args:
        reading: The role in this sample.
        counts: The role in the target.
        spec: Windows, capacities and latency targets.
        memory: What was remembered.
        moment: Cadence and time.
        keep_seconds: History to keep beyond both windows.
    """
    keep = max(spec.stable_window_seconds, spec.panic_window_seconds, keep_seconds)
    history = remember(memory.history, reading, keep_seconds=keep, interval_seconds=moment.interval_seconds)
    latency = latency_guard.judge(reading, spec)
    capacity = served_by_one(reading.kind, spec)
    averages = None
    if token_demand(reading) is not None:
        averages = token_throughput.window_averages(history, spec, end=reading.taken_at)
    guarded = latency_guard.guard(
        _from_windows(reading, counts, spec, averages=averages, capacity=capacity),
        latency,
        current=counts.current,
        ready=reading.ready_replicas,
        without_credit=counts.without_credit(moment.now),
    )
    return TokenAnswer(recommendation=guarded, history=history, latency=latency, averages=averages, capacity=capacity)


def advise(
    reading: RoleReading, counts: RoleCounts, spec: TokenThroughput, memory: RoleMemory, moment: Moment
) -> tuple[Recommendation, RoleMemory]:
    """The recommendation under `TokenThroughput`, and what is remembered."""
    token = token_answer(reading, counts, spec, memory, moment)
    return token.recommendation, replace(memory, history=token.history)


def remember(
    history: DemandHistory, reading: RoleReading, *, keep_seconds: float, interval_seconds: float
) -> DemandHistory:
    """The history with the demand of this reading, if it has one."""
    demand = token_demand(reading)
    if demand is None:
        return history
    longest = MAX_COVERED_INTERVALS * interval_seconds
    sample = DemandSample(
        at=reading.taken_at,
        covered_seconds=min(reading.covered_seconds or interval_seconds, longest),
        tokens_per_second=float(demand),
        is_partial=not is_fair_part(reading),
    )
    return history.append(sample, keep_seconds=keep_seconds)


def _from_windows(
    reading: RoleReading,
    counts: RoleCounts,
    spec: TokenThroughput,
    *,
    averages: WindowAverages | None,
    capacity: Fraction | None,
) -> Recommendation:
    if capacity is None:
        field = f"tokenThroughput.{reading.kind.lower()}TargetTokensPerSecond"
        return holding.waiting(counts.current, f"{field} is not set for a {reading.kind} role; set it")
    if averages is None:
        return holding.missing(reading, counts.current, "the token rate")
    return token_throughput.recommend(
        averages, spec, ready=reading.ready_replicas, capacity=capacity, current=counts.current
    )
