"""The caches that a pass reads, and how a change in one finds the scalers that it concerns."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import INSTANCE_LABEL, Pod
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.workload import Workload
from scaler_kube.store import Change, Store

BY_TARGET: Final = "target"
BY_NAMESPACE: Final = "namespace"


def _scaler_target(scaler: ModelDeploymentScaler) -> Iterable[Hashable]:
    yield target_key(scaler)


def _pod_target(pod: Pod) -> Iterable[Hashable]:
    instance = pod.metadata.labels.get(INSTANCE_LABEL)
    if instance is not None:
        yield ObjectKey(pod.metadata.namespace, instance)


def _workload_namespace(workload: Workload) -> Iterable[Hashable]:
    yield workload.metadata.namespace


def target_key(scaler: ModelDeploymentScaler) -> ObjectKey:
    """The key of the deployment that a scaler names."""
    return ObjectKey(scaler.metadata.namespace, scaler.spec.target_ref.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """What the informers keep."""

    scalers: Store[ModelDeploymentScaler] = field(default_factory=lambda: Store({BY_TARGET: _scaler_target}))
    targets: Store[ModelDeployment] = field(default_factory=Store)
    pods: Store[Pod] = field(default_factory=lambda: Store({BY_TARGET: _pod_target}))
    workloads: Store[Workload] = field(default_factory=lambda: Store({BY_NAMESPACE: _workload_namespace}))

    def scalers_of(self, target: ObjectKey) -> tuple[ModelDeploymentScaler, ...]:
        """All scalers that name this deployment; one of them at most is bound."""
        return self.scalers.by_index(BY_TARGET, target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """Turns changes into keys of scalers; `enqueue` takes them."""

    caches: Caches
    enqueue: Callable[[ObjectKey], None]

    def on_scaler(self, change: Change[ModelDeploymentScaler]) -> None:
        """A scaler itself; a status alone brings nothing new."""
        old, new = change.old, change.new
        if old is not None and new is not None and old.metadata.resource_version == new.metadata.resource_version:
            return
        self.enqueue(change.key)

    def on_target(self, change: Change[ModelDeployment]) -> None:
        """A target wakes every scaler that names it."""
        self._wake(change.key)

    def on_pod(self, change: Change[Pod]) -> None:
        """A Pod that changed in a way that a pass can see."""
        pod = change.new or change.old
        if pod is None or (change.old is not None and change.new is not None and _looks_same(change.old, change.new)):
            return
        for key in _pod_target(pod):
            if isinstance(key, ObjectKey):
                self._wake(key)

    def on_workload(self, change: Change[Workload]) -> None:
        """A Workload names its Pods only, so the deployments that own those are woken."""
        workload = change.new or change.old
        if workload is None:
            return
        owners = {reference.uid for reference in workload.metadata.owner_references if reference.kind == "Pod"}
        namespace = workload.metadata.namespace
        for scaler in self.caches.scalers.values():
            target = target_key(scaler)
            if target.namespace == namespace and self._owns_any(target, owners):
                self.enqueue(scaler.metadata.key)

    def _owns_any(self, target: ObjectKey, owners: set[str]) -> bool:
        if not owners:
            return True  # a Workload that lost its Pods: whose it was cannot be told, so everybody looks
        return any(pod.metadata.uid in owners for pod in self.caches.pods.by_index(BY_TARGET, target))

    def _wake(self, target: ObjectKey) -> None:
        for scaler in self.caches.scalers_of(target):
            self.enqueue(scaler.metadata.key)


def _looks_same(old: Pod, new: Pod) -> bool:
    return old.model_copy(update={"metadata": new.metadata}) == new and _identity(old) == _identity(new)


def _identity(pod: Pod) -> Hashable:
    meta = pod.metadata
    return meta.uid, meta.deletion_timestamp, tuple(sorted(meta.labels.items()))
