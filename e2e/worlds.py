"""A running world on the embedded or on a real API server, with what tests of crashes need of both."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, Final

from e2e.product import Product, Watcher, following, product
from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_kube import resources
from scaler_kube.clock import SteadyClock
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.plane import EmbeddedPlane
from scaler_sim.scenario.process import Child, free_port
from scaler_sim.scenario.scenario import Scenario, ScenarioSettings, definitions, playing
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

KEY: Final = ObjectKey("default", "llm")
FACTOR: Final = 8.0
OPERATOR: Final = OperatorSettings(warm_up_seconds=15, withdraw_seconds=5, delete_seconds=10)
LEASE_FLAGS: Final = ("--lease-seconds", "6", "--lease-renew-seconds", "4", "--lease-retry-seconds", "0.5")
"""Real seconds: short enough that a test can wait for the end of a lease."""
STOPPED: Final = "T"


class Server(StrEnum):
    """Whose API the product talks to."""

    EMBEDDED = "embedded"
    REAL = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedWrite:
    """A write as the API server saw it."""

    agent: str
    verb: str
    resource: str
    code: int

    @property
    def took_effect(self) -> bool:
        """Whether it was accepted."""
        return 200 <= self.code < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One target with its scaler, both processes of the product, and the API server's view of them."""

    scenario: Scenario
    audit: Callable[[], list[AuditedWrite]]
    """All writes so far, in order."""

    async def status(self) -> ScalerStatus:
        """The scaler's status as stored."""
        document = await self.scenario.admin.get(resources.scalers(), KEY)
        return ModelDeploymentScaler.from_wire(document).status

    async def target(self) -> dict[str, Any]:
        """The target as stored."""
        return await self.scenario.target(KEY)

    def load(self, concurrency: int) -> ClosedLoop:
        """So many streams on the target's engines, begun now."""
        host = self.scenario.park.of(KEY, "vLLM")
        host.catch_up()
        phases = (Phase(name="load", seconds=None, concurrency=concurrency),)
        loop = ClosedLoop(
            fleet=host.fleet, recorder=Recorder(), phases=phases, shape=TextShape(), random=Random("crashes")
        )
        loop.start()
        return loop

    async def kill(self) -> None:
        """kill -9 of the controller."""
        self.scenario.controller.signal(signal.SIGKILL)
        assert await self.scenario.controller.wait(10) == -signal.SIGKILL

    async def start_again(self, *flags: str) -> None:
        """Start the controller anew, with other flags than before."""
        self.scenario.controller.arguments = (*_plain(self.scenario.controller.arguments), *flags)
        await self.scenario.start_controller()

    def second_controller(self, *flags: str) -> Child:
        """Another controller process for the same cluster; the caller starts and stops it."""
        first = self.scenario.controller
        arguments = list(_plain(first.arguments))
        arguments[arguments.index("--health-port") + 1] = str(free_port())
        log = self.scenario.settings.logs / "second-controller.log"
        return replace(first, name="second controller", arguments=(*arguments, *flags), log=log)


@asynccontextmanager
async def running(server: Server, folder: Path, scaler: Mapping[str, Any], *flags: str) -> AsyncIterator[World]:
    """A world whose target has a replica of each role and whose scaler was just created.

    Args:
        server: embedded or real.
        folder: for logs and kubeconfigs.
        scaler: members of the scaler's spec.
        flags: of the controller, beside short lease times.
    """
    async with _started(server, folder, (*LEASE_FLAGS, *flags)) as world:
        await world.scenario.create(resources.deployments(), target_document())
        await world.scenario.create(resources.scalers(), scaler_document(scaler))
        yield world


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[Watcher]:
    """Follow every move of the counts while the context lasts."""
    async with following(world.scenario, KEY) as watcher:
        yield watcher


async def until(what: str, look: Callable[[], Awaitable[Any] | Any], *, world: World, seconds: float = 60.0) -> Any:
    """Poll until something true is seen.

    Raises:
        AssertionError: it was not seen in that many real seconds.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"not within {seconds:g} s: {what}\n{world.scenario.controller.tail(40)}")


def is_stopped(child: Child) -> bool:
    """Whether a process has stopped itself (or was stopped)."""
    child.require_running()
    text = Path(f"/proc/{child.pid}/stat").read_text()
    return text.rpartition(")")[2].split()[0] == STOPPED


def target_document() -> dict[str, Any]:
    """A prefill/decode pair, one replica of each."""
    roles = [
        {"name": kind.lower(), "kind": kind, "replicas": 1, "instanceType": "gpu"} for kind in ("Prefill", "Decode")
    ]
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM"},
            "router": {"name": "llm-d-router"},
            "roles": roles,
        },
    }


def scaler_document(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A scaler that steps by one replica of each role, so that the way up and down is one sequence of vectors."""
    targets = [{"name": name, "target": "3"} for name in ("prefill", "decode")]
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "targetRef": {"name": KEY.name},
            "mode": "Active",
            "sampling": {"intervalSeconds": 10},
            "roles": [{"name": name, "minReplicas": 1, "maxReplicas": 4} for name in ("prefill", "decode")],
            "ratios": [
                {"numeratorRole": "prefill", "denominatorRole": "decode", "target": "1", "min": "1", "max": "1"}
            ],
            "algorithm": {"proportional": {"metric": "RunningRequests", "roleTargets": targets}},
            "behavior": {
                "scaleUp": {"stepPolicy": {"type": "Pods", "value": 1}},
                "scaleDown": {"stabilizationWindowSeconds": 40, "decodePostScaleUpGraceSeconds": 1},
            },
            **spec,
        },
    }


@asynccontextmanager
async def _started(server: Server, folder: Path, flags: tuple[str, ...]) -> AsyncIterator[World]:
    if server is Server.REAL:
        async with product(folder, operator=OPERATOR, factor=FACTOR, controller_flags=flags) as found:
            yield World(scenario=found.scenario, audit=lambda: _audited(found))
        return
    clock = SteadyClock(factor=FACTOR, epoch=time.time())
    settings = ScenarioSettings(logs=folder, clock=clock, operator=OPERATOR, controller_flags=flags)
    async with (
        EmbeddedPlane(now=clock.now, definitions=definitions()) as plane,
        playing(settings, plane) as scenario,
    ):
        await scenario.start_processes()
        yield World(scenario=scenario, audit=lambda: _recorded(plane))


def _recorded(plane: EmbeddedPlane) -> list[AuditedWrite]:
    return [
        AuditedWrite(agent=write.user_agent, verb=write.verb, resource=write.resource, code=write.code)
        for write in plane.cluster.ledger.writes
    ]


def _audited(found: Product) -> list[AuditedWrite]:
    reads = {"get", "list", "watch"}
    events = [event for event in found.plane.audit() if event["verb"] not in reads and "objectRef" in event]
    return [
        AuditedWrite(
            agent=event.get("userAgent", ""),
            verb=event["verb"],
            resource="/".join(filter(None, (event["objectRef"]["resource"], event["objectRef"].get("subresource")))),
            code=event.get("responseStatus", {}).get("code", 0),
        )
        for event in sorted(events, key=lambda event: event["stageTimestamp"])
    ]


def _plain(arguments: Any) -> tuple[str, ...]:
    """Arguments without what earlier starts added for a crash."""
    kept = list(arguments)
    for flag in ("--pause-at", "--identity"):
        while flag in kept:
            place = kept.index(flag)
            del kept[place : place + 2]
    return tuple(kept)
