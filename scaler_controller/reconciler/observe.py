"""The I/O at the beginning of a pass: caches (or the API server itself) to one snapshot."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scaler_controller.reconciler.caches import BY_NAMESPACE, BY_TARGET, Caches, target_key
from scaler_controller.reconciler.own_writes import PATIENCE_SECONDS, POLL_SECONDS, OwnWrites
from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.workload import Workload
from scaler_core.model.scrape import TargetScrape
from scaler_core.model.world import Snapshot, World
from scaler_core.signals.replicas import target_pods
from scaler_kube.client import KubeClient
from scaler_kube.clock import Clock
from scaler_kube.errors import NotFoundError
from scaler_kube.resources import Resource
from scaler_kube.transport import Document


@dataclass(frozen=True, slots=True)
class Gone:
    """The scaler does not exist any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lagging:
    """The caches do not show our own writes yet."""

    seconds: float
    """Real seconds after which to look again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Builds snapshots."""

    client: KubeClient
    clock: Clock
    caches: Caches
    own_writes: OwnWrites
    scaler_resource: Resource
    target_resource: Resource
    newest_scrape: Callable[[str], TargetScrape | None]
    """The newest sample of a target, by its UID."""
    serves_workloads: Callable[[], bool]
    direct: set[ObjectKey] = field(default_factory=set)
    """Scalers whose next pass must read the target past the cache."""

    async def observe(self, key: ObjectKey) -> Snapshot | Gone | Lagging:
        """Everything that the next decision depends on.

        Raises:
            KubeError: a direct read failed.
        """
        unseen = self.own_writes.unseen(key)
        if unseen is None and key not in self.direct:
            scaler = self.caches.scalers.get(key)
            if scaler is None:
                return Gone()
            return self._snapshot(scaler, self.caches.targets.get(target_key(scaler)), None)
        if unseen is not None and self.clock.monotonic() - unseen.at < PATIENCE_SECONDS and key not in self.direct:
            return Lagging(seconds=POLL_SECONDS)
        return await self._read_directly(key)

    async def _read_directly(self, key: ObjectKey) -> Snapshot | Gone:
        read_at = self.clock.now()
        document = await self._read(self.scaler_resource, key)
        self.direct.discard(key)
        if document is None:
            return Gone()
        scaler = defaulting.load(document)
        target = await self._read(self.target_resource, target_key(scaler))
        return self._snapshot(scaler, None if target is None else ModelDeployment.from_wire(target), read_at)

    async def _read(self, resource: Resource, key: ObjectKey) -> Document | None:
        try:
            return await self.client.get(resource, key)
        except NotFoundError as error:
            if error.is_absent(key.name):
                return None
            raise

    def _snapshot(
        self, scaler: ModelDeploymentScaler, target: ModelDeployment | None, read_at: float | None
    ) -> Snapshot:
        pods = self.caches.pods.by_index(BY_TARGET, target_key(scaler))
        world = World(
            now=self.clock.now(),
            scaler=scaler,
            target=target,
            pods=target_pods(target, pods) if target is not None else (),
            workloads=self._workloads(scaler.metadata.namespace),
            target_read_at=read_at,
        )
        return Snapshot(world=world, scrape=self.newest_scrape(target.metadata.uid) if target is not None else None)

    def _workloads(self, namespace: str) -> tuple[Workload, ...] | None:
        return self.caches.workloads.by_index(BY_NAMESPACE, namespace) if self.serves_workloads() else None
