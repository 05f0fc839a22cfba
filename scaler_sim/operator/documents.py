"""Typed facts -> the documents that the API server stores."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from scaler_core.api.base import format_time
from scaler_core.api.deployment import ModelDeployment, Role
from scaler_core.api.pod import (
    COMPONENT_LABEL,
    ENGINE_CONTAINER,
    INSTANCE_LABEL,
    MEMBER_LABEL,
    NAME_LABEL,
    NAME_VALUE,
    ORDINAL_LABEL,
    SCRAPE_PATH,
    SCRAPE_PORT,
    SCRAPE_SCHEME,
    Pod,
)
from scaler_core.api.workload import Workload, workload_name
from scaler_kube.resources import Resource
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.engines.host import Placement
from scaler_sim.operator.actions import Verdict
from scaler_sim.operator.view import SPEC_HASH, ReplicaView, TargetView

KIND_LABEL: Final = "modeldeployment.gpustack.ai/role-kind"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
GROUP_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
GROUP_TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
GROUP_ROLE: Final = "kueue.x-k8s.io/role-hash"
GROUP_SERVING: Final = "kueue.x-k8s.io/pod-group-serving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One Pod of a replica to be made."""

    key: ReplicaKey
    index: int
    placement: Placement | None
    """Of the member that answers; the others have none."""


def pod(view: TargetView, role: Role, member: Member, default_image: str) -> dict[str, Any]:
    """A Pod without its status."""
    metadata = view.target.metadata
    port = None if member.placement is None else member.placement.port
    container: dict[str, Any] = {"name": ENGINE_CONTAINER, "image": view.images.get(role.name, default_image)}
    if port is not None:
        container["ports"] = [{"name": "serving", "containerPort": port, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **_pod_name(metadata.name, role, member),
            "namespace": metadata.namespace,
            "labels": _pod_labels(view.target, role, member),
            "annotations": _pod_annotations(role, port) | {SPEC_HASH: view.templates[role.name]},
            "ownerReferences": [_owner(view.target)],
        },
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }


def _pod_name(target: str, role: Role, member: Member) -> dict[str, str]:
    if role.size == 1:
        return {"generateName": f"{target}-{role.name}-"}
    return {"name": f"{target}-{role.name}-r{member.key.ordinal}-m{member.index}"}


def _pod_labels(target: ModelDeployment, role: Role, member: Member) -> dict[str, str]:
    metadata = target.metadata
    return {
        NAME_LABEL: NAME_VALUE,
        INSTANCE_LABEL: metadata.name,
        COMPONENT_LABEL: role.name,
        "app.kubernetes.io/part-of": "gpustack-operator-worker",
        KIND_LABEL: role.kind.value.lower(),
        ORDINAL_LABEL: str(member.key.ordinal),
        MEMBER_LABEL: str(member.index),
        QUEUE_LABEL: role.instance_type,
        GROUP_LABEL: workload_name(metadata.namespace, metadata.name, role.name, member.key.ordinal),
    }


def _pod_annotations(role: Role, port: int | None) -> dict[str, str]:
    group = {GROUP_TOTAL: str(role.size), GROUP_ROLE: role.name, GROUP_SERVING: "true"}
    if port is None or role.command:  # a role with a command of its own is none of the operator's to scrape
        return group
    scrape = {"prometheus.io/scrape": "true", SCRAPE_PATH: "/metrics", SCRAPE_PORT: str(port), SCRAPE_SCHEME: "http"}
    return group | scrape


def _owner(target: ModelDeployment) -> dict[str, Any]:
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "name": target.metadata.name,
        "uid": target.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def starting_status(placement: Placement | None, now: float) -> dict[str, Any]:
    """The status of a Pod whose model is loading."""
    return {
        "phase": "Running",
        "startTime": format_time(now),
        "conditions": _pod_conditions("False", now),
        **_process(placement),
    }


def ready_status(now: float) -> dict[str, Any]:
    """The part of a Pod's status that changes when the model is loaded."""
    return {"conditions": _pod_conditions("True", now)}


def restarted_status(placement: Placement) -> dict[str, Any]:
    """The part of a Pod's status that changes when its engine restarted."""
    return _process(placement)


def _process(placement: Placement | None) -> dict[str, Any]:
    if placement is None:
        return {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    container = {
        "name": ENGINE_CONTAINER,
        "containerID": placement.container_id,
        "restartCount": placement.restart_count,
        "ready": True,
        "image": "",
        "imageID": "",
    }
    return {
        "podIP": placement.address,
        "podIPs": [{"ip": placement.address}],
        "containerStatuses": [container],
    }


def _pod_conditions(ready: str, now: float) -> list[dict[str, str]]:
    moment = format_time(int(now))
    states = {"PodScheduled": "True", "Initialized": "True", "ContainersReady": ready, "Ready": ready}
    return [{"type": name, "status": state, "lastTransitionTime": moment} for name, state in states.items()]


def workload(view: TargetView, role: Role, replica: ReplicaView, resource: Resource) -> dict[str, Any]:
    """The Workload of a replica, not judged yet."""
    metadata = view.target.metadata
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": workload_name(metadata.namespace, metadata.name, role.name, replica.key.ordinal),
            "namespace": metadata.namespace,
            "labels": {
                INSTANCE_LABEL: metadata.name,
                COMPONENT_LABEL: role.name,
                ORDINAL_LABEL: str(replica.key.ordinal),
            },
            "ownerReferences": pod_owners(replica.live),
        },
        "spec": {
            "queueName": role.instance_type,
            "active": True,
            "podSets": [{"name": role.name, "count": role.size, "template": {"spec": {"containers": []}}}],
        },
    }


def pod_owners(pods: Iterable[Pod]) -> list[dict[str, Any]]:
    """Owner references of a Workload: plain ones to every member."""
    return [{"apiVersion": "v1", "kind": "Pod", "name": p.metadata.name, "uid": p.metadata.uid} for p in pods]


def judged(stored: Workload, verdicts: Iterable[Verdict], now: float) -> list[dict[str, Any]]:
    """A Workload's conditions after some verdicts; a transition time moves only with the status."""
    conditions = {condition.type: condition.to_wire() for condition in stored.status.conditions}
    for verdict in verdicts:
        before = conditions.get(verdict.type, {})
        moved = before.get("status") != verdict.status.value
        conditions[verdict.type] = {
            "type": verdict.type,
            "status": verdict.status.value,
            "reason": verdict.reason,
            "message": verdict.message,
            "lastTransitionTime": format_time(now) if moved else before["lastTransitionTime"],
            "observedGeneration": stored.metadata.generation,
        }
    return list(conditions.values())
