"""Actions -> calls of the API server and of the machines."""

from dataclasses import dataclass
from typing import Any

from scaler_core.api.deployment import Role
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import Pod
from scaler_core.api.workload import workload_name
from scaler_kube import errors, resources
from scaler_kube.client import KubeClient
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.engines.host import Placement
from scaler_sim.operator import documents
from scaler_sim.operator.actions import (
    Action,
    CreatePods,
    CreateWorkload,
    DeletePods,
    DeleteWorkload,
    Disqualify,
    JudgeWorkload,
    MarkReady,
    OwnWorkload,
    Qualify,
)
from scaler_sim.operator.machines import Machines
from scaler_sim.operator.view import ELIGIBLE_LABEL, TargetView


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Does what passes decided for one target."""

    client: KubeClient
    machines: Machines
    workloads: resources.Resource
    """Workloads in the version that the server serves."""
    default_image: str

    async def execute(self, view: TargetView, action: Action, now: float) -> None:
        """Do one thing.

        Args:
            view: the target, as the decision saw it.
            action: what to do.
            now: Unix seconds of the clock.

        Raises:
            KubeError: it was not done; the next pass decides anew.
        """
        match action:
            case CreatePods():
                await self._create_pods(view, action, now)
            case DeletePods(key=key):
                await self.delete_pods(view, key)
            case MarkReady(key=key):
                await self._mark_ready(view, key, now)
            case Qualify(key=key):
                self.machines.admit(key)
                await self._label(view, key, "true")
            case Disqualify(key=key):
                self.machines.withdraw(key)
                await self._label(view, key, None)
            case _:
                await self._workload(view, action, now)

    async def _workload(
        self, view: TargetView, action: CreateWorkload | OwnWorkload | DeleteWorkload | JudgeWorkload, now: float
    ) -> None:
        replica, target = view.replica(action.key), view.target.metadata
        key = ObjectKey(target.namespace, workload_name(target.namespace, target.name, *action.key))
        match action:
            case CreateWorkload():
                body = documents.workload(view, _role(view, action.key), replica, self.workloads)
                await self.client.create(self.workloads, target.namespace, body)
            case OwnWorkload():
                owners = {"metadata": {"ownerReferences": documents.pod_owners(replica.live)}}
                await self.client.patch_merge(self.workloads, key, owners)
            case DeleteWorkload():
                await self._delete(self.workloads, key)
            case JudgeWorkload(verdicts=verdicts):
                if replica.workload is None:
                    return
                status = {"status": {"conditions": documents.judged(replica.workload, verdicts, now)}}
                await self.client.patch_merge(self.workloads, key, status, subresource="status")

    async def _create_pods(self, view: TargetView, action: CreatePods, now: float) -> None:
        role = _role(view, action.key)
        for index in action.members:
            placement = await self._place(action.key, role) if index == 0 else None
            member = documents.Member(key=action.key, index=index, placement=placement)
            body = documents.pod(view, role, member, self.default_image)
            created = await self.client.create(resources.PODS, view.target.metadata.namespace, body)
            await self._pod_status(_key(Pod.from_wire(created)), documents.starting_status(placement, now))

    async def _place(self, key: ReplicaKey, role: Role) -> Placement:
        await self.machines.remove(key)  # one whose Pod could not be created is of no use
        return await self.machines.place(key, role.kind)

    async def delete_pods(self, view: TargetView, key: ReplicaKey) -> None:
        """Delete the Pods of a replica and end its engine.

        Raises:
            KubeError: it was not done.
        """
        for pod in view.replica(key).live:
            await self._delete(resources.PODS, _key(pod))
        await self.machines.remove(key)

    async def _mark_ready(self, view: TargetView, key: ReplicaKey, now: float) -> None:
        await self._label(view, key, "true")
        for pod in view.replica(key).live:
            await self._pod_status(_key(pod), documents.ready_status(now))
        self.machines.admit(key)

    async def report_restart(self, view: TargetView, key: ReplicaKey, placement: Placement) -> None:
        """Write the new container of a replica's engine into its Pod.

        Raises:
            KubeError: it was not done.
        """
        for pod in view.replica(key).live:
            if pod.member == 0:
                await self._pod_status(_key(pod), documents.restarted_status(placement))

    async def _label(self, view: TargetView, key: ReplicaKey, value: str | None) -> None:
        for pod in view.replica(key).live:
            body = {"metadata": {"labels": {ELIGIBLE_LABEL: value}}}
            await self.client.patch_merge(resources.PODS, _key(pod), body)

    async def _pod_status(self, key: ObjectKey, status: dict[str, Any]) -> None:
        await self.client.patch_merge(resources.PODS, key, {"status": status}, subresource="status")

    async def _delete(self, resource: resources.Resource, key: ObjectKey) -> None:
        try:
            await self.client.delete(resource, key)
        except errors.NotFoundError:
            return


def _key(pod: Pod) -> ObjectKey:
    return pod.metadata.key


def _role(view: TargetView, key: ReplicaKey) -> Role:
    role = view.target.role(key.role)
    if role is None:
        raise LookupError(f"target {view.target.metadata.key} has no role {key.role}")
    return role
