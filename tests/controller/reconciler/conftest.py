"""A scaler and its target on the embedded API server, with the reconciler's writers around them."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from scaler_controller.reconciler.caches import Caches
from scaler_controller.reconciler.carry_out import Executor
from scaler_controller.reconciler.observe import Observer
from scaler_controller.reconciler.own_writes import OwnWrites
from scaler_controller.reconciler.status_writer import StatusWriter
from scaler_controller.reconciler.target_writer import TargetWriter
from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api import crd, defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import FENCE_WEBHOOK
from scaler_core.api.scaler import FINALIZER, ModelDeploymentScaler
from scaler_core.model.action import Note
from scaler_core.model.world import World
from scaler_kube import resources
from scaler_kube.access import Endpoint
from scaler_kube.client import KubeClient, connect
from scaler_kube.clock import SteadyClock
from scaler_kube.store import Entry
from scaler_sim.apiserver import Answer, Call, ClusterSettings, EmbeddedCluster, Fault, neighbour_definitions

KEY = ObjectKey("default", "llm")
REFUSAL = f'admission webhook "{FENCE_WEBHOOK}" denied the request: a probe (decision-unreadable)'


def scaler_document(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": "llm", "namespace": "default", "finalizers": [FINALIZER]},
        "spec": {
            "targetRef": {"name": "llm"},
            "mode": "Active",
            "roles": [{"name": "server", "maxReplicas": 8}],
            "algorithm": {"proportional": {"metric": "QueueDepth", "roleTargets": [{"name": "server", "target": "4"}]}},
            **spec,
        },
    }


def target_document(replicas: int = 2) -> dict[str, Any]:
    roles = [{"name": "server", "kind": "Server", "instanceType": "gpu", "replicas": replicas, "image": "engine:1"}]
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {"name": "llm", "namespace": "default"},
        "spec": {"model": {"name": "m"}, "engine": {"name": "vLLM"}, "roles": roles},
    }


@dataclass(kw_only=True)
class Room:
    """The writers, on one cluster."""

    cluster: EmbeddedCluster
    client: KubeClient
    clock: SteadyClock = field(default_factory=SteadyClock)
    caches: Caches = field(default_factory=Caches)
    metrics: Metrics = field(default_factory=Metrics)
    told: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.own_writes = OwnWrites(self.caches)
        common: dict[str, Any] = {"client": self.client, "clock": self.clock, "own_writes": self.own_writes}
        self.statuses = StatusWriter(
            **common, resource=resources.scalers(), metrics=self.metrics, deadline=self.deadline
        )
        self.targets = TargetWriter(
            **common,
            scaler_resource=resources.scalers(),
            target_resource=resources.deployments(),
            deadline=self.deadline,
        )
        self.executor = Executor(
            statuses=self.statuses,
            targets=self.targets,
            clock=self.clock,
            metrics=self.metrics,
            tell=lambda _, note: self.told.append(note),
        )
        self.observer = Observer(
            **common,
            caches=self.caches,
            scaler_resource=resources.scalers(),
            target_resource=resources.deployments(),
            newest_scrape=lambda _: None,
            serves_workloads=lambda: False,
        )

    def deadline(self) -> float:
        return self.clock.monotonic() + 5.0

    async def create(self, *documents: dict[str, Any]) -> None:
        for document in documents:
            await self.cluster.create(document)
        self.pump()

    def pump(self) -> None:
        """Bring the caches to what is stored."""
        for store, plural, decode in (
            (self.caches.scalers, resources.scalers().plural, defaulting.load),
            (self.caches.targets, resources.deployments().plural, ModelDeployment.from_wire),
        ):
            found = {}
            for document in self.cluster.find(plural, "default"):
                value: Any = decode(document)  # type: ignore[operator]
                meta = value.metadata
                found[meta.key] = Entry(
                    value=value, uid=meta.uid, resource_version=meta.resource_version, generation=meta.generation
                )
            newest = max((int(entry.resource_version) for entry in found.values()), default=0)
            store.replace(found, str(newest))  # type: ignore[attr-defined]

    @property
    def scaler(self) -> ModelDeploymentScaler:
        return defaulting.load(self.stored("modeldeploymentscalers"))

    @property
    def target(self) -> ModelDeployment:
        return ModelDeployment.from_wire(self.stored("modeldeployments"))

    def stored(self, plural: str) -> dict[str, Any]:
        document = self.cluster.get(plural, KEY.namespace, KEY.name)
        assert document is not None
        return json.loads(json.dumps(document))  # type: ignore[no-any-return]

    def world(self) -> World:
        return World(now=self.clock.now(), scaler=self.scaler, target=self.target)

    def fence(self) -> Any:
        """A fence that refuses the probe, and knows nothing else."""
        return self.cluster.faults.active(
            Fault(when=is_probe, does=Answer(code=403, reason="Forbidden", message=REFUSAL))
        )


def is_probe(call: Call) -> bool:
    return call.verb == "patch" and call.resource.plural == "modeldeployments" and call.is_dry_run


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    settings = ClusterSettings(definitions=(crd.definition(), *neighbour_definitions()))
    async with EmbeddedCluster(settings) as cluster:
        way = Endpoint(url=cluster.url, token=cluster.token("scaler", "system:masters"))
        async with await connect(way, field_manager="scaler", user_agent="scaler") as client:
            yield Room(cluster=cluster, client=client)
