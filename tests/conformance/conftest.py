"""The server under test: the embedded one always, a real one in `make e2e`."""

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from e2e.controlplane import client_session, install_definitions, require_control_plane
from scaler_core.api.meta import ObjectKey
from scaler_kube.access import KubeConfig
from scaler_kube.client import KubeClient, connect
from scaler_kube.resources import NAMESPACES
from scaler_sim.apiserver import ClusterSettings, EmbeddedCluster, User
from tests.conformance.widgets import Server, definitions

ALICE = User(username="alice", groups=("developers",), uid="alice")


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.e2e)])
async def api_server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """A server that serves Widgets, and a fresh namespace."""
    if request.param == "real":
        endpoint = require_control_plane()
        async with client_session(endpoint) as session:
            await install_definitions(session, definitions())
            async with _namespace(session) as name:
                yield Server(
                    session=session,
                    namespace=name,
                    webhook_host=endpoint.webhook_host,
                    is_embedded=False,
                    compact=lambda: None,
                )
        return
    settings = ClusterSettings(definitions=definitions(), tokens={"alice-token": ALICE})
    async with (
        EmbeddedCluster(settings) as cluster,
        aiohttp.ClientSession(cluster.url) as session,
        _namespace(session) as name,
    ):
        yield Server(
            session=session, namespace=name, webhook_host="127.0.0.1", is_embedded=True, compact=cluster.compact
        )


class _namespace:  # noqa: N801 - reads as the block that it is
    """A namespace while the block runs."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._name = f"conformance-{uuid.uuid4().hex[:8]}"

    async def __aenter__(self) -> str:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._name}}
        async with self._session.post("/api/v1/namespaces", json=body) as response:
            assert response.status == 201, await response.text()
        return self._name

    async def __aexit__(self, *_: object) -> None:
        async with self._session.delete(f"/api/v1/namespaces/{self._name}") as response:
            await response.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Our client and a namespace of its own."""

    client: KubeClient
    namespace: str

    def key(self, name: str) -> ObjectKey:
        return ObjectKey(self.namespace, name)


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.e2e)])
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Door]:
    """The product's own way to the server under test."""
    async with AsyncExitStack() as stack:
        if request.param == "real":
            path = require_control_plane().kubeconfig
        else:
            path = (await stack.enter_async_context(EmbeddedCluster())).kubeconfig(tmp_path / "kubeconfig")
        way = KubeConfig(path=str(path))
        client = await stack.enter_async_context(await connect(way, field_manager="door", user_agent="mds-tests"))
        name = f"door-{uuid.uuid4().hex[:8]}"
        await client.create(NAMESPACES, "", {"metadata": {"name": name}, "apiVersion": "v1", "kind": "Namespace"})
        yield Door(client=client, namespace=name)
        await client.delete(NAMESPACES, ObjectKey("", name))
