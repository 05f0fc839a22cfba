"""The server under test: the embedded one always, a real one in `make e2e`."""

import uuid
from collections.abc import AsyncIterator

import aiohttp
import pytest

from e2e.controlplane import client_session, install_definitions, require_control_plane
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
