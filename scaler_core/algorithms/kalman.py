"""A Kalman filter of demand with a local linear trend (spec, Predictive).

The state is (level, trend) with the unit of time of one sampling interval, so that the documented noises give the
same gains at every cadence. At an even cadence it equals the filter of NVIDIA Dynamo's planner, but for the
covariance, which the Joseph form keeps symmetric and positive, and for gaps, over which it predicts.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

from scaler_core.api.scaler_spec import Predictive

FIRST_VARIANCE: Final = 1000.0
DEFAULT_LEVEL_NOISE: Final = 1.0
DEFAULT_TREND_NOISE: Final = 0.1
DEFAULT_MEASUREMENT_NOISE: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How fast level and trend may change in one interval, and how uncertain one observation is (variances)."""

    level: float = DEFAULT_LEVEL_NOISE
    trend: float = DEFAULT_TREND_NOISE
    measurement: float = DEFAULT_MEASUREMENT_NOISE

    @classmethod
    def of(cls, spec: Predictive) -> Self:
        """The spec's noises; nonpositive ones mean the defaults."""
        return cls(
            level=_or_default(spec.q_level.value, DEFAULT_LEVEL_NOISE),
            trend=_or_default(spec.q_trend.value, DEFAULT_TREND_NOISE),
            measurement=_or_default(spec.measurement_noise.value, DEFAULT_MEASUREMENT_NOISE),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Demand level in tokens per second, its trend per interval, and their covariance, symmetric by construction."""

    level: float
    trend: float = 0.0
    p00: float = FIRST_VARIANCE
    p01: float = 0.0
    p11: float = FIRST_VARIANCE

    @property
    def is_sound(self) -> bool:
        """Whether every number is finite and the covariance is positive."""
        numbers = (self.level, self.trend, self.p00, self.p01, self.p11)
        return all(map(math.isfinite, numbers)) and self.p00 > 0 and self.p11 > 0


def predict(estimate: Estimate, *, steps: float, noise: Noise) -> Estimate:
    """The estimate `steps` intervals later: transition `[[1, s], [0, 1]]`, process noise `s x diag(level, trend)`."""
    spread = estimate.p01 + steps * estimate.p11
    return Estimate(
        level=estimate.level + steps * estimate.trend,
        trend=estimate.trend,
        p00=estimate.p00 + steps * (estimate.p01 + spread) + steps * noise.level,
        p01=spread,
        p11=estimate.p11 + steps * noise.trend,
    )


def innovation_variance(prior: Estimate, noise: Noise) -> float:
    """Predicted variance of an observation around the predicted level."""
    return prior.p00 + noise.measurement


def update(prior: Estimate, innovation: float, noise: Noise) -> Estimate:
    """The predicted estimate corrected by observation - predicted level, in Joseph form."""
    variance = innovation_variance(prior, noise)
    gain0, gain1 = prior.p00 / variance, prior.p01 / variance
    rest = noise.measurement / variance  # 1 - gain0, without its cancellation
    return Estimate(
        level=prior.level + gain0 * innovation,
        trend=prior.trend + gain1 * innovation,
        p00=rest * rest * prior.p00 + gain0 * gain0 * noise.measurement,
        p01=rest * (prior.p01 - gain1 * prior.p00) + gain0 * gain1 * noise.measurement,
        p11=prior.p11 + gain1 * (gain1 * variance - 2 * prior.p01),
    )


def _or_default(value: Fraction, default: float) -> float:
    return float(value) if value > 0 else default
