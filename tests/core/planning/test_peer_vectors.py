"""Vectors of peers: kthena's ratio repair, the HPA's step limits and stabilization."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scaler_core.api.scaler_spec import Behavior, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.planning.history import RecommendationHistory
from scaler_core.planning.planner import plan
from scaler_core.ratios.capacity_first import capacity_first
from scaler_core.ratios.feasibility import Feasible, Infeasible, check
from scaler_core.ratios.propagation import Lattice
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import given, ratio, role

SHARED = Path(os.environ.get("MDS_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
FILE = SHARED / "data" / "vectors.json"


def rows(group: str) -> list[Any]:
    if not FILE.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"{FILE.name} is absent; set MDS_SHARED"))]
    return [pytest.param(row, id=f"{group}-{number}") for number, row in enumerate(json.loads(FILE.read_text())[group])]


@pytest.mark.parametrize("row", [*rows("kthena_ratio"), *rows("kthena_ratio_defects")])
def test_a_pair_is_feasible_or_refused_where_the_peer_breaks_its_band(row: Mapping[str, Any]) -> None:
    bounds = {
        "p": (max(1, row["p_bounds"][0]), row["p_bounds"][1]),
        "d": (max(1, row["d_bounds"][0]), row["d_bounds"][1]),
    }
    band = ratio("p", "d", row["min"], row["max"])
    verdict = check(bounds, [band])
    if "infeasible" in str(row.get("correct")):
        assert isinstance(verdict, Infeasible)
        return
    assert isinstance(verdict, Feasible)
    low, high = [low for low, _ in bounds.values()], [high for _, high in bounds.values()]
    vector = capacity_first(Lattice.of(("p", "d"), [band]), [row["p"], row["d"]], low, high)
    assert vector is not None
    assert brute_force.holds(band, dict(zip(("p", "d"), vector, strict=True)))
    if row.get("adjusted") is False and row["p"] > 0:
        assert vector == row["expect"]


KTHENA = [
    pytest.param((1, 3), (0.4, 0.45), (1, 6), [2, 5], id="0.40 to 0.45"),
    pytest.param((4, 4), (0.6, 0.6), (1, 6), [3, 5], id="fixed 0.6 under a maximum of 6"),
    pytest.param((1, 100), (0.07, None), (1, 100), [7, 100], id="0.07 of 100 is 7"),
]


@pytest.mark.parametrize(("wish", "band", "bounds", "result"), KTHENA)
def test_the_peers_failing_examples(
    wish: tuple[int, int], band: tuple[float, float | None], bounds: tuple[int, int], result: list[int]
) -> None:
    lattice = Lattice.of(("p", "d"), [ratio("p", "d", *band)])
    assert capacity_first(lattice, wish, [bounds[0]] * 2, [bounds[1]] * 2) == result


def step_policy(rule: object) -> StepPolicy | None:
    """Our policy for the peer's, where one unit decides; None where the peer's has no counterpart here."""
    if rule is None:
        return StepPolicy(type=StepType.PODS, value=1024)
    if not isinstance(rule, list):
        return None
    (kind, value, _), *others = rule
    return None if others else StepPolicy(type=StepType(kind), value=value)


@pytest.mark.parametrize("row", rows("hpa_step_limits"))
def test_step_limits_agree_with_the_peer(row: Mapping[str, Any]) -> None:
    up, down = step_policy(row["up"]), step_policy(row["down"])
    grows = row["desired"] > row["current"]
    if row["up"] == [["Pods", 2, 60], ["Percent", 100, 60]]:
        behavior = Behavior(scale_up=ScaleUp(max_step_replicas=2, max_step_percent=100))
    elif row["up"] == [["Pods", 100, 60], ["Percent", 100, 60]]:
        behavior = Behavior(scale_up=ScaleUp(max_step_replicas=100, max_step_percent=100))
    elif (up if grows else down) is None:
        pytest.skip("two units at once have no counterpart downwards")
    else:
        behavior = Behavior(scale_up=ScaleUp(step_policy=up), scale_down=ScaleDown(step_policy=down))
    low, high = max(1, min(row["min"], row["current"])), max(row["max"], row["current"])
    result = plan(given([role("r", row["current"], row["desired"], (low, high))], behavior=behavior))
    assert result.vector["r"] == row["expect"]


@pytest.mark.parametrize("row", [*rows("hpa_stabilization_300s"), *rows("hpa_stabilization_behavior")])
def test_windows_agree_with_the_peer(row: Mapping[str, Any]) -> None:
    """The peer needs no spanning history, so a filler spans ours: it is neutral to the side that is compared."""
    up, down = row.get("up_window", 0), row.get("down_window", 300)
    history = sorted(((-age, count) for count, age in row["history_s_ago"]), key=lambda pair: pair[0])
    recent = [count for time, count in history if time >= -max(up, down)]
    lowest, highest = min([*recent, row["desired"]]), max([*recent, row["desired"]])
    current = row.get("current", highest)
    view = role("r", current, row["desired"], stabilized_up=lowest, stabilized_down=highest)
    assert plan(given([view])).vector["r"] == row["expect"]
    samples = RecommendationHistory()
    for time, count in [*history, (0.0, row["desired"])]:
        samples = samples.append(10_000.0 + time, count, 10_000)
    if samples.highest(down) is not None:
        assert samples.highest(down) == max([c for t, c in history if t >= -down] + [row["desired"]])
