"""Demand of one role as the filter follows it, sample by sample, and the forecast from there."""

import math
from dataclasses import dataclass, field, replace
from typing import Final

from scaler_core.algorithms.gate import Gate, admit, usable_trend
from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.kalman import Estimate, Noise, innovation_variance, predict, update
from scaler_core.algorithms.misses import Misses, learn, share_left
from scaler_core.algorithms.sustained import REACH_SECONDS, sustained_trend
from scaler_core.signals.windows import SLACK_SECONDS

LASTING_INTERVALS: Final = 2
LONGEST_STEP: Final = 1.5
"""Intervals between two samples beyond which they are no neighbours: one between them was not seen."""
RESET_NOTE: Final = "the filter was reset because its state was not finite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracker:
    """Filter and gate after some observations."""

    estimate: Estimate | None = None
    at: float = -math.inf
    """Time of the last observation, Unix seconds."""
    last: float = 0.0
    """The last observation, tokens per second, as far upwards as the gate admits it."""
    count: int = 0
    """Observations since the filter began."""
    gate: Gate = field(default_factory=Gate)
    misses: Misses = field(default_factory=Misses)
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
    last: float = 0.0
    """The last observation as the tracker remembers it."""
    last_share: float = 0.0
    """How much of the way from level and trend to the last observation the demand ahead is moved, 0 to 1."""


def observe(tracker: Tracker, demand: float, *, at: float, interval_seconds: float, noise: Noise) -> Tracker:
    """The tracker with one more observation; an out-of-order, duplicate or non-finite one changes nothing."""
    if not math.isfinite(demand) or at <= tracker.at:
        return tracker
    if tracker.estimate is None:
        return _begun(demand, at, note=tracker.note)
    steps = (at - tracker.at) / interval_seconds
    prior = predict(tracker.estimate, steps=steps, noise=noise)
    variance = innovation_variance(prior, noise)
    if not prior.is_sound or not math.isfinite(variance):
        return _begun(demand, at, note=RESET_NOTE)
    used, gate = admit(tracker.gate, demand - prior.level, variance, tracker.count)
    estimate = update(prior, used, noise)
    if not estimate.is_sound or not math.isfinite(gate.ratio or 0.0):
        return _begun(demand, at, note=RESET_NOTE)
    trend = usable_trend(estimate.trend, estimate.p11, gate)
    continues = trend * tracker.trend > 0
    admitted = min(demand, max(0.0, prior.level + used))
    return replace(
        tracker,
        estimate=estimate,
        at=at,
        last=admitted,
        count=tracker.count + 1,
        gate=gate,
        misses=_learned(tracker, admitted, interval_seconds) if steps <= LONGEST_STEP else tracker.misses,
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
    """`max(0, level + trend x reach)`, moved towards the last value as far as misses last; None before the first one.

    The trend is the filter's, followed for the horizon, or for as long as it is believed where that is shorter: a step,
    which looks like a trend for a few samples, is not extrapolated for minutes. Where a trend that the history
    sustained leads further the same way, it is that one.
    """
    if tracker.estimate is None:
        return None
    fast = (tracker.trend / interval_seconds, min(horizon_seconds, _seen_seconds(tracker)))
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
    filtered = max(0.0, ahead if math.isfinite(ahead) else tracker.estimate.level)
    share = share_left(tracker.misses, intervals=horizon_seconds / interval_seconds)
    return Forecast(
        demand=max(0.0, filtered + share * (tracker.last - filtered)),
        level=tracker.estimate.level,
        trend_per_second=trend,
        reach_seconds=reach,
        last=tracker.last,
        last_share=share,
    )


def _learned(tracker: Tracker, demand: float, interval_seconds: float) -> Misses:
    """What the next demand shows of the last miss; the forecast that missed is that of one interval ahead."""
    level = tracker.estimate.level if tracker.estimate is not None else tracker.last
    reach = min(interval_seconds, _seen_seconds(tracker))
    expected = max(0.0, level + tracker.trend / interval_seconds * reach)
    return learn(tracker.misses, missed=tracker.last - expected, left=demand - expected)


def _seen_seconds(tracker: Tracker) -> float:
    """For how long the filter's trend has been believed."""
    return 0.0 if tracker.trend_since is None else tracker.at - tracker.trend_since


def _sigma(estimate: Estimate, gate: Gate, noise: Noise) -> float:
    """Calibrated standard deviation of the next observation."""
    variance = innovation_variance(predict(estimate, steps=1.0, noise=noise), noise)
    return math.sqrt(variance * (gate.ratio or 0.0))


def _begun(demand: float, at: float, *, note: str) -> Tracker:
    return Tracker(estimate=Estimate(level=demand), at=at, last=demand, count=1, note=note)
