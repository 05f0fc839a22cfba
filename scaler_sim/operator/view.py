"""One target and everything that belongs to it, as one listing showed it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scaler_core.api.deployment import ModelDeployment, Role
from scaler_core.api.pod import COMPONENT_LABEL, INSTANCE_LABEL, ORDINAL_LABEL, Pod
from scaler_core.api.workload import Workload
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.operator.record import RetirementRecord

SPEC_HASH: Final = "modeldeployment.gpustack.ai/pod-spec-hash"
ELIGIBLE_LABEL: Final = "modeldeployment.gpustack.ai/endpoint-eligible"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaView:
    """What exists of one replica."""

    key: ReplicaKey
    pods: tuple[Pod, ...] = ()
    workload: Workload | None = None

    @property
    def live(self) -> tuple[Pod, ...]:
        """Pods that are not being deleted."""
        return tuple(pod for pod in self.pods if not pod.metadata.is_terminating)

    @property
    def is_terminating(self) -> bool:
        """Whether a Pod of it is being deleted."""
        return len(self.live) < len(self.pods)

    @property
    def is_admitted(self) -> bool:
        """Whether its Workload is admitted."""
        return self.workload is not None and self.workload.is_admitted

    @property
    def is_eligible(self) -> bool:
        """Whether it may have traffic."""
        return any(pod.metadata.labels.get(ELIGIBLE_LABEL) == "true" for pod in self.live)

    def is_complete(self, size: int) -> bool:
        """Whether every member exists."""
        return len({pod.member for pod in self.live}) == size

    def is_ready(self, size: int) -> bool:
        """Whether every member exists and is Ready."""
        return self.is_complete(size) and all(pod.is_ready for pod in self.live)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """One target at a moment."""

    target: ModelDeployment
    retirement: RetirementRecord | None
    templates: Mapping[str, str]
    """Fingerprint of each role's Pod template."""
    images: Mapping[str, str]
    """Image of each role that names one."""
    replicas: Mapping[ReplicaKey, ReplicaView]

    def replica(self, key: ReplicaKey) -> ReplicaView:
        """What exists of a replica, possibly nothing."""
        return self.replicas.get(key, ReplicaView(key=key))

    def declared(self, role: Role) -> list[ReplicaView]:
        """The replicas that the spec asks for."""
        return [self.replica(ReplicaKey(role.name, ordinal)) for ordinal in range(role.replicas)]

    def surplus(self, role: Role) -> list[ReplicaView]:
        """Replicas beyond the spec, highest ordinal first."""
        found = [r for key, r in self.replicas.items() if key.role == role.name and key.ordinal >= role.replicas]
        return sorted(found, key=lambda replica: replica.key.ordinal, reverse=True)


def target_view(document: dict[str, Any], pods: Iterable[Pod], workloads: Iterable[Workload]) -> TargetView:
    """Sort a listing into one target's replicas.

    Args:
        document: the target as the API server gave it.
        pods: of its namespace.
        workloads: of its namespace.
    """
    target = ModelDeployment.from_wire(document)
    roles = document["spec"]["roles"]
    record = (document.get("status") or {}).get("retirement")
    return TargetView(
        target=target,
        retirement=RetirementRecord.from_wire(record) if record else None,
        templates={role["name"]: _fingerprint(role, document["spec"]) for role in roles},
        images={role["name"]: role["image"] for role in roles if role.get("image")},
        replicas=_replicas(target, pods, workloads),
    )


def _fingerprint(role: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """A change of anything but the count replaces Pods."""
    template = {name: value for name, value in role.items() if name != "replicas"}
    shared = {name: value for name, value in spec.items() if name not in {"roles", "router"}}
    return hashlib.sha256(json.dumps([template, shared], sort_keys=True).encode()).hexdigest()[:16]


def _replicas(
    target: ModelDeployment, pods: Iterable[Pod], workloads: Iterable[Workload]
) -> dict[ReplicaKey, ReplicaView]:
    members: dict[ReplicaKey, list[Pod]] = defaultdict(list)
    for pod in pods:
        owned = any(owner.uid == target.metadata.uid for owner in pod.metadata.owner_references)
        if owned and pod.ordinal is not None:
            members[ReplicaKey(pod.role, pod.ordinal)].append(pod)
    admissions = {
        ReplicaKey(w.metadata.labels.get(COMPONENT_LABEL, ""), int(w.metadata.labels.get(ORDINAL_LABEL, "0"))): w
        for w in workloads
        if w.metadata.labels.get(INSTANCE_LABEL) == target.metadata.name
    }
    return {
        key: ReplicaView(
            key=key,
            pods=tuple(sorted(members.get(key, ()), key=lambda pod: pod.member)),
            workload=admissions.get(key),
        )
        for key in sorted({*members, *admissions})
    }
