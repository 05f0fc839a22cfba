"""The operator's loop: list, decide for every target, act, report."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import NAME_LABEL, NAME_VALUE, Pod
from scaler_core.api.workload import Workload
from scaler_kube import errors, resources
from scaler_kube.client import KubeClient
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.operator import admission, replicas, retirement, status
from scaler_sim.operator.executor import Executor
from scaler_sim.operator.machines import MachinePark
from scaler_sim.operator.record import RetirementRecord, RetirementState
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.operator.view import TargetView, target_view

RELEASE_ANNOTATION: Final = "modeldeployment.gpustack.ai/retirement-release"
FIELD_MANAGER: Final = "simulated-operator"

_log = logging.getLogger(__name__)


class Operator:
    """Plays the target operator for every target of the cluster, and takes orders for what goes wrong."""

    def __init__(
        self,
        *,
        client: KubeClient,
        park: MachinePark,
        settings: OperatorSettings,
        now: Callable[[], float],
        deployments: resources.Resource | None = None,
    ) -> None:
        """Make an operator; it acts in `run_pass` alone.

        Args:
            client: with the operator's own credentials.
            park: where engines run.
            settings: facts and knobs.
            now: Unix seconds of the clock.
            deployments: targets in another version than v1.
        """
        self._client = client
        self._park = park
        self._settings = settings
        self._now = now
        self._deployments = deployments or resources.deployments()
        self._workloads = resources.workloads(resources.WORKLOAD_VERSIONS[0])
        self._quota = dict(settings.quota)
        self._aborts: dict[ObjectKey, str] = {}
        self._evictions: list[tuple[ObjectKey, ReplicaKey, str]] = []
        self._restarts: list[tuple[ObjectKey, ReplicaKey]] = []
        self._executors: dict[ObjectKey, Executor] = {}

    # Orders

    def set_quota(self, instance_type: str, pods: int | None) -> None:
        """Change how many Pods of an instance type there is room for; None is no limit. Takes nothing away."""
        self._quota.pop(instance_type, None)
        if pods is not None:
            self._quota[instance_type] = pods

    def abort_retirement(self, target: ObjectKey, reason: str = "drain evidence was not conclusive") -> None:
        """Abort the target's running retirement, or else the next one."""
        self._aborts[target] = reason

    def evict(self, target: ObjectKey, replica: ReplicaKey, reason: str = "Preempted") -> None:
        """Take the quota of a replica away in the next pass."""
        self._evictions.append((target, replica, reason))

    def restart(self, target: ObjectKey, replica: ReplicaKey) -> None:
        """Let the engine of a replica crash and start anew in the next pass."""
        self._restarts.append((target, replica))

    # Passes

    async def run(self) -> None:
        """Make passes until cancelled; a failed one is logged and made anew."""
        while True:
            try:
                await self.run_pass()
            except errors.KubeError as error:
                _log.warning("Operator pass failed: %s", error)
            await asyncio.sleep(self._settings.pass_seconds)

    async def run_pass(self) -> None:
        """Look at everything once, and act.

        Raises:
            KubeError: the listing failed.
        """
        documents = (await self._client.list_all(self._deployments)).items
        selector = f"{NAME_LABEL}={NAME_VALUE}"
        pods = [Pod.from_wire(d) for d in (await self._client.list_all(resources.PODS, labels=selector)).items]
        workloads = [Workload.from_wire(d) for d in (await self._client.list_all(self._workloads)).items]
        views = {ObjectKey(_namespace(d), d["metadata"]["name"]): _view(d, pods, workloads) for d in documents}
        await self._collect(pods, workloads, views.values())
        for key in self._executors.keys() - views.keys():
            await self._executors.pop(key).machines.close()
        used = admission.used(list(views.values()))
        left = {name: total - used.get(name, 0) for name, total in self._quota.items()}
        for document, (key, view) in zip(documents, views.items(), strict=True):
            if not view.target.metadata.is_terminating:
                await self._reconcile(key, view, document, left)

    async def _reconcile(
        self, key: ObjectKey, view: TargetView, document: dict[str, Any], left: dict[str, int]
    ) -> None:
        now = self._now()
        executor = self._executor(key, view)
        progress = retirement.advance(view, self._settings, now, self._aborts.get(key))
        if progress.aborted:
            del self._aborts[key]
        for action in (
            *replicas.steps(view, self._settings, now),
            *admission.steps(view, self._settings, left, now),
            *retirement.steps(view),
        ):
            await executor.execute(view, action, now)
        await self._obey(key, view, executor, now)
        await self._report(key, view, document, progress.record)

    def _executor(self, key: ObjectKey, view: TargetView) -> Executor:
        if key not in self._executors:
            self._executors[key] = Executor(
                client=self._client,
                machines=self._park.of(key, view.target.spec.engine.name),
                workloads=self._workloads,
                default_image=self._settings.image,
            )
        return self._executors[key]

    async def _obey(self, key: ObjectKey, view: TargetView, executor: Executor, now: float) -> None:
        for order in [order for order in self._evictions if order[0] == key]:
            self._evictions.remove(order)
            _, replica, reason = order
            await executor.execute(view, admission.eviction(view.replica(replica), reason), now)
            await executor.delete_pods(view, replica)
        for restart in [restart for restart in self._restarts if restart[0] == key]:
            self._restarts.remove(restart)
            await executor.report_restart(view, restart[1], executor.machines.restart(restart[1]))

    async def _report(
        self, key: ObjectKey, view: TargetView, document: dict[str, Any], record: RetirementRecord | None
    ) -> None:
        stored = document.get("status") or {}
        rendered = status.render(view, record, stored, self._now())
        if rendered != stored:
            body = {"status": {"retirement": None} | rendered}
            await self._client.patch_merge(self._deployments, key, body, subresource="status")
        released = _released(record)
        if view.target.metadata.annotations.get(RELEASE_ANNOTATION) != released:
            annotations = {"metadata": {"annotations": {RELEASE_ANNOTATION: released}}}
            await self._client.patch_merge(self._deployments, key, annotations)

    async def _collect(self, pods: list[Pod], workloads: list[Workload], views: Iterable[TargetView]) -> None:
        """Delete what belongs to targets that are gone, as a garbage collector would."""
        owners = {view.target.metadata.uid for view in views if not view.target.metadata.is_terminating}
        kept = {r.workload.metadata.uid for view in views for r in view.replicas.values() if r.workload is not None}
        orphans = [
            (resources.PODS, pod.metadata.key)
            for pod in pods
            if not any(owner.uid in owners for owner in pod.metadata.owner_references)
        ]
        orphans += [(self._workloads, w.metadata.key) for w in workloads if w.metadata.uid not in kept]
        for resource, key in orphans:
            try:
                await self._client.delete(resource, key)
            except errors.NotFoundError:
                continue


def _namespace(document: dict[str, Any]) -> str:
    return str(document["metadata"].get("namespace", ""))


def _view(document: dict[str, Any], pods: list[Pod], workloads: list[Workload]) -> TargetView:
    namespace = _namespace(document)
    return target_view(
        document,
        [pod for pod in pods if pod.metadata.namespace == namespace],
        [workload for workload in workloads if workload.metadata.namespace == namespace],
    )


def _released(record: RetirementRecord | None) -> str | None:
    """The annotation's value: the replica whose members may be released."""
    if record is None or record.state is not RetirementState.DELETING:
        return None
    return f"{record.role_name}:{record.replica_ordinal}"
