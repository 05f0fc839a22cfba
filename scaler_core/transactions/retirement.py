"""The replicas that one commit removed, until every one is gone (spec, Pacing and guards).

| State    | Event     | State    | Then                                                                               |
|----------|-----------|----------|------------------------------------------------------------------------------------|
| None     | Shrunk    | Running  | nothing shrinks while it runs                                                      |
| Running  | Retiring  | Running  | a record, a Pod or a Workload is left, or the target has not echoed the count      |
| Running  | Gone      | Finished | none of the four is left; a missing record alone says nothing                      |
| Running  | Aborted   | Running  | one write restores every removed replica                                           |
| Running  | Restored  | Aborted  | the restore landed, or nothing legal lies between: the cooldown starts             |
| Finished | Shrunk    | Running  |                                                                                    |
| Running  | Shrunk    | Running  | a rollback's removals, or a decision that was adopted                              |
| Aborted  | Shrunk    | Running  | after the cooldown                                                                 |
| any      | Dropped   | None     | suspended, released, counts changed by someone else                                |
| Running  | Cooling   | Aborted  | the same while the cooldown of an earlier abort runs, which survives               |
| Finished | Cooling   | Aborted  | the same                                                                           |
| Aborted  | Cooling   | Aborted  | the same                                                                           |

An aborted record is ours when it names a replica that our scale-down removed (`preScaleDownVector` minus the counts
now) and is not older than that commit. Records that are not ours, and those of a rollback's removals, stop shrinkage
for as long as they stand, and restore nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from scaler_core.api.deployment import ModelDeployment, Retirement
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import LastScaleDown, ScaleDownOutcome, Vector
from scaler_core.transactions.legality import component_roles, step_back
from scaler_core.transactions.machine import Machine
from scaler_core.transactions.replicas import Replica, Replicas, between


class RetirementState(StrEnum):
    """Where the last scale-down stands."""

    NONE = "None"
    RUNNING = "Running"
    FINISHED = "Finished"
    ABORTED = "Aborted"


class RetirementEvent(StrEnum):
    """What happens to it."""

    SHRUNK = "Shrunk"
    RETIRING = "Retiring"
    GONE = "Gone"
    ABORTED = "Aborted"
    RESTORED = "Restored"
    DROPPED = "Dropped"
    COOLING = "Cooling"


_S, _E = RetirementState, RetirementEvent
RETIREMENT: Final = Machine(
    name="retirement",
    start=_S.NONE,
    table={
        (_S.NONE, _E.SHRUNK): _S.RUNNING,
        (_S.RUNNING, _E.RETIRING): _S.RUNNING,
        (_S.RUNNING, _E.GONE): _S.FINISHED,
        (_S.RUNNING, _E.ABORTED): _S.RUNNING,
        (_S.RUNNING, _E.RESTORED): _S.ABORTED,
        (_S.FINISHED, _E.SHRUNK): _S.RUNNING,
        (_S.RUNNING, _E.SHRUNK): _S.RUNNING,
        (_S.ABORTED, _E.SHRUNK): _S.RUNNING,
        **{(state, _E.DROPPED): _S.NONE for state in _S},
        **{(state, _E.COOLING): _S.ABORTED for state in (_S.RUNNING, _S.FINISHED, _S.ABORTED)},
    },
)
_COMPLETED: Final = "Completed"
_ABORTED: Final = "Aborted"


def state_of(last: LastScaleDown | None) -> RetirementState:
    """The state that a status holds."""
    if last is None:
        return RetirementState.NONE
    if last.outcome is ScaleDownOutcome.ABORTED:
        return RetirementState.ABORTED
    return RetirementState.FINISHED if last.is_finished else RetirementState.RUNNING


_MEMBERS: Final[Mapping[RetirementState, Mapping[str, object]]] = {
    RetirementState.RUNNING: {},
    RetirementState.FINISHED: {"is_finished": True},
    RetirementState.ABORTED: {"is_finished": True, "outcome": ScaleDownOutcome.ABORTED},
}


def begin(old: LastScaleDown | None, new: LastScaleDown) -> LastScaleDown:
    """The scale-down to follow from now on."""
    RETIREMENT.after(state_of(old), RetirementEvent.SHRUNK)
    return new


def move(last: LastScaleDown, event: RetirementEvent) -> LastScaleDown:
    """The scale-down after an event that leaves one."""
    return last.model_copy(update=dict(_MEMBERS[RETIREMENT.after(state_of(last), event)]))


def drop(last: LastScaleDown | None, now: float) -> LastScaleDown | None:
    """What must survive of a scale-down when transactions end: a cooldown that still runs."""
    if last is not None and last.cooldown_until is not None and last.cooldown_until > now:
        return move(last, RetirementEvent.COOLING)
    RETIREMENT.after(state_of(last), RetirementEvent.DROPPED)
    return None


def removed_replicas(last: LastScaleDown, current: Vector) -> tuple[Replica, ...]:
    """What the scale-down removed and nothing brought back since."""
    return between(current, {role: last.pre_scale_down_vector.get(role, count) for role, count in current.items()})


def observe(last: LastScaleDown, replicas: Replicas) -> RetirementEvent:
    """What the target shows of a running scale-down."""
    target = replicas.target
    removed = removed_replicas(last, target.vector)
    record = active_record(target)
    is_ours = record is not None and _is_ours(record, last, removed)
    if record is not None and is_ours and record.state == _ABORTED and not last.is_rollback:
        return RetirementEvent.ABORTED
    touched = {role for role, _ in removed}
    is_echoed = all(_desired(target, role) == target.vector[role] for role in touched)
    if is_ours or not is_echoed or not all(replicas.is_gone(replica) for replica in removed):
        return RetirementEvent.RETIRING
    return RetirementEvent.GONE


def restore_vector(last: LastScaleDown, current: Vector, spec: ScalerSpec) -> dict[str, int]:
    """The counts that bring every removed replica back; roles that grew meanwhile keep their growth."""
    removed = {role for role, _ in removed_replicas(last, current)}
    wanted = {role: max(count, last.pre_scale_down_vector.get(role, count)) for role, count in current.items()}
    return step_back(wanted, current, component_roles(removed, current, spec), spec)


def active_record(target: ModelDeployment) -> Retirement | None:
    """The target's retirement record; every state but Completed is active, unknown ones and Aborted too."""
    record = target.status.retirement
    return None if record is None or record.state == _COMPLETED else record


