import json

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge

from scaler_controller.manager.servers import Health, Servers
from scaler_core.api.meta import ObjectKey
from scaler_core.model.world import Snapshot, World
from scaler_core.recording import Recording
from tests.core.test_decision import scaler


class Asked:
    def __init__(self) -> None:
        self.liveness = self.readiness = ""

    def health(self) -> Health:
        return Health(liveness=lambda: self.liveness, readiness=lambda: self.readiness)


def last_pass(key: ObjectKey) -> Recording | None:
    if key.name != "llm":
        return None
    world = World(now=1_700_000_000.0, scaler=scaler(), target=None)
    return Recording(snapshot=Snapshot(world=world), memory=None, decision_id="d")


def servers(registry: CollectorRegistry) -> Servers:
    return Servers(host="127.0.0.1", port=0, registry=registry, last_pass=last_pass)


async def test_the_routes() -> None:
    registry, asked = CollectorRegistry(), Asked()
    Gauge("mds_leader", "", registry=registry).set(1)
    async with servers(registry).running(asked.health()) as port, aiohttp.ClientSession() as session:

        async def get(path: str, **headers: str) -> tuple[int, str, str]:
            async with session.get(f"http://127.0.0.1:{port}{path}", headers=headers) as response:
                return response.status, response.headers["Content-Type"], await response.text()

        assert (await get("/healthz"))[::2] == (200, "ok")
        assert (await get("/readyz"))[::2] == (200, "ok")
        asked.readiness = "caches not yet read: pods"
        assert (await get("/readyz"))[::2] == (503, "caches not yet read: pods")
        assert (await get("/healthz"))[0] == 200
        status, content_type, text = await get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
        assert (status, content_type.split(";")[0]) == (200, "application/openmetrics-text")
        assert "mds_leader 1.0" in text
        status, content_type, text = await get("/debug/scalers/ns/llm")
        assert (status, content_type) == (200, "application/json; charset=utf-8")
        assert json.loads(text)["standing"] == "TargetNotFound"
        assert "recording" not in json.loads(text)
        _, _, recorded = await get("/debug/scalers/ns/llm?recording=true")
        assert Recording.from_json(json.loads(recorded)["recording"]) == last_pass(ObjectKey("ns", "llm"))
        assert (await get("/debug/scalers/ns/other"))[::2] == (
            404,
            '{"error": "no pass over scaler ns/other in this process yet"}',
        )


async def test_the_port_is_free_again_afterwards() -> None:
    registry = CollectorRegistry()
    async with servers(registry).running(Asked().health()) as port:
        pass
    with pytest.raises(aiohttp.ClientConnectorError):
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/healthz"):
            pass
