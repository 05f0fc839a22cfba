"""A process that has just taken over, beside a twin that never failed: the same decision, or a hold."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler_core.api.scaler_status import Cause, ScalerStatus
from scaler_core.decision import Decision, decide
from scaler_core.model.action import Action, CommitVector
from scaler_core.model.world import Snapshot
from scaler_core.recording import Recording
from tests.controller.recovery.stage import INTERVAL, MAXIMUM, PER_REPLICA, Stage

ROLES: Final = ("prefill", "decode")
CAPACITY: Final = {f"{role}TargetTokensPerSecond": str(PER_REPLICA * 10) for role in ROLES} | {
    "stableWindowSeconds": 30,
    "panicWindowSeconds": 20,
}
ALGORITHMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Proportional": {
        "proportional": {
            "metric": "QueueDepth",
            "roleTargets": [{"name": role, "target": str(PER_REPLICA)} for role in ROLES],
        }
    },
    "TokenThroughput": {"type": "TokenThroughput", "tokenThroughput": CAPACITY},
    "Predictive": {
        "type": "Predictive",
        "predictive": {
            "tokenThroughput": CAPACITY,
            "horizonSeconds": 30,
            "minPoints": 2,
            **{f"{role}TokenCapacityPerReplica": str(PER_REPLICA * 10) for role in ROLES},
        },
    },
}
BANDS: Final = [[], [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "0.5", "max": "2"}]]
REPAIRS: Final = frozenset({Cause.ROLLBACK, Cause.RESTORE, Cause.RECEIVER_ACQUIRE, Cause.DONOR_RESTORE})
"""Writes that status alone demands."""
LOAD = st.integers(0, MAXIMUM + 1)
STEP = st.fixed_dictionaries(
    {
        "seconds": st.sampled_from([INTERVAL, INTERVAL, INTERVAL, 61.0]),
        "rounds": st.integers(0, 4),
        "loads": st.fixed_dictionaries(dict.fromkeys(ROLES, LOAD)),
        "event": st.sampled_from(["", "", "", "abort", "full", "room", "silence"]),
    }
)
STEPS = st.lists(STEP, min_size=4, max_size=10)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=4)
@given(steps=STEPS, band=st.sampled_from(BANDS))
def test_whenever_it_takes_over_a_new_leader_decides_the_same_or_holds(
    loop: asyncio.AbstractEventLoop, algorithm: str, steps: list[dict[str, Any]], band: list[dict[str, Any]]
) -> None:
    play(loop, algorithm, steps, band)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=60)
@given(steps=STEPS, band=st.sampled_from(BANDS))
def test_of_many_takeovers_each_decides_the_same_or_holds(
    loop: asyncio.AbstractEventLoop, algorithm: str, steps: list[dict[str, Any]], band: list[dict[str, Any]]
) -> None:
    play(loop, algorithm, steps, band)


def play(
    loop: asyncio.AbstractEventLoop, algorithm: str, steps: list[dict[str, Any]], band: list[dict[str, Any]]
) -> None:
    """A story in which every pass is one that a new leader might have to make."""
    stage = Stage(loop, {"prefill": 2, "decode": 2}, 7, algorithm=dict(ALGORITHMS[algorithm]), ratios=band)
    stage.on_pass = beside_a_new_leader
    for step in steps:
        happen(stage, step["event"])
        stage.live(step["seconds"], step["rounds"], **step["loads"])


def happen(stage: Stage, event: str) -> None:
    stage.failing = {"decode"} if event == "silence" else set()
    if event == "abort":
        stage.operator.abort()
    elif event:
        stage.operator.quota = 4 if event == "full" else 12


def beside_a_new_leader(recording: Recording) -> None:
    """What the same pass decides without any memory, before and after the new leader's first sample."""
    snapshot = recording.snapshot
    twin, _ = decide(snapshot, recording.memory, recording.decision_id)
    for seen in (snapshot, replace(snapshot, scrape=None)):
        fresh, _ = decide(seen, None, recording.decision_id)
        agree(snapshot, twin, fresh)


def agree(snapshot: Snapshot, twin: Decision, fresh: Decision) -> None:
    assert promises(fresh.status, twin.status) == promises(twin.status, twin.status)
    assert snapshot.world.target is not None
    current = snapshot.world.target.vector
    if cause_of(twin.action) in REPAIRS or cause_of(fresh.action) in REPAIRS:
        assert vector_of(fresh.action, current) == vector_of(twin.action, current)
    elif twin.action is None or isinstance(twin.action, CommitVector):
        wanted, held = vector_of(twin.action, current), vector_of(fresh.action, current)
        is_alone = not snapshot.world.scaler.spec.ratios
        for role, count in current.items():
            low, high = sorted((wanted[role], count))
            assert low <= held[role] <= high, (current, wanted, held)
            # a role that holds for want of signals holds its neighbours near it where a band ties them
            assert not is_alone or held[role] in (wanted[role], count), (current, wanted, held)
    else:
        assert fresh.action == twin.action


def promises(status: ScalerStatus, twin: ScalerStatus) -> tuple[object, ...]:
    """What status promises; an episode and its rebalance may go on where the twin's sample ended them."""
    episode = (status.exhaustion, status.rebalance and status.rebalance.donation_attempted)
    return (
        status.binding,
        status.last_commit,
        status.pending_cohort,
        status.last_scale_down,
        status.refusal,
        episode if twin.exhaustion is not None else None,
    )


def cause_of(action: Action | None) -> Cause | None:
    return action.intent.cause if isinstance(action, CommitVector) else None


def vector_of(action: Action | None, current: Mapping[str, int]) -> Mapping[str, int]:
    return action.intent.vector if isinstance(action, CommitVector) else current
