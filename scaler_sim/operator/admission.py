"""Quota and joint admission of replicas, in Kueue's words."""

from collections.abc import Iterator, MutableMapping

from scaler_core.api.meta import ConditionStatus
from scaler_core.api.workload import Workload
from scaler_sim.operator.actions import Action, JudgeWorkload, Verdict
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.operator.view import ReplicaView, TargetView

RESERVED = "QuotaReserved"
ADMITTED = "Admitted"
EVICTED = "Evicted"


def holds_quota(workload: Workload | None) -> bool:
    """Whether a Workload takes quota."""
    return workload is not None and workload.has(RESERVED) and workload.spec.active is not False


def used(views: list[TargetView]) -> dict[str, int]:
    """Pods with reserved quota, by instance type."""
    total: dict[str, int] = {}
    for view in views:
        for role in view.target.spec.roles:
            holding = sum(holds_quota(r.workload) for key, r in view.replicas.items() if key.role == role.name)
            total[role.instance_type] = total.get(role.instance_type, 0) + holding * role.size
    return total


def steps(view: TargetView, settings: OperatorSettings, left: MutableMapping[str, int], now: float) -> Iterator[Action]:
    """Verdicts on the target's Workloads.

    Args:
        view: the target.
        settings: admission delay.
        left: Pods that each limited instance type has room for; what is reserved here is taken off.
        now: Unix seconds of the clock.
    """
    yield from _reserve(view, left)
    yield from _admit(view, settings, now)


def _reserve(view: TargetView, left: MutableMapping[str, int]) -> Iterator[Action]:
    for role in view.target.spec.roles:
        for replica in view.declared(role):
            workload = replica.workload
            if workload is None or holds_quota(workload) or workload.spec.active is False:
                continue
            if left.get(role.instance_type, role.size) >= role.size:
                if role.instance_type in left:
                    left[role.instance_type] -= role.size
                yield JudgeWorkload(key=replica.key, verdicts=_reserved(workload))
            elif not workload.status.conditions:
                yield JudgeWorkload(key=replica.key, verdicts=(_pending(role.instance_type),))


def _reserved(workload: Workload) -> tuple[Verdict, ...]:
    reserved = Verdict(type=RESERVED, status=ConditionStatus.TRUE, reason=RESERVED, message="quota is reserved")
    if not workload.has(EVICTED):
        return (reserved,)
    return (reserved, Verdict(type=EVICTED, status=ConditionStatus.FALSE, reason=RESERVED, message="queued anew"))


def _pending(instance_type: str) -> Verdict:
    message = f"couldn't assign flavors to pod set: insufficient unused quota for {instance_type}"
    return Verdict(type=RESERVED, status=ConditionStatus.FALSE, reason="Pending", message=message)


def _admit(view: TargetView, settings: OperatorSettings, now: float) -> Iterator[Action]:
    """A newly forming set of several roles is admitted together, once all of it holds quota."""
    roles = view.target.spec.roles
    forming = [replica for role in roles for replica in view.declared(role) if not replica.is_admitted]
    jointly = len(roles) > 1
    if jointly and not all(holds_quota(replica.workload) for replica in forming):
        return
    for replica in forming:
        if _is_due(replica, settings, now):
            verdict = Verdict(type=ADMITTED, status=ConditionStatus.TRUE, reason=ADMITTED, message="admitted")
            yield JudgeWorkload(key=replica.key, verdicts=(verdict,))


def _is_due(replica: ReplicaView, settings: OperatorSettings, now: float) -> bool:
    workload = replica.workload
    if workload is None or not holds_quota(workload) or workload.has(EVICTED):
        return False
    since = next(c.last_transition_time for c in workload.status.conditions if c.type == RESERVED) or 0.0
    return now >= since + settings.admission_seconds


def eviction(replica: ReplicaView, reason: str) -> JudgeWorkload:
    """Take the quota of a replica away; its Workload stays, its Pods go."""
    message = f"the workload was evicted: {reason}"
    verdicts = (
        Verdict(type=EVICTED, status=ConditionStatus.TRUE, reason=reason, message=message),
        Verdict(type=RESERVED, status=ConditionStatus.FALSE, reason="Pending", message=message),
        Verdict(type=ADMITTED, status=ConditionStatus.FALSE, reason="NoReservation", message=message),
    )
    return JudgeWorkload(key=replica.key, verdicts=verdicts)