def describe_activity(replicas: Replicas, last: LastScaleDown | None) -> str:
    """Why the target counts as retiring something, in words; empty when it is not."""
    target, record = replicas.target, active_record(replicas.target)
    if record is not None:
        why = f" ({record.reason})" if record.reason else ""
        state = record.state or "starting"
        return f"{record.role_name} {record.replica_ordinal} is being retired, state {state}{why}"
    vector = target.vector
    for role, ordinal in replicas.pods:
        if ordinal >= vector.get(role, ordinal + 1):
            return f"Pods of {role} {ordinal} still leave"
    if state_of(last) is RetirementState.RUNNING and last is not None:
        removed = removed_replicas(last, vector)
        left = [replica for replica in removed if not replicas.is_gone(replica)]
        return f"{left[0][0]} {left[0][1]} still leaves" if left else "the target has not echoed the last scale-down"
    return ""


def _is_ours(record: Retirement, last: LastScaleDown, removed: tuple[Replica, ...]) -> bool:
    if (record.role_name, record.replica_ordinal) not in removed:
        return False
    if record.observed_generation:
        return record.observed_generation >= last.target_generation
    if record.started_at is None or last.committed_at is None:
        return True
    return record.started_at >= last.committed_at - 1.0  # the record's time has whole seconds


def _desired(target: ModelDeployment, role: str) -> int | None:
    return next((status.desired for status in target.status.roles if status.name == role), None)
