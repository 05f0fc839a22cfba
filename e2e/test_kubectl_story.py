"""What a person with kubectl sees of one scaler's life on a real API server."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from e2e.product import Product, Watcher, product, watching
from scaler_core.api import crd
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING, DECISION, parse_binding, parse_decision
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
TARGET = ObjectKey("default", "llm")

DEPLOYMENT = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeployment",
    "metadata": {"name": "llm", "namespace": "default"},
    "spec": {
        "model": {"name": "Qwen/Qwen3-8B"},
        "engine": {"name": "vLLM"},
        "router": {"name": "llm-d-router"},
        "roles": [
            {"name": "prefill", "kind": "Prefill", "instanceType": "gpu", "replicas": 1},
            {"name": "decode", "kind": "Decode", "instanceType": "gpu", "replicas": 1},
        ],
    },
}


def scaler(**spec: Any) -> dict[str, Any]:
    """A scaler whose windows are as short as the contract allows where zero is not the default."""
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": "llm", "namespace": "default"},
        "spec": {
            "targetRef": {"name": "llm"},
            "mode": "Active",
            "sampling": {"intervalSeconds": 10},
            "roles": [{"name": "prefill", "maxReplicas": 4}, {"name": "decode", "maxReplicas": 4}],
            "ratios": [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "0.5", "max": "2"}],
            "algorithm": {
                "proportional": {
                    "metric": "QueueDepth",
                    "roleTargets": [{"name": "prefill", "target": "3"}, {"name": "decode", "target": "6"}],
                }
            },
            "behavior": {
                "scaleDown": {"stabilizationWindowSeconds": 60, "decodePostScaleUpGraceSeconds": 30},
            },
            **spec,
        },
    }


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Product]:
    operator = OperatorSettings(warm_up_seconds=15, withdraw_seconds=5, delete_seconds=10)
    async with product(tmp_path, operator=operator) as running:
        yield running


def load(world: Product, concurrency: int) -> ClosedLoop:
    """A closed loop of so many streams on the target's engines, begun now."""
    fleet = world.scenario.park.of(TARGET, "vLLM").fleet
    loop = ClosedLoop(
        fleet=fleet,
        recorder=Recorder(),
        phases=(Phase(name="load", seconds=None, concurrency=concurrency),),
        shape=TextShape(),
        random=Random(1),
    )
    loop.start()
    return loop


async def test_the_life_of_a_scaler_as_kubectl_shows_it(world: Product) -> None:
    kubectl = world.kubectl
    assert "condition met" in await kubectl("wait", "--for=condition=established", f"crd/{crd.NAME}")
    explained = await kubectl("explain", "mds.spec.behavior")
    assert "How fast counts may move" in explained
    assert "scaleDown" in explained

    await kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT))
    await kubectl("apply", "-f", "-", stdin=yaml.safe_dump(scaler()))
    stored = await kubectl.json("get", "mds", "llm")
    assert stored["spec"]["algorithm"]["type"] == "Proportional"
    assert stored["spec"]["roles"][0]["minReplicas"] == 1
    assert stored["spec"]["behavior"]["scaleUp"]["maxStepReplicas"] == 4

    await world.eventually("bound", lambda: has_condition(world, "Active", "True"))
    table = await kubectl("get", "mds")
    assert table.split("\n")[0].split() == ["NAME", "TARGET", "MODE", "ALGORITHM", "BOUND", "ACTIVE", "BLOCKED", "AGE"]
    assert table.split("\n")[1].split()[:7] == ["llm", "llm", "Active", "Proportional", "True", "True", "False"]

    await refuse_a_hand(world)
    async with watching(world, TARGET) as watcher:
        loop = load(world, 24)
        await world.eventually("grew", lambda: moved(watcher, grows=True), seconds=40)
        loop.stop()
        await world.eventually("back at the minimum", lambda: is_at(world, prefill=1, decode=1), seconds=120)
        assert any(commit.grows for commit in watcher.commits)
        assert any(not commit.grows for commit in watcher.commits)
        for commit in watcher.commits:
            decision = parse_decision(commit.annotations[DECISION])
            assert decision.vector == commit.after
            assert decision.term == parse_binding(commit.annotations[BINDING]).term
            assert 0.5 <= commit.after["prefill"] / commit.after["decode"] <= 2

    described = await kubectl("describe", "mds", "llm")
    for expected in ("Reason:", "all required role signals are available", "ScaledUp", "ScaledDown", "Bound"):
        assert expected in described, described
    await release_in_three_ways(world)


async def refuse_a_hand(world: Product) -> None:
    text = await world.kubectl(
        "patch",
        "modeldeployment",
        "llm",
        "--type=json",
        "-p",
        json.dumps([{"op": "replace", "path": "/spec/roles/0/replicas", "value": 3}]),
        expect=1,
    )
    assert "spec.roles[prefill].replicas: 1 -> 3 refused: ModelDeploymentScaler llm owns the counts" in text
    assert await world.counts("llm") == {"prefill": 1, "decode": 1}


async def release_in_three_ways(world: Product) -> None:
    for edit, back in (({"suspend": True}, {"suspend": False}), ({"mode": "Shadow"}, {"mode": "Active"})):
        await world.kubectl("patch", "mds", "llm", "--type=merge", "-p", json.dumps({"spec": edit}))
        await world.eventually(f"released by {edit}", lambda: is_bound(world, wanted=False))
        await world.kubectl("patch", "mds", "llm", "--type=merge", "-p", json.dumps({"spec": back}))
        await world.eventually(f"bound again by {back}", lambda: is_bound(world, wanted=True))
    await world.kubectl("delete", "mds", "llm", "--timeout=20s")
    annotations = await annotations_of(world)
    assert BINDING not in annotations
    assert DECISION in annotations
    assert await world.counts("llm") == {"prefill": 1, "decode": 1}


async def has_condition(world: Product, type_: str, status: str) -> bool:
    return (await world.condition("llm", type_))[0] == status


async def moved(watcher: Watcher, *, grows: bool) -> bool:
    return any(commit.grows is grows for commit in watcher.commits)


async def is_at(world: Product, **counts: int) -> bool:
    return await world.counts("llm") == counts


async def annotations_of(world: Product) -> Mapping[str, str]:
    document = await world.scenario.target(TARGET)
    found: Mapping[str, str] = document["metadata"].get("annotations") or {}
    return found


async def is_bound(world: Product, *, wanted: bool) -> bool:
    await asyncio.sleep(0)
    return (BINDING in await annotations_of(world)) is wanted
