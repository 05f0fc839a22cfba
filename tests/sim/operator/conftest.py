"""A target on the embedded cluster whose operator is stepped by hand, with a clock that stands still."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import Pod
from scaler_core.api.workload import Workload, workload_name
from scaler_kube import resources
from scaler_kube.access import Endpoint
from scaler_kube.client import KubeClient, connect
from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster, neighbour_definitions
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.engines.host import Placement
from scaler_sim.operator.operator import FIELD_MANAGER, Operator
from scaler_sim.operator.settings import OperatorSettings

TARGET = ObjectKey("default", "llm")


@dataclass
class FakeMachines:
    """Remembers what the operator asked for."""

    placed: dict[ReplicaKey, RoleKind] = field(default_factory=dict)
    admitted: set[ReplicaKey] = field(default_factory=set)
    ports: int = 9000

    def of(self, target: ObjectKey, engine: str) -> "FakeMachines":
        return self

    async def place(self, key: ReplicaKey, kind: RoleKind) -> Placement:
        assert key not in self.placed
        self.placed[key] = kind
        self.ports += 1
        return Placement(address="127.0.0.1", port=self.ports, container_id=f"c{self.ports}", restart_count=0)

    def admit(self, key: ReplicaKey) -> None:
        self.admitted.add(key)

    def withdraw(self, key: ReplicaKey) -> None:
        self.admitted.discard(key)

    async def remove(self, key: ReplicaKey) -> None:
        self.placed.pop(key, None)
        self.admitted.discard(key)

    def restart(self, key: ReplicaKey) -> Placement:
        return Placement(address="127.0.0.1", port=9999, container_id="restarted", restart_count=1)

    async def close(self) -> None:
        self.placed.clear()


class World:
    """The cluster, its operator and its clock."""

    def __init__(self, client: KubeClient, settings: OperatorSettings) -> None:
        self.client = client
        self.seconds = 1_800_000_000.0
        self.machines = FakeMachines()
        self.operator = Operator(client=client, park=self.machines, settings=settings, now=lambda: self.seconds)

    async def step(self, seconds: float = 0.0, passes: int = 6) -> None:
        """Let time pass, then everything settle that needs no time."""
        self.seconds += seconds
        for _ in range(passes):
            await self.operator.run_pass()

    async def scale(self, **counts: int) -> None:
        document = await self.document()
        for role in document["spec"]["roles"]:
            role["replicas"] = counts.get(role["name"], role["replicas"])
        await self.client.replace(resources.deployments(), TARGET, document)

    async def edit(self, role: str, **fields: Any) -> None:
        document = await self.document()
        next(entry for entry in document["spec"]["roles"] if entry["name"] == role).update(fields)
        await self.client.replace(resources.deployments(), TARGET, document)

    async def document(self) -> dict[str, Any]:
        return await self.client.get(resources.deployments(), TARGET)

    async def status(self) -> dict[str, Any]:
        return (await self.document()).get("status", {})

    async def retirement(self) -> str | None:
        record = (await self.status()).get("retirement")
        return record and f"{record['roleName']}:{record['replicaOrdinal']}:{record['state']}"

    async def pods(self, role: str | None = None) -> list[Pod]:
        listing = await self.client.list_all(resources.PODS, namespace="default")
        pods = [Pod.from_wire(document) for document in listing.items]
        return sorted((p for p in pods if role in (None, p.role)), key=lambda p: (p.role, p.ordinal or 0, p.member))

    async def workload(self, role: str, ordinal: int, version: str = "v1beta2") -> Workload | None:
        listing = await self.client.list_all(resources.workloads(version), namespace="default")
        name = workload_name(TARGET.namespace, TARGET.name, role, ordinal)
        return next((Workload.from_wire(d) for d in listing.items if d["metadata"]["name"] == name), None)


def target(*roles: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {"name": TARGET.name, "namespace": TARGET.namespace},
        "spec": {"model": {"name": "m"}, "engine": {"name": "vLLM"}, "roles": list(roles)},
    }


def role(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "instanceType": "gpu", **fields}


Start = Callable[..., Any]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with EmbeddedCluster(ClusterSettings(definitions=neighbour_definitions())) as cluster:
        client = await connect(
            Endpoint(url=cluster.url, token=cluster.token("operator", "system:masters")),
            field_manager=FIELD_MANAGER,
            user_agent="test",
        )

        async def make(*roles: dict[str, Any], **settings: Any) -> World:
            world = World(client, OperatorSettings(**{"admission_seconds": 0.0} | settings))
            await client.create(resources.deployments(), TARGET.namespace, target(*roles))
            await world.step()
            return world

        yield make
        await client.close()
