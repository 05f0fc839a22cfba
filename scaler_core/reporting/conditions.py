"""Findings of a pass to conditions: the transition time moves only when a status does (spec, Conditions)."""

from collections.abc import Iterable, Sequence

from scaler_core.api.meta import Condition
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.finding import Finding, fails, holds, unsure
from scaler_core.model.plan import Blocked
from scaler_core.model.reading import RoleReading

NOT_BLOCKED = "only bounds, windows and ratios limit the recommendation"
MAX_MESSAGE = 1024  # kubectl describe stays readable, and a status stays small


def update_conditions(
    old: Sequence[Condition], findings: Iterable[Finding], generation: int, now: float
) -> tuple[Condition, ...]:
    """All conditions in the order of `ConditionType`; those without a finding stay as they are."""
    known = {condition.type: condition for condition in old}
    for finding in findings:
        known[finding.type] = _update(known.get(finding.type), finding, generation, now)
    return tuple(known[type_] for type_ in ConditionType if type_ in known)


def judge_metrics(readings: Sequence[RoleReading], blocked: Blocked | None) -> Finding:
    """The `MetricsReady` condition of a pass that got as far as reading signals, or was stopped before."""
    if blocked is not None and blocked.stops_planning:
        return fails(ConditionType.METRICS_READY, blocked.reason, f"not judged: {blocked.message}")
    if not readings:
        return fails(ConditionType.METRICS_READY, Reason.WAITING_FOR_METRICS, "no sample yet")
    problems = [
        f"{reading.role}: {_problem(reading)}"
        for reading in readings
        if reading.state in {SignalState.MISSING, SignalState.STALE} or not reading.is_complete
    ]
    if problems:
        return fails(ConditionType.METRICS_READY, Reason.WAITING_FOR_METRICS, "; ".join(problems))
    return holds(ConditionType.METRICS_READY, Reason.OBSERVED, "all required role signals are available")


def judge_blocked(*candidates: Blocked | None) -> Finding:
    """The `Blocked` condition: the first of the candidates that is there."""
    for blocked in candidates:
        if blocked is not None:
            return holds(ConditionType.BLOCKED, blocked.reason, blocked.message)
    return fails(ConditionType.BLOCKED, Reason.READY, NOT_BLOCKED)


def not_planned(why: str) -> tuple[Finding, Finding]:
    """The two planning conditions while nothing is planned at all, so that no older verdict lingers."""
    return (
        unsure(ConditionType.METRICS_READY, Reason.WAITING_FOR_METRICS, f"not sampled: {why}"),
        fails(ConditionType.BLOCKED, Reason.READY, f"nothing is planned: {why}"),
    )


def _problem(reading: RoleReading) -> str:
    return ", ".join(reading.problems) or f"signals are {reading.state}"


def _update(old: Condition | None, finding: Finding, generation: int, now: float) -> Condition:
    steady = old is not None and old.status is finding.status
    return Condition(
        type=finding.type,
        status=finding.status,
        reason=finding.reason,
        message=finding.message[:MAX_MESSAGE],
        observed_generation=generation,
        last_transition_time=old.last_transition_time if old is not None and steady else now,
    )
