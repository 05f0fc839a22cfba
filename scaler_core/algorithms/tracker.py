"""Demand of one role as the filter follows it, sample by sample, and the forecast from there."""

import math
from dataclasses import dataclass, field, replace
from typing import Final

from scaler_core.algorithms.gate import Gate, admit, usable_trend
from scaler_core.algorithms.kalman import Estimate, Noise, innovation_variance, predict, update

RESET_NOTE: Final = "the filter was reset because its state was not finite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracker:
    """Filter and gate after some observations."""

    estimate: Estimate | None = None
    at: float = -math.inf
    """Time of the last observation, Unix seconds."""
    count: int = 0
    """Observations since the filter began."""
    gate: Gate = field(default_factory=Gate)
    trend: float = 0.0
    """The part of the trend that is believed, per interval."""
    trend_since: float | None = None
    """Since when a trend of this sign is believed."""
    note: str = ""
    """What happened to the filter that people should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Demand ahead, tokens per second."""

    demand: float
    level: float
    trend_per_second: float
    reach_seconds: float
    """How far ahead the trend is followed; the level stays flat from there to the horizon."""


def observe(tracker: Tracker, demand: float, *, at: float, interval_seconds: float, noise: Noise) -> Tracker:
    """The tracker with one more observation; an out-of-order, duplicate or non-finite one changes nothing."""
    if not math.isfinite(demand) or at <= tracker.at:
        return tracker
    if tracker.estimate is None:
        return _begun(demand, at, note=tracker.note)
    prior = predict(tracker.estimate, steps=(at - tracker.at) / interval_seconds, noise=noise)
    variance = innovation_variance(prior, noise)
    if not prior.is_sound or not math.isfinite(variance):
        return _begun(demand, at, note=RESET_NOTE)
    used, gate = admit(tracker.gate, demand - prior.level, variance, tracker.count)
    estimate = update(prior, used, noise)
    if not estimate.is_sound or not math.isfinite(gate.ratio or 0.0):
        return _begun(demand, at, note=RESET_NOTE)
    trend = usable_trend(estimate.trend, estimate.p11, gate)
    continues = trend * tracker.trend > 0
    return replace(
        tracker,
        estimate=estimate,
        at=at,
        count=tracker.count + 1,
        gate=gate,
        trend=trend,
        trend_since=(tracker.trend_since if continues else tracker.at) if trend else None,
    )


def without_trend(tracker: Tracker) -> Tracker:
    """The tracker with no trend believed: it has to be seen anew."""
    return replace(tracker, trend=0.0, trend_since=None)


def forecast(tracker: Tracker, *, horizon_seconds: float, interval_seconds: float) -> Forecast | None:
    """`max(0, level + trend x reach)`; None before the first observation.

    The reach is the horizon, or the time since the trend is believed where that is shorter: a step, which looks like a
    trend for a few samples, is not extrapolated for minutes.
    """
    if tracker.estimate is None:
        return None
    seen = 0.0 if tracker.trend_since is None else tracker.at - tracker.trend_since
    reach = min(horizon_seconds, seen)
    per_second = tracker.trend / interval_seconds
    ahead = tracker.estimate.level + per_second * reach
    return Forecast(
        demand=max(0.0, ahead) if math.isfinite(ahead) else max(0.0, tracker.estimate.level),
        level=tracker.estimate.level,
        trend_per_second=per_second,
        reach_seconds=reach,
    )


def _begun(demand: float, at: float, *, note: str) -> Tracker:
    return Tracker(estimate=Estimate(level=demand), at=at, count=1, note=note)
