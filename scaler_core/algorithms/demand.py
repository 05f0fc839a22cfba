"""Demand of a role: by its kind for the token algorithms, by the chosen metric for `Proportional`.

Sums over a role above the cap of 64 Pods are divided by the share that was read, so demand is always the whole
role's. Sums over a role with failed reads are left as they are: a lower bound, on which a role may grow.
"""

from fractions import Fraction
from typing import Final

from scaler_core.algorithms.sizing import exact
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import Metric
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.reading import RoleReading

MOST_PLAUSIBLE: Final = 1e15
"""Above this no role serves; a NaN, an infinite or a negative value is no measurement either."""


def token_demand(reading: RoleReading) -> Fraction | None:
    """Tokens per second that the role serves: prompt for Prefill, generation for Decode, both for Server.

    Returns:
        None where a needed rate is unknown, and for Encode roles, which serve no tokens.
    """
    match reading.kind:
        case RoleKind.PREFILL:
            return _total(reading, reading.prompt_rate)
        case RoleKind.DECODE:
            return _total(reading, reading.generation_rate)
        case RoleKind.SERVER:
            return _total(reading, reading.prompt_rate, reading.generation_rate)
        case RoleKind.ENCODE:
            return None


def metric_total(reading: RoleReading, metric: Metric) -> Fraction | None:
    """The role total of a `Proportional` metric: requests, or tokens per second; None where it is unknown."""
    match metric:
        case Metric.QUEUE_DEPTH:
            return _total(reading, reading.running, reading.waiting)
        case Metric.RUNNING_REQUESTS:
            return _total(reading, reading.running)
        case Metric.WAITING_REQUESTS:
            return _total(reading, reading.waiting)
        case Metric.PROMPT_TOKENS:
            return _total(reading, reading.prompt_rate)
        case Metric.GENERATION_TOKENS:
            return _total(reading, reading.generation_rate)
        case Metric.TOTAL_TOKENS:
            return _total(reading, reading.prompt_rate, reading.generation_rate)


def is_fair_part(reading: RoleReading) -> bool:
    """Whether the sums stand for the whole role: complete, or incomplete only because of the cap of 64 Pods."""
    asked = reading.read_share * reading.ready_replicas
    return reading.is_complete or (reading.read_share < 1 and reading.read_replicas >= asked)


def _total(reading: RoleReading, *parts: float | None) -> Fraction | None:
    total = Fraction(0)
    for part in parts:
        known = 0.0 if part is None and reading.state is SignalState.IDLE else part
        if known is None or not 0 <= known <= MOST_PLAUSIBLE:
            return None
        total += exact(known)
    return total / reading.read_share
