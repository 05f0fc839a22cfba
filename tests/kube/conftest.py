"""The door on a server that keeps Kubernetes' semantics: the embedded one."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scaler_core.api.meta import ObjectKey
from scaler_kube.access import KubeConfig
from scaler_kube.client import KubeClient, connect
from scaler_kube.resources import NAMESPACES
from scaler_sim.apiserver import EmbeddedCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A client and a namespace of its own."""

    client: KubeClient
    namespace: str

    def key(self, name: str) -> ObjectKey:
        return ObjectKey(self.namespace, name)


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster() as it:
        yield it


@pytest.fixture
async def door(cluster: EmbeddedCluster, tmp_path: Path) -> AsyncIterator[Door]:
    way = KubeConfig(path=str(cluster.kubeconfig(tmp_path / "kubeconfig")))
    async with await connect(way, field_manager="door", user_agent="mds-tests") as client:
        name = f"door-{uuid.uuid4().hex[:8]}"
        await client.create(NAMESPACES, "", {"metadata": {"name": name}, "apiVersion": "v1", "kind": "Namespace"})
        yield Door(client=client, namespace=name)
        await client.delete(NAMESPACES, ObjectKey("", name))
