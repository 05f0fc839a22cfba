"""Pods to replicas: which replicas are capacity, and which Pods answer for them.

A replica of several Pods is answered by its first member; under external data parallelism every member answers for
its own share. A replica whose answer cannot be named (members missing, two leaders, sizes that disagree) is neither
capacity nor read, and says so.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from scaler_core.api.deployment import ModelDeployment, Role
from scaler_core.api.pod import (
    COMPONENT_LABEL,
    INSTANCE_LABEL,
    NAME_LABEL,
    NAME_VALUE,
    ROUTER_LABEL,
    Pod,
)
from scaler_core.api.scaler import TARGET_KIND

MAX_PODS: Final = 64
"""Ready answering Pods that one sample reads of a role (spec, Limitations)."""
EXTERNAL: Final = "External"


class Layout(Enum):
    """Which Pods of a replica hold a metrics listener."""

    LEADER = "the first member speaks for all"
    MEMBERS = "every member speaks for itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica: its Pods that are not being deleted, by member and name."""

    ordinal: int
    pods: tuple[Pod, ...]
    is_ready: bool
    """All its members exist and are ready: it is capacity."""
    answering: tuple[Pod, ...]
    """Ready Pods that hold its metrics."""
    problem: str | None = None
    """Why its answer cannot be named, in words."""


def target_pods(target: ModelDeployment, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The target's own engine Pods: labels, controlling owner's UID, no router.

    A successor of the same name inherits the labels, so only the UID tells whose Pod it is.
    """
    return tuple(pod for pod in pods if _belongs(target, pod))


def by_role(pods: Iterable[Pod]) -> Mapping[str, Sequence[Pod]]:
    """Pods by the role that they serve."""
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        found[pod.role].append(pod)
    return found


def replicas_of(target: ModelDeployment, role: Role, pods: Iterable[Pod]) -> tuple[Replica, ...]:
    """The replicas of one role by ordinal, whatever the current count is.

    Args:
        target: the deployment; its status says whether the role runs external data parallelism.
        role: the role in the target's spec.
        pods: Pods of the target (see `target_pods`), of any role.

    Returns:
        One entry for each ordinal with a Pod that is not being deleted.
    """
    members: dict[int, list[Pod]] = defaultdict(list)
    for pod in pods:
        ordinal = pod.ordinal
        if ordinal is not None and pod.role == role.name and not pod.metadata.is_terminating:
            members[ordinal].append(pod)
    layout = _layout(target, role)
    return tuple(_replica(ordinal, members[ordinal], role.size, layout) for ordinal in sorted(members))


def ready_replicas(role: Role, replicas: Iterable[Replica]) -> int:
    """Capacity: ready replicas with an ordinal below the current count."""
    return sum(replica.is_ready and replica.ordinal < role.replicas for replica in replicas)


def answering_pods(replicas: Sequence[Replica]) -> tuple[Pod, ...]:
    """Ready answering Pods of a role by ordinal, member and name; the first `MAX_PODS` are the ones to read."""
    return tuple(pod for replica in replicas for pod in replica.answering)


def _belongs(target: ModelDeployment, pod: Pod) -> bool:
    labels = pod.metadata.labels
    return (
        labels.get(NAME_LABEL) == NAME_VALUE
        and labels.get(INSTANCE_LABEL) == target.metadata.name
        and COMPONENT_LABEL in labels
        and ROUTER_LABEL not in labels
        and pod.metadata.namespace == target.metadata.namespace
        and any(
            owner.controller and owner.kind == TARGET_KIND and owner.uid == target.metadata.uid
            for owner in pod.metadata.owner_references
        )
    )


def _layout(target: ModelDeployment, role: Role) -> Layout:
    status = next((status for status in target.status.roles if status.name == role.name), None)
    external = status is not None and status.parallelism is not None and status.parallelism.load_balance == EXTERNAL
    return Layout.MEMBERS if external else Layout.LEADER


def _replica(ordinal: int, pods: list[Pod], role_size: int, layout: Layout) -> Replica:
    ordered = tuple(pods if len(pods) == 1 else sorted(pods, key=lambda pod: (pod.member, pod.metadata.name)))
    problem = _problem(ordered, role_size)
    if problem is not None:
        return Replica(
            ordinal=ordinal, pods=ordered, is_ready=False, answering=(), problem=f"replica {ordinal}: {problem}"
        )
    ready = tuple([pod for pod in ordered if pod.is_ready])
    answering = ready if layout is Layout.MEMBERS else tuple([pod for pod in ready if pod is ordered[0]])
    return Replica(ordinal=ordinal, pods=ordered, is_ready=len(ready) == len(ordered), answering=answering)


def _problem(pods: Sequence[Pod], role_size: int) -> str | None:
    """Why no Pod can speak for this replica; a size in the Pods' own template wins over an edited role."""
    if len(pods) == 1 and pods[0].member == 0 and (pods[0].group_size or role_size) == 1:
        return None  # nearly all replicas; the rest of this is the bulk of a pass otherwise
    sizes = {pod.group_size for pod in pods} - {None}
    if len(sizes) > 1:
        return f"its members disagree on their number ({', '.join(str(size) for size in sorted(sizes, key=str))})"
    size = next(iter(sizes), None) or role_size
    indexes = [pod.member for pod in pods]
    if len(set(indexes)) < len(indexes):
        return f"two Pods claim the same member ({', '.join(pod.metadata.name for pod in pods)})"
    if 0 not in indexes:
        return "it has no leader"
    if len(pods) < size:
        return f"{len(pods)} of its {size} Pods exist"
    return None
