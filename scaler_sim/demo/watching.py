"""Looking at the cluster all the time: what the screen shows and what the journal keeps."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_kube import errors, resources
from scaler_sim.demo.live import demands, live_roles
from scaler_sim.demo.manifests import SCALER, TARGET
from scaler_sim.demo.screen import Frame
from scaler_sim.demo.stage import Stage

LOOK_SECONDS: Final = 0.2  # real seconds between two looks at the cluster


@asynccontextmanager
async def watched(stage: Stage) -> AsyncIterator[None]:
    """Look at the cluster all the time, and let the demo end when a process does."""
    async with asyncio.TaskGroup() as tasks:
        watcher = tasks.create_task(_watch(stage), name="watch")
        yield
        watcher.cancel()
        await asyncio.wait({watcher})
        await _look(stage, explained={})


async def _watch(stage: Stage) -> None:
    url = f"http://127.0.0.1:{stage.scenario.controller_health_port}/debug/scalers/{SCALER.namespace}/{SCALER.name}"
    async with aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=1)) as session:
        while True:
            stage.scenario.require_running()
            await _look(stage, await _explained(session, url))
            await asyncio.sleep(LOOK_SECONDS)


async def _explained(session: aiohttp.ClientSession, url: str) -> Mapping[str, Any]:
    try:
        async with session.get(url) as response:
            explained: Mapping[str, Any] = await response.json() if response.status == 200 else {}
            return explained
    except (aiohttp.ClientError, TimeoutError):
        return {}  # the controller is still starting, or ending; whether it runs is checked apart


async def _look(stage: Stage, explained: Mapping[str, Any]) -> None:
    admin = stage.scenario.admin
    try:
        stage.target = ModelDeployment.from_wire(await admin.get(resources.deployments(), TARGET))
    except errors.NotFoundError:
        return
    try:
        stage.scaler = ModelDeploymentScaler.from_wire(await admin.get(resources.scalers(), SCALER))
    except errors.NotFoundError:
        stage.scaler = None
    _note_phase(stage)
    status = ScalerStatus() if stage.scaler is None else stage.scaler.status
    stage.journal.observe(stage.now, stage.current_phase, stage.target, status, demands(explained))
    if stage.journal.untold:
        for decision in stage.journal.explain(await _notes(stage)):
            stage.screen.say(f"Decision at {decision.at:.0f} s: {decision.sentence()}")
    stage.screen.show(_frame(stage, stage.target, status, explained))


async def _notes(stage: Stage) -> Mapping[str, str]:
    listing = await stage.scenario.admin.list_all(resources.EVENTS, namespace=SCALER.namespace)
    return {
        event["metadata"]["name"]: event.get("note", "")
        for event in listing.items
        if (event.get("regarding") or {}).get("name") == SCALER.name
    }


def _note_phase(stage: Stage) -> None:
    name = stage.current_phase
    if name == stage.phase_name:
        return
    stage.phase_name = name
    stage.phase_at = stage.now if stage.loop is None else stage.epoch + stage.loop.phase_started_at
    if name == "ramp":
        stage.journal.ramp_at = stage.phase_at
    phase = None if stage.loop is None else stage.loop.phase
    if phase is not None:
        stage.screen.say(f"Phase {name}: {phase.concurrency} concurrent streams.")


def _frame(stage: Stage, target: ModelDeployment, status: ScalerStatus, explained: Mapping[str, Any]) -> Frame:
    phase = None if stage.loop is None else stage.loop.phase
    return Frame(
        at=stage.now - (stage.now if stage.began_at is None else stage.began_at),
        phase=stage.phase_name,
        phase_seconds=stage.now - stage.phase_at,
        phase_length=None if phase is None else phase.seconds,
        streams=0 if phase is None else phase.concurrency,
        roles=live_roles(target, explained),
        conditions=status.conditions,
    )
