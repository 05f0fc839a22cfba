"""Ten minutes of a recorded request trace, accelerated, against the product on a real API server."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from e2e.product import Commit, Product, Watcher, product, watching
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING, DECISION, parse_binding, parse_decision
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.workload.open_loop import OpenLoop
from scaler_sim.workload.statistics import Recorder
from scaler_sim.workload.synthetic import waves
from scaler_sim.workload.traces import Arrival, between, load
from tests.shared_data import root

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
TARGET = ObjectKey("default", "code")
BOUNDS = {"prefill": (1, 10), "decode": (1, 6)}
BAND = (1.0, 2.0)
SECONDS = 600.0

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeployment",
    "metadata": {"name": "code", "namespace": "default"},
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
SCALER: dict[str, Any] = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeploymentScaler",
    "metadata": {"name": "code", "namespace": "default"},
    "spec": {
        "targetRef": {"name": "code"},
        "mode": "Active",
        "sampling": {"intervalSeconds": 5},
        "roles": [{"name": name, "minReplicas": low, "maxReplicas": high} for name, (low, high) in BOUNDS.items()],
        "ratios": [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "1", "max": "2"}],
        "algorithm": {
            "tokenThroughput": {
                "prefillTargetTokensPerSecond": "2500",
                "decodeTargetTokensPerSecond": "200",
                "stableWindowSeconds": 30,
                "panicWindowSeconds": 10,
                "ttftTargetMilliseconds": "2000",
                "itlTargetMilliseconds": "100",
            }
        },
        "behavior": {
            "scaleDown": {
                "stabilizationWindowSeconds": 20,
                "decodePostScaleUpGraceSeconds": 10,
                "stepPolicy": {"type": "Pods", "value": 2},
            }
        },
    },
}


def arrivals() -> tuple[Arrival, ...]:
    """A bursty stretch of recorded code completion, or waves of our own where no recording is."""
    path: Path = root() / "data" / "traces" / "azure2023" / "AzureLLMInferenceTrace_code.csv"
    if not path.exists():
        return waves(Random(7), seconds=SECONDS, period_seconds=120, high_per_second=10)
    return between(load(path), 0.0, SECONDS)


async def test_every_vector_of_a_recorded_load_is_legal_and_carries_its_decision(tmp_path: Path) -> None:
    operator = OperatorSettings(warm_up_seconds=10, withdraw_seconds=2, delete_seconds=4)
    async with product(tmp_path, operator=operator, factor=6.0) as running:
        await running.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT))
        await running.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(SCALER))
        await running.eventually("bound", lambda: is_active(running))
        async with watching(running, TARGET) as watcher:
            fleet = running.scenario.park.of(TARGET, "vLLM").fleet
            loop = OpenLoop(fleet=fleet, recorder=Recorder(), arrivals=arrivals())
            loop.start()
            await running.eventually("the trace is over", lambda: is_over(loop), seconds=200)
            await running.eventually("back at the minimum", lambda: is_at_minimum(running), seconds=60)
        check(watcher)


async def is_active(running: Product) -> bool:
    return (await running.condition("code", "Active"))[0] == "True"


async def is_over(loop: OpenLoop) -> bool:
    return loop.is_over


async def is_at_minimum(running: Product) -> bool:
    return await running.counts("code") == {name: low for name, (low, _) in BOUNDS.items()}


def check(watcher: Watcher) -> None:
    commits = watcher.commits
    told = "\n".join(f"{dict(commit.before)} -> {dict(commit.after)}" for commit in commits)
    assert len(commits) >= 10, told
    assert sum(commit.grows for commit in commits) >= 3, told
    assert sum(shrinks(commit) for commit in commits) >= 3, told
    for commit in commits:
        decision = parse_decision(commit.annotations[DECISION])
        assert decision.vector == commit.after
        assert decision.term == parse_binding(commit.annotations[BINDING]).term
        assert all(BOUNDS[role][0] <= count <= BOUNDS[role][1] for role, count in commit.after.items()), told
        assert BAND[0] <= commit.after["prefill"] / commit.after["decode"] <= BAND[1], told
    assert any(was_bent_by_the_band(watcher, commit) for commit in commits), told


def shrinks(commit: Commit) -> bool:
    return any(count < commit.before[role] for role, count in commit.after.items())


def was_bent_by_the_band(watcher: Watcher, commit: Commit) -> bool:
    """A role grew beyond what its own load asked for: only its partner's growth explains that."""
    asked = watcher.asked.get(parse_decision(commit.annotations[DECISION]).decision_id, {})
    return any(
        count > commit.before[role] and count > max(asked.get(role, count), BOUNDS[role][0])
        for role, count in commit.after.items()
    )
