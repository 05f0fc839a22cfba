"""What the transactions allow the planner, and what they say on the `Blocked` condition."""

from collections.abc import Iterable

from scaler_core.api.reasons import Reason, RoleReason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.plan import Blocked, TargetLimits
from scaler_core.transactions import exhaustion, rebalance, retirement
from scaler_core.transactions.clock import elapsed
from scaler_core.transactions.cohort import grown_roles
from scaler_core.transactions.rebalance import RebalanceState
from scaler_core.transactions.replicas import Replicas, between


def target_limits(status: ScalerStatus, replicas: Replicas, now: float) -> TargetLimits:
    """What holds for the whole target: a pending cohort, a retirement, a cooldown."""
    activity = retirement.describe_activity(replicas, status.last_scale_down)
    cooling = _cooldown_left(status, now) > 0
    shrink = activity or ("the cooldown after an aborted retirement still runs" if cooling else "")
    pending = status.pending_cohort
    return TargetLimits(
        growth_blocked=_growth_blocked(status) or None,
        shrink_blocked=shrink or None,
        shrink_blocked_reason=RoleReason.RETIREMENT_ACTIVE
        if activity
        else RoleReason.ABORT_COOLDOWN
        if cooling
        else None,
        cohort_roles=frozenset()
        if pending is None
        else frozenset(grown_roles(pending.baseline_vector, pending.target_vector)),
    )


def waiting_roles(replicas: Replicas, status: ScalerStatus) -> dict[str, str]:
    """Roles with a replica below the count that holds no admission and is not our cohort's, each with why."""
    if replicas.all_admitted:
        return {}
    cohort = status.pending_cohort
    ours = set() if cohort is None else set(between(cohort.baseline_vector, cohort.target_vector))
    found: dict[str, str] = {}
    for role, count in replicas.target.vector.items():
        waiting = [n for n in range(count) if (role, n) not in ours and replicas.is_waiting((role, n))]
        if waiting:
            found[role] = f"{role} {waiting[0]} waits for admission (evicted, preempted or not admitted yet)"
    return found


def next_look(status: ScalerStatus, spec: ScalerSpec, now: float) -> float | None:
    """Seconds until the first stored wait ends; None when nothing waits."""
    return min((left for left in _waits(status, spec, now) if left > 0), default=None)


def judge_blocked(status: ScalerStatus, replicas: Replicas, spec: ScalerSpec, now: float) -> Blocked | None:
    """The transaction that holds the plan, the most pressing first."""
    last, record = status.last_scale_down, retirement.active_record(replicas.target)
    if _cooldown_left(status, now) > 0 and last is not None:
        message = f"the retirement of {last.role} {last.ordinal} was aborted and undone; nothing shrinks meanwhile"
        return Blocked(reason=Reason.SCALE_DOWN_ABORTED, message=message)
    if record is not None and record.state == "Aborted":
        message = f"the retirement of {record.role_name} {record.replica_ordinal} is aborted; nothing shrinks meanwhile"
        return Blocked(reason=Reason.SCALE_DOWN_ABORTED, message=message)
    if status.exhaustion is None:
        return None
    current = status.rebalance
    match rebalance.state_of(current):
        case RebalanceState.BLOCKED:
            return Blocked(reason=Reason.REBALANCE_BLOCKED, message=current.message if current is not None else "")
        case RebalanceState.NOT_APPLICABLE:
            return Blocked(
                reason=Reason.REBALANCE_NOT_APPLICABLE, message=current.message if current is not None else ""
            )
        case _:
            return Blocked(reason=Reason.RESOURCE_EXHAUSTED, message=exhaustion.describe(status.exhaustion, spec, now))


def _growth_blocked(status: ScalerStatus) -> str:
    cohort, current = status.pending_cohort, status.rebalance
    if cohort is not None:
        grown = grown_roles(cohort.baseline_vector, cohort.target_vector)
        return f"replicas added to {', '.join(grown)} wait for admission"
    if current is not None and rebalance.state_of(current) is RebalanceState.DONOR_RELEASE:
        return f"{current.donor_role} is releasing a replica for {current.receiver_role}"
    return ""


def _cooldown_left(status: ScalerStatus, now: float) -> float:
    last = status.last_scale_down
    return 0.0 if last is None or last.cooldown_until is None else max(0.0, last.cooldown_until - now)


def _waits(status: ScalerStatus, spec: ScalerSpec, now: float) -> Iterable[float]:
    if status.pending_cohort is not None:
        yield spec.sampling.pending_timeout_seconds - elapsed(status.pending_cohort.started_at, now)
    if status.exhaustion is not None:
        yield status.exhaustion.retry_at - now
    yield _cooldown_left(status, now)
