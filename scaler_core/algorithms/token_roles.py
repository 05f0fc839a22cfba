"""One role under `TokenThroughput`: history, windows, guard."""

from dataclasses import replace
from typing import Final

from scaler_core.algorithms import holding, latency_guard, token_throughput
from scaler_core.algorithms.capacity import served_by_one
from scaler_core.algorithms.demand import is_fair_part, token_demand
from scaler_core.algorithms.history import DemandHistory, DemandSample
from scaler_core.algorithms.memory import RoleMemory
from scaler_core.api.scaler_spec import TokenThroughput
from scaler_core.model.counts import RoleCounts
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation

MAX_COVERED_INTERVALS: Final = 2
"""A sample stands for this many sampling intervals at most; what is beyond is a gap, not load."""


def recommend(
    reading: RoleReading,
    counts: RoleCounts,
    spec: TokenThroughput,
    memory: RoleMemory,
    *,
    interval_seconds: float,
    now: float,
) -> tuple[Recommendation, RoleMemory]:
    """The windows' count behind the latency guard, and the history with this sample."""
    memory = replace(memory, history=remember(memory.history, reading, spec, interval_seconds=interval_seconds))
    latency = latency_guard.judge(reading, spec)
    guarded = latency_guard.guard(
        _from_windows(reading, counts, spec, memory.history),
        latency,
        current=counts.current,
        ready=reading.ready_replicas,
        without_credit=counts.without_credit(now),
    )
    return guarded, memory


def remember(
    history: DemandHistory, reading: RoleReading, spec: TokenThroughput, *, interval_seconds: float
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
    return history.append(sample, keep_seconds=max(spec.stable_window_seconds, spec.panic_window_seconds))


def _from_windows(
    reading: RoleReading, counts: RoleCounts, spec: TokenThroughput, history: DemandHistory
) -> Recommendation:
    capacity = served_by_one(reading.kind, spec)
    if capacity is None:
        field = f"tokenThroughput.{reading.kind.lower()}TargetTokensPerSecond"
        return holding.waiting(counts.current, f"{field} is not set for a {reading.kind} role; set it")
    averages = token_throughput.window_averages(history, spec, end=reading.taken_at)
    if averages is None or token_demand(reading) is None:
        return holding.missing(reading, counts.current, "the token rate")
    return token_throughput.recommend(
        averages, spec, ready=reading.ready_replicas, capacity=capacity, current=counts.current
    )
