"""One demo from beginning to end, and what it says when it fails."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_kube.clock import SteadyClock
from scaler_kube.errors import KubeError
from scaler_sim.demo import acts, manifests
from scaler_sim.demo.defaults import changed_defaults
from scaler_sim.demo.screen import Screen, condition_words
from scaler_sim.demo.settings import DemoSettings
from scaler_sim.demo.stage import DemoError, Stage
from scaler_sim.demo.summary import Summary
from scaler_sim.demo.watching import watched
from scaler_sim.scenario.process import ProcessError
from scaler_sim.scenario.scenario import ScenarioSettings, playing


async def perform(settings: DemoSettings, screen: Screen, logs: Path) -> Summary:
    """Play the demo; nothing of it is left behind, whatever happens.

    Args:
        settings: engine, algorithm and speed.
        screen: where it is shown.
        logs: folder for the logs of controller and webhook.

    Raises:
        DemoError: it failed; the text says why, with the end of the logs.
    """
    real = SteadyClock()
    began = real.now()
    clock = SteadyClock(factor=settings.speed, epoch=float(int(began)))
    screen.say(f"One clock for every process, {settings.speed:g} times as fast as real time. Logs are in {logs}.")
    stages: list[Stage] = []
    try:
        async with (
            asyncio.timeout(settings.limit_seconds),
            playing(ScenarioSettings(logs=logs, clock=clock, seed=settings.seed)) as scenario,
        ):
            stage = Stage(settings=settings, scenario=scenario, screen=screen, phase_at=clock.now())
            stages.append(stage)
            async with watched(stage):
                await acts.set_up(stage)
                await acts.load(stage)
            return _summary(stage, real.now() - began)
    except (DemoError, ProcessError, KubeError, TimeoutError, BaseExceptionGroup) as error:
        reasons = list(_known(error, settings))
        if not reasons:
            raise
        raise DemoError(
            "\n".join([*dict.fromkeys(reasons), *(line for s in stages for line in _last_seen(s))])
        ) from error


def _known(error: BaseException, settings: DemoSettings) -> Iterator[str]:
    """The reasons that are told in words; anything else is a fault of the demo itself and keeps its trace."""
    match error:
        case BaseExceptionGroup():
            for inner in error.exceptions:
                yield from _known(inner, settings)
        case TimeoutError():
            yield f"it was not over within {settings.limit_seconds:.0f} s"
        case DemoError() | ProcessError() | KubeError():
            yield str(error)
        case _:
            return


def _last_seen(stage: Stage) -> Iterator[str]:
    counts = ", ".join(f"{role} {count}" for role, count in stage.journal.counts.items())
    yield f"Last seen: phase {stage.phase_name}, counts {counts or 'none'}"
    for condition in stage.scaler.status.conditions if stage.scaler is not None else ():
        yield f"  {condition_words(condition)}: {condition.message}"
    for child in (stage.scenario.controller, stage.scenario.webhook):
        yield child.tail()


def _summary(stage: Stage, real_seconds: float) -> Summary:
    spec = ModelDeploymentScaler.from_wire(manifests.scaler(stage.settings.algorithm)).spec
    journal = stage.journal
    return Summary(
        settings=stage.settings,
        decisions=tuple(journal.decisions),
        lead_seconds=journal.lead_seconds,
        was_above_before_ramp=journal.was_above_before_ramp,
        phases=stage.recorder.results(),
        replica_seconds=journal.replica_seconds,
        final_counts=journal.counts,
        changed_defaults=changed_defaults(spec),
        refusals=tuple(stage.refusals),
        clock_seconds=0.0 if stage.began_at is None else stage.now - stage.began_at,
        real_seconds=real_seconds,
    )
