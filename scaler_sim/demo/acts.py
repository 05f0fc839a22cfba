"""The story: a target comes up, a scaler takes it, load rises and falls, and people make two mistakes."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final

from scaler_core.api.meta import ConditionStatus
from scaler_core.api.reasons import ConditionType
from scaler_kube import errors, resources
from scaler_sim.demo import manifests
from scaler_sim.demo.manifests import MAXIMUM, MINIMUM, SCALER, TARGET
from scaler_sim.demo.stage import DemoError, Stage
from scaler_sim.demo.summary import Refused
from scaler_sim.scenario.plane import Identity
from scaler_sim.workload.closed_loop import BENCHMARK, ClosedLoop, Phase, TextShape

LOOK_SECONDS: Final = 0.1  # real seconds
EDIT_AFTER_SECONDS: Final = 20.0  # clock seconds into the sustain phase
SCHEDULE: Final = (*BENCHMARK[:-1], Phase(name="cooldown", seconds=None, concurrency=BENCHMARK[-1].concurrency))
"""The benchmark's text schedule, whose cooldown goes on until the counts are back at the minimum."""


async def set_up(stage: Stage) -> None:
    """Bring up target, processes and scaler.

    Raises:
        DemoError: admission let an impossible scaler pass.
    """
    scenario = stage.scenario
    await scenario.create(resources.deployments(), manifests.target(stage.settings.engine))
    stage.screen.say(
        f"Created ModelDeployment {TARGET}: one prefill and one decode replica on {stage.settings.engine}."
    )
    await scenario.start_processes()
    stage.screen.say("Webhook and controller run as processes of their own.")
    url = f"http://127.0.0.1:{stage.scenario.controller_health_port}"
    stage.screen.say(f"Ask why at any time: mds explain {SCALER.name} -n {SCALER.namespace} --controller {url}")
    await _refused_scaler(stage)
    await scenario.create(resources.scalers(), manifests.scaler(stage.settings.algorithm))
    stage.screen.say(
        f"Created ModelDeploymentScaler {SCALER}: Active, {stage.settings.algorithm.value}, 1 to 2 replicas."
    )
    await _until(lambda: _is_true(stage, ConditionType.BOUND) and _is_ready(stage))


async def load(stage: Stage) -> None:
    """Play the schedule, until the counts are back at the minimum.

    Raises:
        DemoError: the fence let a user change the counts.
    """
    host = stage.scenario.park.of(TARGET, stage.settings.engine.value)
    host.catch_up()
    stage.loop = ClosedLoop(
        fleet=host.fleet,
        recorder=stage.recorder,
        random=Random(stage.settings.seed),
        phases=SCHEDULE,
        shape=TextShape(),
    )
    stage.began_at, stage.epoch = stage.now, host.epoch
    stage.journal.begin(stage.now)
    stage.loop.start()
    await _until(lambda: stage.current_phase == "sustain" and stage.now > stage.phase_at + EDIT_AFTER_SECONDS)
    await _refused_counts(stage)
    await _until(lambda: stage.current_phase == "cooldown")
    await _until(lambda: _is_at_minimum(stage))
    stage.screen.say("Counts are back at the minimum and every retired replica is gone: the load ends.")
    stage.loop.stop()
    await _until(lambda: host.fleet.in_flight == 0)


async def _refused_scaler(stage: Stage) -> None:
    document = manifests.impossible_scaler(stage.settings.algorithm)
    what = f"creating scaler {manifests.IMPOSSIBLE.name} with prefill:decode >= 3 within 1 to 2 replicas"
    create = stage.scenario.user.create(resources.scalers(), manifests.IMPOSSIBLE.namespace, document)
    await _expect_refusal(stage, what, create)


async def _refused_counts(stage: Stage) -> None:
    edit = {"op": "replace", "path": "/spec/roles/0/replicas", "value": MAXIMUM + 3}
    what = f"setting prefill to {MAXIMUM + 3} replicas by hand, as {stage.scenario.credentials(Identity.USER).username}"
    await _expect_refusal(stage, what, stage.scenario.user.patch_json(resources.deployments(), TARGET, [edit]))


async def _expect_refusal(stage: Stage, what: str, write: Awaitable[Any]) -> None:
    try:
        await write
    except errors.ForbiddenError as error:
        stage.refusals.append(Refused(what=what, message=error.message))
        stage.screen.say(f"Refused, {what}:\n  {error.message}")
        return
    raise DemoError(f"admission let it pass: {what}")


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 -- what is waited for happens in a simulated cluster, seen by looking
        await asyncio.sleep(LOOK_SECONDS)


def _is_true(stage: Stage, condition: ConditionType) -> bool:
    found = None if stage.scaler is None else stage.scaler.status.condition(condition)
    return found is not None and found.status is ConditionStatus.TRUE


def _is_ready(stage: Stage) -> bool:
    return stage.target is not None and stage.target.status.phase == "Ready"


def _is_at_minimum(stage: Stage) -> bool:
    target = stage.target
    return (
        target is not None
        and all(count == MINIMUM for count in target.vector.values())
        and target.status.retirement is None
        and all(role.ready == MINIMUM for role in target.status.roles)
    )
