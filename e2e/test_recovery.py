"""What goes wrong with capacity and with people, on a real API server: and what the product makes of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from e2e.product import Product, Watcher, product, watching
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING, DECISION, parse_binding
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_kube import errors, resources
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
KEY = ObjectKey("default", "llm")
BUSY = 24
START = {"prefill": 1, "decode": 2}
FULL = {"gpu": 3}
"""No room beyond what is there."""


def deployment() -> dict[str, Any]:
    kinds = {"prefill": "Prefill", "decode": "Decode"}
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM"},
            "router": {"name": "llm-d-router"},
            "roles": [
                {"name": role, "kind": kinds[role], "instanceType": "gpu", "replicas": count}
                for role, count in START.items()
            ],
        },
    }


def scaler(tolerance: str = "0.1", window: int = 40, **spec: Any) -> dict[str, Any]:
    """Prefill never has enough, Decode always has too much (or, with a wide tolerance, just enough)."""
    targets = [{"name": "prefill", "target": "1"}, {"name": "decode", "target": "100"}]
    proportional = {"metric": "QueueDepth", "tolerance": tolerance, "roleTargets": targets}
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "targetRef": {"name": KEY.name},
            "mode": "Active",
            "sampling": {"intervalSeconds": 10, "pendingTimeoutSeconds": 60},
            "roles": [{"name": "prefill", "maxReplicas": 2}, {"name": "decode", "maxReplicas": 4}],
            "algorithm": {"proportional": proportional},
            "behavior": {
                "scaleUp": {"stepPolicy": {"type": "Pods", "value": 1}},
                "scaleDown": {
                    "stabilizationWindowSeconds": window,
                    "cooldownAfterAbortSeconds": 80,
                    "decodePostScaleUpGraceSeconds": 1,
                },
            },
            **spec,
        },
    }


@asynccontextmanager
async def world(folder: Path, quota: dict[str, int]) -> AsyncIterator[tuple[Product, Watcher]]:
    """A target at START with everything ready, no scaler yet, and a watch on it."""
    operator = OperatorSettings(warm_up_seconds=10, withdraw_seconds=5, delete_seconds=10, quota=quota)
    async with product(folder, operator=operator) as running:
        await running.scenario.create(resources.deployments(), deployment())
        await running.eventually("the replicas serve", lambda: is_serving(running))
        async with watching(running, KEY) as watcher:
            yield running, watcher


async def is_serving(running: Product) -> bool:
    document = await running.scenario.target(KEY)
    roles = (document.get("status") or {}).get("roles") or ()
    return len(roles) == 2 and all(role.get("ready") == START[role["name"]] for role in roles)


def load(running: Product) -> ClosedLoop:
    host = running.scenario.park.of(KEY, "vLLM")
    host.catch_up()
    phases = (Phase(name="load", seconds=None, concurrency=BUSY),)
    loop = ClosedLoop(fleet=host.fleet, recorder=Recorder(), phases=phases, shape=TextShape(), random=Random(1))
    loop.start()
    return loop


async def status(running: Product) -> ScalerStatus:
    document = await running.scenario.admin.get(resources.scalers(), KEY)
    return ModelDeploymentScaler.from_wire(document).status


def seen(watcher: Watcher) -> list[dict[str, int]]:
    return [dict(commit.after) for commit in watcher.commits]


def shows(running: Product, type_: str, reason: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return (await running.condition(KEY.name, type_))[1] == reason

    return look


def has(watcher: Watcher, count: int) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        await asyncio.sleep(0)
        return len(watcher.commits) >= count

    return look


async def events(running: Product) -> set[str]:
    listing = await running.scenario.admin.list_all(resources.EVENTS, namespace=KEY.namespace)
    return {event["reason"] for event in listing.items}


async def test_growth_without_quota_is_rolled_back_waits_longer_each_time_and_is_met_by_new_quota(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, FULL) as (running, watcher):
        load(running)
        spec = scaler(tolerance="1", rebalance={"policy": "Disabled"})
        await running.scenario.create(resources.scalers(), spec)
        await running.eventually("grew and was rolled back", has(watcher, 2), seconds=60)
        assert seen(watcher) == [{"prefill": 2, "decode": 2}, START]
        await running.eventually("said so", shows(running, "Blocked", "ResourceExhausted"))
        first = (await status(running)).exhaustion
        assert first is not None
        assert first.attempts == 1
        await running.eventually("tried again", has(watcher, 3), seconds=60)
        assert running.scenario.settings.clock.now() >= first.retry_at
        await running.eventually("and rolled back again", has(watcher, 4), seconds=60)
        second = (await status(running)).exhaustion
        assert second is not None
        assert second.attempts == 2
        assert second.episode_generation == first.episode_generation
        running.scenario.operator.set_quota("gpu", None)
        await running.eventually("grew for good", shows(running, "Blocked", "Ready"), seconds=90)
        assert seen(watcher) == [{"prefill": 2, "decode": 2}, START] * 2 + [{"prefill": 2, "decode": 2}]
        assert {"RolledBack", "ResourceExhausted", "Admitted"} <= await events(running)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(
            scaler(window=150, sampling={"intervalSeconds": 10, "pendingTimeoutSeconds": 100}),
            id="Opposing: from a role that wants to shrink",
        ),
        pytest.param(
            scaler(tolerance="1", rebalance={"policy": "Priority", "priority": ["prefill", "decode"]}),
            id="Priority: from a role that holds",
        ),
    ],
)
async def test_a_replica_moves_to_the_role_that_found_no_quota(policy: dict[str, Any], tmp_path: Path) -> None:
    async with world(tmp_path, FULL) as (running, watcher):
        load(running)
        await running.scenario.create(resources.scalers(), policy)
        await running.eventually("both legs landed", has(watcher, 4), seconds=120)
        grown, released, acquired = (
            {"prefill": 2, "decode": 2},
            {"prefill": 1, "decode": 1},
            {"prefill": 2, "decode": 1},
        )
        assert seen(watcher) == [grown, START, released, acquired]

        async def is_over() -> bool:
            found = (await status(running)).rebalance
            return found is not None and found.reason == "DonationAttempted"

        await running.eventually("the receiver's replica was admitted", is_over, seconds=60)
        found = (await status(running)).rebalance
        assert found is not None
        assert (found.donor_role, found.receiver_role, found.donation_attempted) == ("decode", "prefill", True)
        await running.eventually("nothing holds", shows(running, "Blocked", "Ready"), seconds=60)
        assert len(watcher.commits) == 4, "one donation for the episode"
        assert {"DonorReleased", "Retired", "ReceiverAcquired", "Admitted"} <= await events(running)


async def test_an_aborted_retirement_is_undone_once_and_nothing_shrinks_before_its_cooldown_ends(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, {}) as (running, watcher):
        running.scenario.operator.abort_retirement(KEY)
        await running.scenario.create(resources.scalers(), scaler())
        await running.eventually("shrank, and was restored", has(watcher, 2), seconds=60)
        assert seen(watcher) == [{"prefill": 1, "decode": 1}, START]
        await running.eventually("said so", shows(running, "Blocked", "ScaleDownAborted"))
        last = (await status(running)).last_scale_down
        assert last is not None
        assert last.outcome == "Aborted"
        assert last.aborted_at is not None
        assert last.cooldown_until == pytest.approx(last.aborted_at + 80, abs=2)
        await running.eventually("shrank anew", has(watcher, 3), seconds=60)
        assert running.scenario.settings.clock.now() >= last.cooldown_until
        assert seen(watcher)[2:] == [{"prefill": 1, "decode": 1}]
        await running.eventually("retired", lambda: is_retired(running), seconds=60)
        assert len(watcher.commits) == 3
        assert {"ScaleDownAborted", "Restored", "Retired"} <= await events(running)


async def is_retired(running: Product) -> bool:
    last = (await status(running)).last_scale_down
    return last is not None and last.is_finished and last.outcome == "Committed"


async def test_a_target_made_anew_is_left_alone_until_a_spec_edit_accepts_it(tmp_path: Path) -> None:
    async with world(tmp_path, {}) as (running, watcher):
        await running.scenario.create(resources.scalers(), scaler())
        await running.eventually("shrank", has(watcher, 1), seconds=60)
        await running.scenario.user.delete(resources.deployments(), KEY)
        await running.eventually("missed it", shows(running, "Bound", "TargetNotFound"))
        await running.scenario.create(resources.deployments(), deployment())
        await running.eventually("knows that it is another one", shows(running, "Active", "TargetReplaced"))
        before = len(watcher.commits)
        await asyncio.sleep(10)  # 80 s of the clock: twice the window
        assert len(watcher.commits) == before
        assert BINDING not in await annotations(running)
        await running.scenario.user.patch_merge(
            resources.scalers(), KEY, {"spec": {"rebalance": {"policy": "Disabled"}}}
        )
        await running.eventually("bound", shows(running, "Active", "Active"))
        assert parse_binding((await annotations(running))[BINDING]).term == 1
        await running.eventually("plans again", has(watcher, before + 1), seconds=60)
        assert seen(watcher)[-1] == {"prefill": 1, "decode": 1}
        assert "TargetReplaced" in await events(running)


async def test_a_scaler_that_is_deleted_while_growth_waits_lets_go_and_the_counts_stay(tmp_path: Path) -> None:
    async with world(tmp_path, FULL) as (running, watcher):
        load(running)
        await running.scenario.create(resources.scalers(), scaler(tolerance="1"))
        await running.eventually("grew", has(watcher, 1), seconds=60)
        await running.eventually("waits for admission", lambda: is_pending(running))
        await running.scenario.user.delete(resources.scalers(), KEY)
        await running.eventually("gone", lambda: is_gone(running))
        left = await annotations(running)
        assert BINDING not in left
        assert DECISION in left, "terms cannot go back"
        await asyncio.sleep(10)  # 80 s of the clock: beyond the timeout of the growth
        assert seen(watcher) == [{"prefill": 2, "decode": 2}]
        assert {"TransactionDropped", "Released"} <= await events(running)


async def is_pending(running: Product) -> bool:
    return (await status(running)).pending_cohort is not None


async def is_gone(running: Product) -> bool:
    try:
        await running.scenario.admin.get(resources.scalers(), KEY)
    except errors.NotFoundError:
        return True
    return False


async def annotations(running: Product) -> dict[str, str]:
    document = await running.scenario.target(KEY)
    found: dict[str, str] = document["metadata"].get("annotations") or {}
    return found
