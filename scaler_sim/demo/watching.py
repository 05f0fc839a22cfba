"""Looking at the cluster all the time: what the screen shows and what the journal keeps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_kube import errors, resources
from scaler_sim.demo.live import live_roles
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
        await _look(stage, metrics="")
        watcher.cancel()


async def _watch(stage: Stage) -> None:
    url = f"http://127.0.0.1:{stage.scenario.controller_health_port}/metrics"
    async with aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=1)) as session:
        while True:
            stage.scenario.require_running()
            await _look(stage, await _text(session, url))
            await asyncio.sleep(LOOK_SECONDS)


async def _text(session: aiohttp.ClientSession, url: str) -> str:
    try:
        async with session.get(url) as response:
            return await response.text() if response.status == 200 else ""
    except (aiohttp.ClientError, TimeoutError):
        return ""  # the controller is still starting, or ending; whether it runs is checked apart


async def _look(stage: Stage, metrics: str) -> None:
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
    decision = stage.journal.observe(stage.now, stage.phase_name, stage.target, status)
    if decision is not None:
        stage.screen.say(f"Decision at {decision.at:.0f} s: {decision.sentence()}")
    stage.screen.show(_frame(stage, stage.target, status, metrics))


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


def _frame(stage: Stage, target: ModelDeployment, status: ScalerStatus, metrics: str) -> Frame:
    phase = None if stage.loop is None else stage.loop.phase
    ready = {role.name: role.ready for role in target.status.roles}
    return Frame(
        at=stage.now - (stage.now if stage.began_at is None else stage.began_at),
        phase=stage.phase_name,
        phase_seconds=stage.now - stage.phase_at,
        phase_length=None if phase is None else phase.seconds,
        streams=0 if phase is None else phase.concurrency,
        roles=live_roles(target.vector, ready, status, metrics, SCALER),
        conditions=status.conditions,
    )
