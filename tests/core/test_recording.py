"""A recorded pass says the same wherever it is replayed."""

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from scaler_core.decision import decide
from scaler_core.model.world import Snapshot, World
from scaler_core.recording import Recording
from scaler_core.reporting.explained import Explained
from tests.core.test_decision import START, Passes, deployment, owner, scaler, worlds

PREDICTIVE = {
    "type": "Predictive",
    "predictive": {
        "serverTokenCapacityPerReplica": "800",
        "minPoints": 2,
        "tokenThroughput": {"serverTargetTokensPerSecond": "800"},
    },
}


def record(passes: Passes, at: float, waiting: float | None, pods_there: int | None = None) -> Recording:
    """The pass that would be the next; with so many Pods, else with all."""
    pods = tuple(worlds.pods("server", passes.target.vector["server"] if pods_there is None else pods_there))
    scrape = None if waiting is None else passes.sample(at, pods, waiting)
    world = World(now=START + at, scaler=passes.scaler, target=passes.target, pods=pods, workloads=None)
    return Recording(snapshot=Snapshot(world=world, scrape=scrape), memory=passes.memory, decision_id="next")


def predicting() -> Passes:
    passes = Passes(scaler(algorithm=PREDICTIVE), deployment(server=2))
    for number in range(4):
        passes.run(15.0 * number, waiting=float(number))
    return passes


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(record(Passes(scaler(), deployment(server=2)), 0, 3.0), id="the first pass of a process"),
        pytest.param(record(owner(server=2), 16, 8.0), id="a pass that commits"),
        pytest.param(record(owner(server=2), 16, None), id="a pass between two samples"),
        pytest.param(record(predicting(), 60, 9.0), id="a pass with filters and their infinities"),
    ],
)
def test_a_recording_survives_json_and_decides_the_same(recording: Recording) -> None:
    text = json.dumps(recording.to_json(), allow_nan=False)
    again = Recording.from_json(json.loads(text))
    assert again == recording
    assert decide(again.snapshot, again.memory, again.decision_id) == decide(
        recording.snapshot, recording.memory, recording.decision_id
    )
    assert again.explain() == recording.explain()


def test_an_explanation_survives_json() -> None:
    explained = record(owner(server=2), 16, 8.0).explain()
    assert Explained.from_wire(json.loads(json.dumps(explained.to_wire()))).to_wire() == explained.to_wire()


def test_the_explanation_is_of_the_very_pass() -> None:
    passes = owner(server=2)
    recording = record(passes, 16, 8.0)
    decision, _ = decide(recording.snapshot, recording.memory, recording.decision_id)
    explained = recording.explain()
    assert decision.plan is not None
    assert explained.vector == decision.plan.vector == {"server": 4}
    assert explained.conditions == decision.status.conditions
    assert [(stage.stage, stage.replicas) for stage in explained.roles["server"].stages] == [
        (stage.stage, stage.replicas) for stage in decision.plan.roles["server"].stages
    ]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        pytest.param({"format": 2}, "format 2", id="a later format"),
        pytest.param({"snapshot": None}, "snapshot", id="no snapshot"),
    ],
)
def test_what_is_no_recording_of_this_release_is_refused(spoil: dict[str, object], says: str) -> None:
    document = record(owner(server=2), 16, 8.0).to_json()
    with pytest.raises(ValidationError, match=says):
        Recording.from_json({**document, **spoil})  # type: ignore[dict-item]


def test_a_target_that_cannot_be_planned_is_explained_by_its_conditions() -> None:
    passes = owner(server=2)
    grown = worlds.target(server=2, decode=1)
    metadata = passes.target.metadata
    passes.target = grown.model_copy(update={"metadata": metadata})
    explained = record(passes, 16, 8.0).explain()
    assert explained.blocked is not None
    assert "no bounds" in explained.blocked.message
    assert explained.roles["server"].growth is None
    gone = replace(record(passes, 16, None).snapshot.world, target=None)
    alone = Recording(snapshot=Snapshot(world=gone), memory=None, decision_id="d").explain()
    assert (alone.standing, alone.roles) == ("TargetNotFound", {})
