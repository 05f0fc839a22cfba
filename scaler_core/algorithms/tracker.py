"""Demand of one role as the filter follows it, sample by sample, and the forecast from there."""

import math
from dataclasses import dataclass, field, replace
from typing import Final

from scaler_core.algorithms.gate import Gate, admit, usable_trend
from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.kalman import Estimate, Noise, innovation_variance, predict, update
from scaler_core.algorithms.sustained import REACH_SECONDS, sustained_trend
from scaler_core.signals.windows import SLACK_SECONDS

LASTING_INTERVALS: Final = 2
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
    shown_since: float = -math.inf
    """Since when the served tokens show demand, and not the capacity of a saturated role."""
    saturated_since: float | None = None
    """Since when latency is in breach."""
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


def saturated(tracker: Tracker, *, interval_seconds: float) -> Tracker:
    """The tracker of a role whose latency is in breach: it serves what it can.

    The trend of its served tokens is that of its capacity, not of demand, and following it would add replicas because
    replicas were added. So the filter's trend has to be seen anew, and after a breach of more than two intervals, which
    leaves a backlog, the history's as well.
    """
    since = tracker.saturated_since if tracker.saturated_since is not None else tracker.at
    lasts = tracker.at - since > LASTING_INTERVALS * interval_seconds + SLACK_SECONDS
    shown = tracker.at if lasts else tracker.shown_since
    return replace(tracker, trend=0.0, trend_since=None, saturated_since=since, shown_since=shown)


def unsaturated(tracker: Tracker) -> Tracker:
    """The tracker of a role whose latency is not in breach."""
    return tracker if tracker.saturated_since is None else replace(tracker, saturated_since=None)


def forecast(
    tracker: Tracker, history: DemandHistory, *, horizon_seconds: float, interval_seconds: float, noise: Noise
) -> Forecast | None:
    """`max(0, level + trend x reach)`; None before the first observation.

    The trend is the filter's, followed for the horizon, or for as long as it is believed where that is shorter: a step,
    which looks like a trend for a few samples, is not extrapolated for minutes. Where a trend that the history
    sustained leads further the same way, it is that one.
    """
    if tracker.estimate is None:
        return None
    seen = 0.0 if tracker.trend_since is None else tracker.at - tracker.trend_since
    fast = (tracker.trend / interval_seconds, min(horizon_seconds, seen))
    slow = (
        sustained_trend(
            history,
            end=tracker.at,
            since=tracker.shown_since,
            sigma=_sigma(tracker.estimate, tracker.gate, noise),
            interval_seconds=interval_seconds,
        ),
        min(horizon_seconds, REACH_SECONDS),
    )
    is_opposed = fast[0] * slow[0] < 0
    trend, reach = fast if is_opposed else max(fast, slow, key=lambda way: abs(way[0]) * way[1])
    ahead = tracker.estimate.level + trend * reach
    return Forecast(
        demand=max(0.0, ahead) if math.isfinite(ahead) else max(0.0, tracker.estimate.level),
        level=tracker.estimate.level,
        trend_per_second=trend,
        reach_seconds=reach,
    )


def _sigma(estimate: Estimate, gate: Gate, noise: Noise) -> float:
    """Calibrated standard deviation of the next observation."""
    variance = innovation_variance(predict(estimate, steps=1.0, noise=noise), noise)
    return math.sqrt(variance * (gate.ratio or 0.0))


def _begun(demand: float, at: float, *, note: str) -> Tracker:
    return Tracker(estimate=Estimate(level=demand), at=at, count=1, note=note)
