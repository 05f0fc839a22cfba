"""What admission says about steps that ratios cannot follow."""

import pytest

from scaler_core.api.scaler_spec import Behavior, Ratio, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.ratios.mobility import immobilities
from tests.core.planning.planning_builders import ratio

BOUNDS = {"prefill": (1, 16), "decode": (1, 16)}


def pods(value: int) -> StepPolicy:
    return StepPolicy(type=StepType.PODS, value=value)


@pytest.mark.parametrize(
    ("band", "behavior", "messages"),
    [
        pytest.param(ratio("prefill", "decode", 1, 1), Behavior(), [], id="one to one moves by one"),
        pytest.param(ratio("prefill", "decode", 0.5, 2), Behavior(), [], id="a wide band moves by one"),
        pytest.param(
            ratio("prefill", "decode", 1.5, 1.5),
            Behavior(),
            [
                "spec.behavior.scaleDown: one pass removes at most 1 prefill, but from prefill=6, decode=4 the ratios "
                "need prefill -3, decode -2 at once; set stepPolicy type Pods, value 3"
            ],
            id="three to two cannot shrink by one",
        ),
        pytest.param(
            ratio("prefill", "decode", 1.5, 1.5),
            Behavior(scale_down=ScaleDown(step_policy=pods(3))),
            [],
            id="three to two shrinks by three",
        ),
        pytest.param(
            ratio("prefill", "decode", 1.5, 1.5),
            Behavior(scale_up=ScaleUp(step_policy=pods(2)), scale_down=ScaleDown(step_policy=pods(3))),
            [
                "spec.behavior.scaleUp: one pass adds at most 2 prefill, but from prefill=3, decode=2 the ratios need "
                "prefill +3, decode +2 at once; set stepPolicy type Pods, value 3"
            ],
            id="three to two cannot grow by two",
        ),
        pytest.param(
            ratio("prefill", "decode", target=1),
            Behavior(scale_down=ScaleDown(step_policy=pods(0))),
            ["spec.behavior.scaleDown.stepPolicy: a step of zero never removes a replica; set value 1 or more"],
            id="a zero step",
        ),
        pytest.param(ratio("prefill", "decode", 20, 20), Behavior(), [], id="an infeasible pair is told elsewhere"),
    ],
)
def test_the_warning_names_the_step_and_the_remedy(band: Ratio, behavior: Behavior, messages: list[str]) -> None:
    assert [found.message for found in immobilities(BOUNDS, (band,), behavior)] == messages
