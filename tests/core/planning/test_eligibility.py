from typing import Any

import pytest

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import Reason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.planning.eligibility import judge_eligibility


def spec(*names: str) -> ScalerSpec:
    return ScalerSpec.from_wire(
        {
            "targetRef": {"name": "llm"},
            "roles": [{"name": name, "maxReplicas": 4} for name in names],
            "algorithm": {"type": "TokenThroughput"},
        }
    )


def target(*roles: dict[str, Any]) -> ModelDeployment:
    return ModelDeployment.from_wire({"metadata": {"name": "llm"}, "spec": {"roles": list(roles)}})


def test_bounds_for_every_role_are_enough() -> None:
    assert judge_eligibility(spec("a", "b"), target({"name": "a"}, {"name": "b"})) is None


@pytest.mark.parametrize(
    ("names", "roles", "message"),
    [
        pytest.param(
            ["a"],
            [{"name": "a"}, {"name": "b"}],
            "role b of ModelDeployment llm has no bounds; add it to spec.roles",
            id="a target role without bounds stops planning",
        ),
        pytest.param(
            ["a", "b"],
            [{"name": "a"}],
            "spec.roles names b, which ModelDeployment llm does not have; remove it",
            id="bounds of a role that is gone stop planning",
        ),
        pytest.param(
            ["a"],
            [{"name": "a", "command": ["sh"]}],
            "role a sets a command, so its signals are not managed; remove the command to scale it",
            id="a command added after admission stops planning",
        ),
        pytest.param(
            ["a"],
            [{"name": "a", "elasticEp": {"width": 2}}],
            "role a is elastic (elasticEp), its width grows one collective; it cannot be scaled",
            id="an elastic role stops planning",
        ),
    ],
)
def test_what_stops_planning(names: list[str], roles: list[dict[str, Any]], message: str) -> None:
    blocked = judge_eligibility(spec(*names), target(*roles))
    assert blocked is not None
    assert (blocked.reason, blocked.message, blocked.stops_planning) == (Reason.BOUNDS_CONFLICT, message, True)
