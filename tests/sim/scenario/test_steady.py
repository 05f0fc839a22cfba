"""A scaler that has nothing to do asks nothing of the API server: an hour of varying load, shown by the ledger."""

import asyncio
from random import Random
from typing import Any, Final

import aiohttp
import pytest

from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_kube import resources
from scaler_kube.clock import SteadyClock
from scaler_sim.apiserver.ledger import Write
from scaler_sim.scenario.plane import EmbeddedPlane, Identity
from scaler_sim.scenario.scenario import Scenario, ScenarioSettings, definitions, playing
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]
FACTOR: Final = 60.0
KEY: Final = ObjectKey("default", "llm")
HOUR: Final = 3600.0
WARM_SECONDS: Final = 1800.0
"""For everything that the beginning causes: retries, events, windows."""
STREAMS: Final = (20, 24, 16, 22, 18, 24, 17, 23, 16, 20, 24, 16)
"""Twenty, by a fifth more and less, for five minutes each."""
TARGET: Final[dict[str, Any]] = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeployment",
    "metadata": {"name": KEY.name, "namespace": KEY.namespace},
    "spec": {
        "model": {"name": "Qwen/Qwen3-8B"},
        "engine": {"name": "vLLM"},
        "roles": [{"name": "server", "kind": "Server", "instanceType": "gpu", "replicas": 2}],
    },
}
SCALER: Final[dict[str, Any]] = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeploymentScaler",
    "metadata": {"name": KEY.name, "namespace": KEY.namespace},
    "spec": {
        "targetRef": {"name": KEY.name},
        "mode": "Active",
        "sampling": {"intervalSeconds": 60},
        "roles": [{"name": "server", "maxReplicas": 8}],
        "algorithm": {
            "proportional": {
                "metric": "QueueDepth",
                "tolerance": "0.25",
                "roleTargets": [{"name": "server", "target": "10"}],
            }
        },
    },
}


async def stored(scenario: Scenario) -> ModelDeploymentScaler:
    return ModelDeploymentScaler.from_wire(await scenario.admin.get(resources.scalers(), KEY))


async def settled(scenario: Scenario) -> None:
    """Bound, and measured with every replica ready."""
    async with asyncio.timeout(90):
        while not is_settled((await stored(scenario)).status):
            scenario.require_running()
            await asyncio.sleep(0.2)


def is_settled(status: ScalerStatus) -> bool:
    conditions, role = {it.type: it.status.value for it in status.conditions}, status.role("server")
    is_ready = role is not None and role.ready_replicas == 2 and role.reason == "WithinTolerance"
    return is_ready and conditions.get("Active") == conditions.get("MetricsReady") == "True"


async def explained(scenario: Scenario) -> dict[str, Any]:
    url = f"http://127.0.0.1:{scenario.controller_health_port}/debug/scalers/{KEY.namespace}/{KEY.name}"
    async with aiohttp.ClientSession(trust_env=False) as session, session.get(url) as response:
        assert response.status == 200
        document: dict[str, Any] = await response.json()
        return document


def shown(writes: list[Write]) -> list[str]:
    return [f"{write.user} {write.verb} {write.resource} {write.name} {write.code}" for write in writes]


async def test_an_hour_within_the_tolerance_writes_nothing_but_the_lease(tmp_path):
    clock = SteadyClock(factor=FACTOR, epoch=1.8e9)
    settings = ScenarioSettings(logs=tmp_path, clock=clock)
    async with EmbeddedPlane(now=clock.now, definitions=definitions()) as plane, playing(settings, plane) as scenario:
        await scenario.create(resources.deployments(), TARGET)
        await scenario.start_processes()
        await scenario.create(resources.scalers(), SCALER)
        host = scenario.park.of(KEY, "vLLM")
        host.catch_up()
        phases = (
            Phase(name="warm", seconds=WARM_SECONDS, concurrency=20),
            *(Phase(name="load", seconds=HOUR / len(STREAMS), concurrency=streams) for streams in STREAMS),
        )
        loop = ClosedLoop(fleet=host.fleet, recorder=Recorder(), random=Random(1), phases=phases, shape=TextShape())
        loop.start()
        await settled(scenario)
        while loop.phase is not None and loop.phase.name == "warm":
            await clock.sleep(10)
        before, ledger = await stored(scenario), plane.cluster.ledger
        seen = len(ledger.writes)
        loads, passes = [], set()
        for _ in range(59):
            await clock.sleep(60)
            found = await explained(scenario)
            loads.append(found["roles"]["server"]["recommendation"]["demand"])
            passes.add(found["sampledAt"])
        writes = list(ledger.writes)[seen:]
        after = await stored(scenario)
    assert len(passes) > 50, "the controller sampled all the time"
    assert min(loads) <= 17 and max(loads) >= 23, f"the load varied: {loads}"  # noqa: PT018
    by_product = [write for write in writes if write.user in {Identity.CONTROLLER, Identity.WEBHOOK}]
    assert shown([write for write in by_product if write.resource != "leases"]) == []
    assert [write for write in writes if write.resource == "events"] == []
    assert len(by_product) > 10, "the lease was renewed"
    assert after.metadata.resource_version == before.metadata.resource_version
