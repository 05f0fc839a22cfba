"""What is believed of the filter before a forecast is made of it.

The plain forecast of a local linear trend is worse than repeating the last value at horizons of minutes: it
extrapolates noise, and one outlier or step for many times its size. The gate leaves the filter's parameters alone:

- The filter's variances are not calibrated, so the *innovation ratio* scales them: the moving mean of squared
  innovation over its predicted variance.
- A lone surprise (beyond three calibrated sigma) is clipped there; a second one of the same sign is believed whole.
- Only the part of the trend beyond one and a half calibrated sigma is used, and a trend is followed no further ahead
  than it has been seen to last.

Slower trends are found in the history (sustained.py). Measured on real traces in docs/forecast-quality.md.
"""

import math
from dataclasses import dataclass
from typing import Final

RATIO_WEIGHT: Final = 0.1
"""Weight of the newest ratio in its moving mean, once as many samples were seen."""
SURPRISE_SIGMAS: Final = 3.0
TREND_SIGMAS: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the gate remembers."""

    ratio: float | None = None
    """Moving mean of squared innovation over predicted variance; None before the first innovation."""
    surprise: int = 0
    """Sign of the last innovation where it was a surprise, else 0."""


def admit(gate: Gate, innovation: float, variance: float, count: int) -> tuple[float, Gate]:
    """The innovation that the filter may use, and the gate after it.

    Args:
        gate: What is remembered.
        innovation: Observation minus predicted level.
        variance: Predicted variance of the innovation.
        count: Observations before this one.
    """
    used, surprise = innovation, 0
    if gate.ratio is not None:
        limit = SURPRISE_SIGMAS * math.sqrt(gate.ratio * variance)
        if abs(innovation) > limit:
            surprise = 1 if innovation > 0 else -1
            used = innovation if surprise == gate.surprise else surprise * limit
    ratio = used / variance * used
    weight = max(RATIO_WEIGHT, 1 / max(count, 1))
    mean = ratio if gate.ratio is None else gate.ratio + weight * (ratio - gate.ratio)
    return used, Gate(ratio=mean, surprise=surprise)


def usable_trend(trend: float, variance: float, gate: Gate) -> float:
    """The part of the trend beyond its calibrated uncertainty; `variance` is the filter's own of the trend."""
    uncertain = TREND_SIGMAS * math.sqrt(variance * (gate.ratio or 0.0))
    return math.copysign(abs(trend) - uncertain, trend) if abs(trend) > uncertain else 0.0
