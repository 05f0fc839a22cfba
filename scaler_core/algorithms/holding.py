"""Recommendations that keep the current count because nothing can be concluded."""

from scaler_core.algorithms.wording import replicas
from scaler_core.api.reasons import RoleReason
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation


def no_ready_replica(current: int) -> Recommendation:
    """Nothing is ready, so nothing measures the load: hold."""
    return Recommendation(
        replicas=current,
        reason=RoleReason.NO_READY_REPLICAS,
        message=f"no replica is ready, so no capacity can be compared with the load: holding {replicas(current)}",
        holds_scale_down=True,
    )


def waiting(current: int, why: str) -> Recommendation:
    """The needed signal is unknown: neither growth nor shrinkage."""
    return Recommendation(
        replicas=current,
        reason=RoleReason.WAITING_FOR_METRICS,
        message=f"{why}: holding {replicas(current)}",
        holds_scale_down=True,
        holds_growth=True,
    )


def stale(reading: RoleReading, current: int) -> Recommendation:
    """Every reading is older than two intervals."""
    return waiting(current, _with_problem("every reading is older than two sampling intervals", reading))


def missing(reading: RoleReading, current: int, signal: str) -> Recommendation:
    """A needed signal is not there."""
    return waiting(current, _with_problem(f"{signal} is not measured yet", reading))


def _with_problem(why: str, reading: RoleReading) -> str:
    return f"{why} ({reading.problems[0]})" if reading.problems else why
