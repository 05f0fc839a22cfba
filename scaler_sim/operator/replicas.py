"""Ordinals and their Pods: refilling, warm-up, rolling replacement."""

from collections.abc import Iterator

from scaler_core.api.deployment import Role
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.operator.actions import Action, CreatePods, CreateWorkload, DeletePods, MarkReady, OwnWorkload, Qualify
from scaler_sim.operator.record import RetirementState
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.operator.view import SPEC_HASH, ReplicaView, TargetView


def steps(view: TargetView, settings: OperatorSettings, now: float) -> Iterator[Action]:
    """What the declared replicas need; lowest ordinals first.

    Args:
        view: the target.
        settings: warm-up times.
        now: Unix seconds of the clock.
    """
    for role in view.target.spec.roles:
        for replica in view.declared(role):
            if not _is_leaving(view, replica.key):
                yield from _complete(role, replica)
                yield from _load(replica, role, settings, now)
        yield from _replace(view, role)


def _is_leaving(view: TargetView, key: ReplicaKey) -> bool:
    """Whether the replica's retirement is past the point of no return; its ordinal is refilled afterwards."""
    record = view.retirement
    irrevocable = {RetirementState.DELETING, RetirementState.SETTLING}
    return record is not None and record.key == key and record.state in irrevocable


def _complete(role: Role, replica: ReplicaView) -> Iterator[Action]:
    if replica.is_terminating:
        return  # a Pod of an ordinal is created only once none of it is left
    present = {pod.member for pod in replica.live}
    missing = tuple(member for member in range(role.size) if member not in present)
    if missing:
        yield CreatePods(key=replica.key, members=missing)
    elif replica.workload is None:
        yield CreateWorkload(key=replica.key)
    elif {owner.uid for owner in replica.workload.metadata.owner_references} != {
        pod.metadata.uid for pod in replica.live
    }:
        yield OwnWorkload(key=replica.key)


def _load(replica: ReplicaView, role: Role, settings: OperatorSettings, now: float) -> Iterator[Action]:
    if not replica.is_complete(role.size) or not replica.is_admitted:
        return
    if replica.is_ready(role.size):
        if not replica.is_eligible:
            yield Qualify(key=replica.key)
    elif now >= _started_at(replica) + settings.warm_up(role.name):
        yield MarkReady(key=replica.key)


def _started_at(replica: ReplicaView) -> float:
    """When loading began: every member exists and the Workload is admitted."""
    times = [pod.status.start_time or 0.0 for pod in replica.live]
    if replica.workload is not None:
        times += [c.last_transition_time or 0.0 for c in replica.workload.status.conditions if c.type == "Admitted"]
    return max(times, default=0.0)


def _replace(view: TargetView, role: Role) -> Iterator[Action]:
    """A changed template replaces replicas one at a time; there is no retirement record of it."""
    replicas = view.declared(role)
    stale = [replica for replica in replicas if is_stale(view, replica)]
    if not stale:
        return
    others = [replica for replica in replicas if replica.key != stale[0].key]
    if all(replica.is_ready(role.size) for replica in others if replica.is_admitted):
        yield DeletePods(key=stale[0].key)


def is_stale(view: TargetView, replica: ReplicaView) -> bool:
    """Whether a Pod of the replica was made from another template than the role's."""
    wanted = view.templates.get(replica.key.role)
    return any(pod.metadata.annotations.get(SPEC_HASH) != wanted for pod in replica.live)
