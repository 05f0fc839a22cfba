"""One role under `Predictive`: the token result, the filter, and what the forecast adds."""

from dataclasses import replace
from fractions import Fraction

from scaler_core.algorithms import latency_guard, predictive, token_roles, token_throughput
from scaler_core.algorithms.capacity import forecast_for_one
from scaler_core.algorithms.demand import is_fair_part, token_demand
from scaler_core.algorithms.kalman import Noise
from scaler_core.algorithms.memory import RoleMemory
from scaler_core.algorithms.sustained import WINDOW_SECONDS
from scaler_core.algorithms.token_roles import MAX_COVERED_INTERVALS, Moment, TokenAnswer
from scaler_core.algorithms.token_throughput import WindowAverages
from scaler_core.algorithms.tracker import Tracker, forecast, observe, saturated, unsaturated
from scaler_core.api.scaler_spec import Predictive
from scaler_core.model.counts import RoleCounts
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation
from scaler_core.signals.windows import SLACK_SECONDS


def advise(
    reading: RoleReading, counts: RoleCounts, spec: Predictive, memory: RoleMemory, moment: Moment
) -> tuple[Recommendation, RoleMemory]:
    """The recommendation under `Predictive`, and what is remembered."""
    token = token_roles.token_answer(
        reading, counts, spec.token_throughput, memory, moment, keep_seconds=WINDOW_SECONDS
    )
    tracker = follow(memory.tracker, reading, spec, interval_seconds=moment.interval_seconds)
    if token.latency.needs_growth:
        tracker = saturated(tracker, interval_seconds=moment.interval_seconds)
    else:
        tracker = unsaturated(tracker)
    remembered = replace(memory, history=token.history, tracker=tracker)
    if token.averages is None or token.capacity is None:
        return token.recommendation, remembered
    if tracker.count < spec.min_points:
        warming = predictive.warming_up(
            token.recommendation, count=tracker.count, min_points=spec.min_points, note=tracker.note
        )
        return warming, remembered
    outlook = _outlook(reading, spec, remembered, moment)
    if outlook is None:
        return token.recommendation, remembered
    present = _present(reading, counts, spec, token, (token.averages, token.capacity), moment)
    return predictive.recommend(token.recommendation, outlook, present), remembered


def follow(tracker: Tracker, reading: RoleReading, spec: Predictive, *, interval_seconds: float) -> Tracker:
    """The tracker with the demand of this reading; a partial reading is a lower bound, no observation."""
    demand = token_demand(reading)
    if demand is None or not is_fair_part(reading):
        return tracker
    return observe(tracker, float(demand), at=reading.taken_at, interval_seconds=interval_seconds, noise=Noise.of(spec))


def _outlook(reading: RoleReading, spec: Predictive, memory: RoleMemory, moment: Moment) -> predictive.Outlook | None:
    capacity = forecast_for_one(reading.kind, spec)
    ahead = forecast(
        memory.tracker,
        memory.history,
        horizon_seconds=spec.horizon_seconds,
        interval_seconds=moment.interval_seconds,
        noise=Noise.of(spec),
    )
    # As long as a last good reading serves; two samples that were partial are a hair over two intervals.
    oldest = reading.taken_at - MAX_COVERED_INTERVALS * moment.interval_seconds - SLACK_SECONDS
    if capacity is None or ahead is None or memory.tracker.at < oldest:
        return None
    return predictive.Outlook(forecast=ahead, horizon_seconds=spec.horizon_seconds, capacity=capacity)


def _present(
    reading: RoleReading,
    counts: RoleCounts,
    spec: Predictive,
    token: TokenAnswer,
    load: tuple[WindowAverages, Fraction],
    moment: Moment,
) -> predictive.Present:
    averages, capacity = load
    ready = reading.ready_replicas
    is_urgent = token.latency.needs_growth or token_throughput.is_panic(
        averages, spec.token_throughput, ready=ready, capacity=capacity
    )
    extra = latency_guard.one_extra(
        current=counts.current, ready=ready, without_credit=counts.without_credit(moment.now)
    )
    return predictive.Present(
        demand=averages.stable,
        capacity=capacity,
        ready=ready,
        current=counts.current,
        has_work=reading.has_work,
        urgent_floor=extra if is_urgent else None,
    )
