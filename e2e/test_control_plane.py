"""The fixture itself: users with RBAC, an audit log, and outages on command."""

import os

import aiohttp
import pytest

from e2e.controlplane import Endpoint, LocalControlPlane, client_session, install_definitions
from e2e.controlplane.finding import NoControlPlaneError, local_assets, usable_assets
from scaler_sim.apiserver import neighbour_definitions

pytestmark = pytest.mark.e2e


async def test_administrator_may_and_others_may_not(control_plane: Endpoint) -> None:
    async with client_session(control_plane) as session, session.get("/api/v1/pods") as response:
        assert response.status == 200
    async with client_session(control_plane, token="nobody") as session, session.get("/api/v1/pods") as response:
        assert response.status == 401


async def test_definitions_of_the_neighbours_are_accepted(control_plane: Endpoint) -> None:
    async with client_session(control_plane) as session:
        await install_definitions(session, neighbour_definitions())
        await install_definitions(session, neighbour_definitions())
        path = "/apis/worker.gpustack.ai/v1/namespaces/default/modeldeployments"
        roles = [{"name": "decode", "kind": "Decode", "instanceType": "h100"}]
        spec = {
            "model": {"name": "m"},
            "engine": {"name": "vLLM"},
            "roles": roles,
            "kvCache": {"connector": "Mooncake"},
        }
        body = {"apiVersion": "worker.gpustack.ai/v1", "kind": "ModelDeployment", "metadata": {"name": "e2e-neighbour"}}
        async with session.post(path, json=body | {"spec": spec}) as response:
            created = await response.json()
            assert response.status == 201, created
        assert created["spec"]["roles"] == [roles[0] | {"replicas": 1, "size": 1}]
        assert created["spec"]["kvCache"] == {"connector": "Mooncake"}
        async with session.delete(f"{path}/e2e-neighbour") as response:
            assert response.status == 200


async def _status(session: aiohttp.ClientSession, path: str) -> int:
    async with session.get(path) as response:
        return response.status


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.timeout(180)
async def test_local_plane_survives_restarts_and_keeps_an_audit_log() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"a": "b"}}
    async with LocalControlPlane(local_assets(), controllers=()) as plane:
        async with (
            client_session(plane.endpoint) as admin,
            client_session(plane.endpoint, token=plane.token("alice")) as alice,
        ):
            assert await _status(alice, CONFIG_MAPS) == 403
            async with admin.post(CONFIG_MAPS, json=body) as response:
                assert response.status == 201
            await plane.stop_api_server()
            with pytest.raises(aiohttp.ClientConnectionError):
                await _status(admin, "/readyz")
            await plane.start_api_server()
            assert await _status(admin, f"{CONFIG_MAPS}/kept") == 200
        refusals = [event["responseStatus"]["code"] for event in plane.audit("alice")]
        writes = [event["requestObject"] for event in plane.audit("e2e-admin") if event["verb"] == "create"]
        folder, pids = plane.endpoint.kubeconfig.parent, plane.pids
        assert len(pids) == 2
    assert refusals == [403]
    assert [write["data"] for write in writes] == [{"a": "b"}]
    assert not folder.exists()
    assert not any(is_running(pid) for pid in pids)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("assets", "words"),
    [
        pytest.param(None, "set KUBEBUILDER_ASSETS to a folder", id="unset"),
        pytest.param("/var/empty-folder", "has no etcd", id="folder without binaries"),
    ],
)
def test_missing_binaries_are_named(monkeypatch: pytest.MonkeyPatch, assets: str | None, words: str) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    if assets is not None:
        monkeypatch.setitem(os.environ, "KUBEBUILDER_ASSETS", assets)
    with pytest.raises(NoControlPlaneError, match=words):
        usable_assets()
