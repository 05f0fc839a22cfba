"""Single replicas of the target: whether one was admitted, and whether one is gone.

With the Workload API a replica is admitted by its own Workload, found by the name that role and ordinal give. The name
is the same for every replica that ever had this ordinal, so a Workload that was there before the commit does not
count: its UID was remembered. Without the API the Pods tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.api.scaler_status import Vector
from scaler_core.api.workload import Workload, workload_name
from scaler_core.model.world import World

Replica = tuple[str, int]
"""Role and ordinal."""
_NAMES: Final = 65_536  # names of a few full-sized targets; each costs some 10 microseconds to hash
_name_of = lru_cache(maxsize=_NAMES)(workload_name)


def between(low: Vector, high: Vector) -> tuple[Replica, ...]:
    """The replicas that `high` has and `low` has not, in role order, the highest ordinal of a role last."""
    return tuple((role, ordinal) for role in high for ordinal in range(low.get(role, high[role]), high[role]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """The target's Pods and Workloads by replica."""

    target: ModelDeployment
    pods: Mapping[Replica, Sequence[Pod]]
    workloads: Mapping[str, Workload] | None
    """By name; None where the cluster serves no Workload API."""

    def workload(self, replica: Replica) -> Workload | None:
        """The Workload of a replica, whichever replica of that ordinal it was made for."""
        return None if self.workloads is None else self.workloads.get(self._name(replica))

    def is_admitted(self, replica: Replica, stale: Mapping[str, str]) -> bool:
        """Whether the replica has its own admission; `stale` has the UIDs, by name, of Workloads that were before."""
        if self.workloads is None:
            return self._is_scheduled(replica)
        workload = self.workload(replica)
        if workload is None or stale.get(workload.metadata.name) == workload.metadata.uid:
            return False
        return workload.is_admitted

    def was_kept(self, replica: Replica) -> bool:
        """Whether an earlier replica of this ordinal serves on: the target took back its retirement.

        Only meaningful when caches had time to show a deletion, so it is asked when the wait for admission expires.
        """
        workload = self.workload(replica)
        retirement = self.target.status.retirement
        is_retiring = retirement is not None and (retirement.role_name, retirement.replica_ordinal) == replica
        pods = self.pods.get(replica, ())
        return (
            workload is not None
            and workload.is_admitted
            and not is_retiring
            and self._is_whole(replica)
            and all(pod.is_ready for pod in pods)
        )

    def is_waiting(self, replica: Replica) -> bool:
        """Whether there is something of this replica that holds no admission (a missing Workload is not there yet)."""
        if self.workloads is not None:
            workload = self.workload(replica)
            return workload is not None and not workload.is_admitted
        return any(pod.spec.scheduling_gates for pod in self.pods.get(replica, ()) if not pod.metadata.is_terminating)

    @property
    def all_admitted(self) -> bool:
        """Whether nothing waits anywhere, told without a look at single replicas: their names cost much to compute."""
        if self.workloads is not None:
            return all(workload.is_admitted for workload in self.workloads.values())
        return not any(pod.spec.scheduling_gates for pods in self.pods.values() for pod in pods)

    def is_gone(self, replica: Replica) -> bool:
        """Whether neither a Pod nor a Workload of this replica is left."""
        return not self.pods.get(replica) and self.workload(replica) is None

    def admitted_at(self, replica: Replica) -> float | None:
        """When the replica was admitted by its Workload, or its last Pod was scheduled; None while it waits."""
        if self.workloads is not None:
            workload = self.workload(replica)
            if workload is None or not workload.is_admitted:
                return None
            return next((c.last_transition_time for c in workload.status.conditions if c.type == "Admitted"), None)
        scheduled = [
            condition.last_transition_time
            for pod in self.pods.get(replica, ())
            for condition in pod.status.conditions
            if condition.type == "PodScheduled" and condition.status == "True"
        ]
        return max((moment for moment in scheduled if moment is not None), default=None)

    def engine_restarts(self, replica: Replica) -> int:
        """Restarts of the replica's engines since its Pods exist."""
        engines = (pod.engine for pod in self.pods.get(replica, ()))
        return sum(engine.restart_count for engine in engines if engine is not None)

    def uids(self, replicas: Iterable[Replica]) -> dict[str, str]:
        """UIDs of the Workloads that exist for these replicas, by name."""
        found = (self.workload(replica) for replica in replicas)
        return {workload.metadata.name: workload.metadata.uid for workload in found if workload is not None}

    def _name(self, replica: Replica) -> str:
        return _name_of(self.target.metadata.namespace, self.target.metadata.name, *replica)

    def _is_whole(self, replica: Replica) -> bool:
        role = self.target.role(replica[0])
        members = {pod.member for pod in self.pods.get(replica, ()) if not pod.metadata.is_terminating}
        return role is not None and len(members) >= role.size

    def _is_scheduled(self, replica: Replica) -> bool:
        pods = [pod for pod in self.pods.get(replica, ()) if not pod.metadata.is_terminating]
        return self._is_whole(replica) and all(pod.spec.node_name and not pod.spec.scheduling_gates for pod in pods)


def replicas_of(world: World, target: ModelDeployment) -> Replicas:
    """Sort the world's Pods and Workloads by replica."""
    pods: dict[Replica, list[Pod]] = {}
    for pod in world.pods:
        ordinal = pod.ordinal
        if ordinal is not None:
            pods.setdefault((pod.role, ordinal), []).append(pod)
    workloads = None if world.workloads is None else {w.metadata.name: w for w in world.workloads}
    return Replicas(target=target, pods=pods, workloads=workloads)
