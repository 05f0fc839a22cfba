"""The API server, or its storage, goes away between the intent and the commit; the controller's process lives on."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from e2e.controlplane import LocalControlPlane
from e2e.product import Product, product
from e2e.worlds import OPERATOR, World, is_stopped, scaler_document, target_document, until, watching
from scaler_core.api.ownership import DECISION, parse_decision
from scaler_kube import resources

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
OUTAGE_SECONDS = 4.0  # real ones: longer than a write may take
FLAGS = ("--pause-at", "before-commit", "--lease-seconds", "40", "--lease-renew-seconds", "30")
"""Real seconds: a lease that outlives the outage, or else the process would have to end."""
BUSY = 24
UP = [{"prefill": count, "decode": count} for count in (2, 3, 4)]

Outage = Callable[[LocalControlPlane], Awaitable[None]]


@pytest.mark.parametrize(
    ("stop", "start"),
    [
        pytest.param(LocalControlPlane.stop_etcd, LocalControlPlane.start_etcd, id="etcd"),
        pytest.param(LocalControlPlane.stop_api_server, LocalControlPlane.start_api_server, id="the API server"),
    ],
)
async def test_an_outage_in_the_middle_of_a_commit_costs_time_and_nothing_else(
    stop: Outage, start: Outage, tmp_path: Path
) -> None:
    async with product(tmp_path, operator=OPERATOR, controller_flags=FLAGS) as running:
        world = World(scenario=running.scenario, audit=list)
        await running.scenario.create(resources.deployments(), target_document())
        await running.scenario.create(resources.scalers(), scaler_document({}))
        process = running.scenario.controller.pid
        async with watching(world) as watcher:
            world.load(BUSY)
            await until("the intent is stored", lambda: is_stopped(running.scenario.controller), world=world)
            pending = (await world.status()).pending_commit
            assert pending is not None
            await stop(running.plane)
            running.scenario.controller.signal(signal.SIGCONT)
            await asyncio.sleep(OUTAGE_SECONDS)
            await start(running.plane)
            await until("at the maximum", lambda: goes_on(running, len(watcher.commits)), world=world, seconds=120)
            await until("at rest", lambda: is_at_rest(world), world=world)
            assert [dict(commit.after) for commit in watcher.commits] == UP
            decisions = [parse_decision(commit.annotations[DECISION]) for commit in watcher.commits]
            assert [dict(decision.vector) for decision in decisions] == UP
            assert len({decision.decision_id for decision in decisions}) == len(UP)
            assert running.scenario.controller.pid == process, "it never ended"


def goes_on(running: Product, landed: int) -> bool:
    """Whether every step landed; until then the controller is let go wherever it stops."""
    if landed < len(UP) and is_stopped(running.scenario.controller):
        running.scenario.controller.signal(signal.SIGCONT)
    return landed == len(UP)


async def is_at_rest(world: World) -> bool:
    status = await world.status()
    return status.pending_commit is None and status.pending_cohort is None
