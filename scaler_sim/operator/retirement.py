"""How a surplus replica leaves: a record that walks through its states, one at a time for a target."""

from collections.abc import Iterator
from dataclasses import dataclass

from scaler_sim.operator.actions import Action, DeletePods, DeleteWorkload, Disqualify
from scaler_sim.operator.record import BEFORE_DELETING, RetirementRecord, RetirementState
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.operator.view import ReplicaView, TargetView

GONE = "a member was terminated by something else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The record after a pass, and whether an abort that was asked for was carried out."""

    record: RetirementRecord | None
    aborted: bool = False


def advance(view: TargetView, settings: OperatorSettings, now: float, abort_reason: str | None = None) -> Progress:
    """The next state of the target's retirement.

    Args:
        view: the target.
        settings: handoff times.
        now: Unix seconds of the clock.
        abort_reason: why the running retirement shall be aborted; None to let it go on.
    """
    record = view.retirement
    if record is None:
        return Progress(record=_begin(view, settings, now))
    if _is_declared(view, record):
        if record.state in BEFORE_DELETING or record.state is RetirementState.ABORTED:
            return Progress(record=None)  # adoption: the ordinal is wanted again
    elif record.state in BEFORE_DELETING:
        replica = view.replica(record.key)
        if {pod.metadata.uid for pod in replica.live} != set(record.target_member_uids):
            return Progress(record=_enter(record, RetirementState.ABORTED, now, GONE))
        if abort_reason is not None and record.state is not RetirementState.ADMITTED:
            return Progress(record=_enter(record, RetirementState.ABORTED, now, abort_reason), aborted=True)
    return Progress(record=_next(view, record, settings, now))


def steps(view: TargetView) -> Iterator[Action]:
    """What the record's state asks to be done."""
    record = view.retirement
    if record is None:
        return
    replica = view.replica(record.key)
    in_handoff = record.state in BEFORE_DELETING - {RetirementState.ADMITTED}
    if in_handoff and not _is_declared(view, record) and replica.is_eligible:
        yield Disqualify(key=record.key)
    if record.state is RetirementState.DELETING:
        if replica.live:
            yield DeletePods(key=record.key)
        if replica.workload is not None and not replica.workload.metadata.is_terminating:
            yield DeleteWorkload(key=record.key)


def _is_declared(view: TargetView, record: RetirementRecord) -> bool:
    role = view.target.role(record.role_name)
    return role is not None and record.replica_ordinal < role.replicas


def _begin(view: TargetView, settings: OperatorSettings, now: float) -> RetirementRecord | None:
    leaving = next((replica for role in view.target.spec.roles for replica in view.surplus(role)), None)
    if leaving is None:
        return None
    return RetirementRecord(
        role_name=leaving.key.role,
        replica_ordinal=leaving.key.ordinal,
        observed_generation=view.target.metadata.generation,
        target_member_uids=tuple(pod.metadata.uid for pod in leaving.live),
        target_workload_uid="" if leaving.workload is None else leaving.workload.metadata.uid,
        state=RetirementState.ADMITTED,
        started_at=now,
        phase_started_at=now,
        deadline=now + settings.retirement_budget_seconds,
    )


def _enter(record: RetirementRecord, state: RetirementState, now: float, reason: str = "") -> RetirementRecord:
    return record.model_copy(update={"state": state, "phase_started_at": now, "reason": reason})


def _next(
    view: TargetView, record: RetirementRecord, settings: OperatorSettings, now: float
) -> RetirementRecord | None:
    replica, age = view.replica(record.key), now - record.started_at
    if record.state is RetirementState.SETTLING:
        return None if now >= record.phase_started_at + settings.settle_seconds else record
    match record.state:
        case RetirementState.ADMITTED:
            following = RetirementState.DISQUALIFIED if _serves(replica) else RetirementState.DELETING
        case RetirementState.DISQUALIFIED:
            following = RetirementState.WITHDRAWING
        case RetirementState.WITHDRAWING if age >= settings.withdraw_seconds:
            following = RetirementState.DRAINING
        case RetirementState.DRAINING if age >= settings.delete_seconds:
            following = RetirementState.DELETING
        case RetirementState.DELETING if not replica.pods and replica.workload is None:
            following = RetirementState.SETTLING
        case _:
            return record
    return _enter(record, following, now)


def _serves(replica: ReplicaView) -> bool:
    """Whether there is traffic to hand off; what was never Ready is deleted at once."""
    return bool(replica.live) and all(pod.is_ready for pod in replica.live)
