"""Engines that answer badly, before the real controller: what it holds, what it still does, and what it says."""

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_spec import AlgorithmType
from scaler_core.model.scrape import Engine
from scaler_kube import resources
from scaler_kube.clock import SteadyClock
from scaler_sim.demo import manifests
from scaler_sim.demo.manifests import SCALER, TARGET
from scaler_sim.engines.faults import Fault
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.engines.host import EngineHost
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.scenario import Scenario, ScenarioSettings, playing
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]
FACTOR = 5.0  # reads are limited in real seconds, and a sample with a silent engine must fit an interval
FAULTS = {
    Fault.GARBAGE: "",
    Fault.ERROR: "HTTP 500",
    Fault.REDIRECT: "HTTP 307",
    Fault.HUGE: "4 MiB",
    Fault.SILENT: "within",
    Fault.SLOW: "within",
}
BROKEN = ReplicaKey("prefill", 0)


async def until(holds: Callable[[ModelDeploymentScaler], bool], scenario: Scenario, seconds: float = 30.0) -> str:
    """Wait for a state of the scaler; the message of MetricsReady then."""
    async with asyncio.timeout(seconds):
        while True:
            scenario.require_running()
            scaler = ModelDeploymentScaler.from_wire(await scenario.admin.get(resources.scalers(), SCALER))
            if holds(scaler):
                return metrics(scaler).message
            await asyncio.sleep(0.1)


def load(host: EngineHost, streams: int) -> ClosedLoop:
    host.catch_up()
    phases = (Phase(name="constant", seconds=None, concurrency=streams),)
    loop = ClosedLoop(fleet=host.fleet, recorder=Recorder(), random=Random(1), phases=phases, shape=TextShape())
    loop.start()
    return loop


def metrics(scaler: ModelDeploymentScaler):
    return scaler.status.condition("MetricsReady")


def is_observed(scaler: ModelDeploymentScaler) -> bool:
    return metrics(scaler) is not None and metrics(scaler).status == "True"


async def counts(scenario: Scenario) -> dict[str, int]:
    return {role["name"]: role["replicas"] for role in (await scenario.target(TARGET))["spec"]["roles"]}


async def test_a_bad_engine_is_named_holds_shrinkage_and_does_not_stop_growth(tmp_path):
    operator = OperatorSettings(warm_up_seconds=8)
    settings = ScenarioSettings(logs=tmp_path, clock=SteadyClock(factor=FACTOR, epoch=1.8e9), operator=operator)
    async with playing(settings) as scenario:
        target = manifests.target(Engine.VLLM)
        scaler = manifests.scaler(AlgorithmType.TOKEN_THROUGHPUT)
        for role, bounds in zip(target["spec"]["roles"], scaler["spec"]["roles"], strict=True):
            role["replicas"], bounds["maxReplicas"] = 2, 4
        scaler["spec"]["sampling"] = {"intervalSeconds": 15}
        scaler["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 30}}
        scaler["spec"]["algorithm"]["tokenThroughput"]["stableWindowSeconds"] = 30
        await scenario.create(resources.deployments(), target)
        await scenario.start_processes()
        await scenario.create(resources.scalers(), scaler)
        host = scenario.park.of(TARGET, "vLLM")
        two_needed = load(host, streams=3)
        await until(is_observed, scenario)
        for fault, words in FAULTS.items():
            host.break_with(BROKEN, fault)
            message = await until(lambda scaler: not is_observed(scaler), scenario)
            assert "chat-prefill-" in message, fault
            assert words in message, fault
            host.break_with(BROKEN, None)
            await until(is_observed, scenario)
        host.break_with(BROKEN, Fault.GARBAGE)
        two_needed.stop()
        one_needed = load(host, streams=1)
        await asyncio.sleep(120 / FACTOR)
        assert (await counts(scenario))["prefill"] == 2, "one is enough, but an engine could not be read"
        one_needed.stop()
        load(host, streams=48)
        async with asyncio.timeout(60):
            while (await counts(scenario))["prefill"] < 3:
                scenario.require_running()
                await asyncio.sleep(0.2)
