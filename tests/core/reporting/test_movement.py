from typing import Any

import pytest

from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.reporting.movement import has_moved

BASE: dict[str, Any] = {
    "observedGeneration": 1,
    "binding": {"targetUID": "u", "targetName": "llm", "term": 1},
    "roles": [
        {"name": "server", "currentReplicas": 2, "readyReplicas": 2, "constrainedReplicas": 2, "reason": "Panic"}
    ],
    "conditions": [
        {
            "type": "Bound",
            "status": "True",
            "reason": "Bound",
            "message": "a",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
    "rebalance": {"reason": "RebalanceNotApplicable", "message": "4 free"},
}


def changed(path: str, value: Any) -> ScalerStatus:
    document = ScalerStatus.from_wire(BASE).to_wire()
    *parents, last = path.split(".")
    place: Any = document
    for step in parents:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return ScalerStatus.from_wire(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("observedGeneration", 2, id="a spec edit"),
        pytest.param("binding.term", 2, id="a binding"),
        pytest.param("roles.0.currentReplicas", 3, id="a count of the target"),
        pytest.param("roles.0.readyReplicas", 1, id="a ready count"),
        pytest.param("roles.0.constrainedReplicas", 3, id="a decision"),
        pytest.param("roles.0.lastScaleUpTime", "2026-01-01T00:00:00Z", id="when a role last grew"),
        pytest.param("conditions.0.status", "False", id="the status of a condition"),
        pytest.param("conditions.0.reason", "Suspended", id="the reason of a condition"),
        pytest.param("rebalance.reason", "DonorRelease", id="a transaction"),
        pytest.param(
            "lastCommit",
            {
                "decisionID": "d",
                "term": 1,
                "vector": {"server": 3},
                "baselineVector": {"server": 2},
                "timestamp": "2026-01-01T00:00:00Z",
                "targetGeneration": 2,
            },
            id="a commit",
        ),
    ],
)
def test_moves_of_the_control_plane_are_written(path: str, value: Any) -> None:
    assert has_moved(ScalerStatus.from_wire(BASE), changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("roles.0.runningRequests", 17, id="a measurement"),
        pytest.param("roles.0.reason", "TokenThroughput", id="a role reason that follows the load"),
        pytest.param("roles.0.rawRecommendedReplicas", 3, id="a raw recommendation that nothing came of"),
        pytest.param("conditions.0.message", "b", id="a message with numbers"),
        pytest.param("rebalance.message", "3 free", id="the wording of a transaction"),
    ],
)
def test_measurements_and_wording_are_not(path: str, value: Any) -> None:
    assert not has_moved(ScalerStatus.from_wire(BASE), changed(path, value))
