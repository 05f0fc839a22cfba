from dataclasses import dataclass, field
from typing import Any

import pytest

from scaler_core.algorithms.coupling import couple
from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.recommend import recall, recommend
from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Ratio
from scaler_core.model.recommendation import Recommendation
from tests.core.algorithms.builders import START, counts, reading, scaler_spec, token_spec


def ratio(numerator: str, denominator: str, **band: str) -> Ratio:
    return Ratio.from_wire({"numeratorRole": numerator, "denominatorRole": denominator, **band})


def wants(replicas: int, **changes: Any) -> Recommendation:
    return Recommendation(replicas=replicas, reason=RoleReason.TOKEN_THROUGHPUT, message="", **changes)


@dataclass(frozen=True)
class Case:
    name: str
    expected: dict[str, int]
    ratios: list[Ratio]
    signalled: dict[str, int] = field(default_factory=lambda: {"prefill": 5, "decode": 3})
    currents: dict[str, int] = field(default_factory=lambda: {"prefill": 2, "decode": 2, "encode": 2})


CASES = [
    Case("a target rounds up", {"encode": 3}, [ratio("encode", "prefill", target="0.5")]),
    Case("a coupled denominator divides by the target", {"encode": 3}, [ratio("prefill", "encode", target="2")]),
    Case("the largest over the neighbours counts", {"encode": 6},
         [ratio("encode", "prefill", target="0.5"), ratio("encode", "decode", target="2")]),
    Case("a band alone takes the nearest count inside it", {"encode": 3},
         [ratio("encode", "prefill", min="0.5", max="1")]),
    Case("a band keeps a current count inside it", {"encode": 4},
         [ratio("encode", "prefill", min="0.5", max="1")], currents={"prefill": 5, "decode": 3, "encode": 4}),
    Case("a band pulls a current count down to its top", {"encode": 5},
         [ratio("encode", "prefill", min="0.5", max="1")], currents={"prefill": 5, "decode": 3, "encode": 9}),
    Case("a band of a coupled denominator is inverted", {"encode": 5},
         [ratio("prefill", "encode", min="1", max="2")], currents={"prefill": 5, "decode": 3, "encode": 9}),
    Case("a minimum alone has no top", {"encode": 9}, [ratio("encode", "prefill", min="0.5")],
         currents={"prefill": 5, "decode": 3, "encode": 9}),
    Case("a band without an integer takes the count above its bottom", {"encode": 2},
         [ratio("encode", "prefill", min="0.25", max="0.3")], signalled={"prefill": 5}),
    Case("at least one replica", {"encode": 1}, [ratio("encode", "prefill", target="0.001")]),
    Case("a chain is followed", {"a": 10, "b": 20},
         [ratio("a", "prefill", target="2"), ratio("b", "a", target="2")], currents={"prefill": 2, "a": 1, "b": 1}),
    Case("the nearest signal decides in a chain", {"a": 10},
         [ratio("a", "prefill", target="2"), ratio("a", "a2", target="50")], currents={"prefill": 2, "a": 1}),
    Case("a role without any tie gets nothing", {}, [ratio("prefill", "decode", target="1")]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_coupling(case: Case) -> None:
    own = {role: wants(replicas) for role, replicas in case.signalled.items()}
    got = couple(own, case.currents, case.ratios)
    assert {role: answer.replicas for role, answer in got.items()} == case.expected
    assert all(answer.reason is RoleReason.RATIO_COUPLED for answer in got.values())


@pytest.mark.parametrize(
    ("band", "demands", "expected"),
    [
        pytest.param({"min": "0.5"}, (0.0,), 1, id="a minimum alone comes down to it without load"),
        pytest.param({"min": "0.5", "max": "4"}, (0.0,), 1, id="a band comes down to its bottom without load"),
        pytest.param({"min": "3", "max": "6"}, (0.0,), 3, id="not below the bottom"),
        pytest.param({"max": "6"}, (0.0,), 1, id="a maximum alone asks for one replica without load"),
        pytest.param({"min": "0.5", "max": "4"}, (800.0,), 4, id="some load keeps the nearest count"),
        pytest.param({"min": "0.5"}, (0.0, 800.0), 9, id="load on one neighbour keeps the count"),
        pytest.param({"min": "0.5"}, (None,), 9, id="an unknown load is no sign of idleness"),
    ],
)
def test_a_band_alone_does_not_hold_an_idle_fleet_up(
    band: dict[str, str], demands: tuple[float | None, ...], expected: int
) -> None:
    roles = ("prefill", "decode")[: len(demands)]
    own = {role: wants(1, demand=demand) for role, demand in zip(roles, demands, strict=True)}
    ratios = [ratio("encode", role, **band) for role in roles]
    assert couple(own, {"prefill": 1, "decode": 1, "encode": 9}, ratios)["encode"].replicas == expected


def test_a_coupled_role_shrinks_only_if_every_neighbour_may() -> None:
    ratios = [ratio("encode", "prefill", target="1"), ratio("encode", "decode", target="1")]
    own = {"prefill": wants(2), "decode": wants(2, holds_scale_down=True, holds_growth=True)}
    got = couple(own, {"encode": 4}, ratios)["encode"]
    assert got.holds_scale_down
    assert not got.holds_growth


def test_the_message_has_ratio_formula_and_result() -> None:
    got = couple({"prefill": wants(5)}, {"encode": 1}, [ratio("encode", "prefill", target="0.5")])["encode"]
    assert got.message == "prefill wants 5, ratio encode/prefill prefers 0.5 for each prefill: ceil(0.5 x 5) = 3"


def test_an_encode_role_is_coupled_under_token_throughput() -> None:
    spec = token_spec().model_copy(update={"ratios": (ratio("encode", "prefill", target="0.5"),)})
    seen = {
        "prefill": reading("prefill", RoleKind.PREFILL, prompt_rate=5500.0),
        "encode": reading("encode", RoleKind.ENCODE),
    }
    totals = {"encode": counts(1, RoleKind.ENCODE), "prefill": counts(2, RoleKind.PREFILL)}
    got = recommend(seen, totals, spec, AlgorithmMemory(), START).recommendations
    assert list(got) == ["encode", "prefill"]
    assert (got["prefill"].replicas, got["encode"].replicas) == (6, 3)


def test_an_encode_role_with_a_target_of_its_own_is_not_coupled() -> None:
    targets = [{"name": "encode", "target": "4"}]
    spec = scaler_spec(
        {"type": "Proportional", "proportional": {"metric": "QueueDepth", "roleTargets": targets}},
        ratios=[{"numeratorRole": "prefill", "denominatorRole": "encode", "target": "2"}],
    )
    seen = {"encode": reading("encode", RoleKind.ENCODE, running=20.0), "prefill": reading("prefill", RoleKind.PREFILL)}
    totals = {"encode": counts(1, RoleKind.ENCODE), "prefill": counts(2, RoleKind.PREFILL)}
    got = recommend(seen, totals, spec, AlgorithmMemory(), START).recommendations
    assert (got["encode"].replicas, got["encode"].reason) == (5, RoleReason.PROPORTIONAL)
    assert (got["prefill"].replicas, got["prefill"].reason) == (10, RoleReason.RATIO_COUPLED)


def test_a_role_without_signal_and_tie_holds_and_says_so() -> None:
    got = recommend({}, {"encode": counts(3, RoleKind.ENCODE)}, token_spec(), AlgorithmMemory(), START)
    answer = got.recommendations["encode"]
    assert (answer.replicas, answer.reason) == (3, RoleReason.WAITING_FOR_METRICS)
    assert answer.message == "no signal of its own and no ratio to a role that has one: holding 3 replicas"


def test_a_coupled_role_without_a_ready_replica_holds() -> None:
    spec = token_spec().model_copy(update={"ratios": (ratio("encode", "prefill", target="1"),)})
    seen = {
        "prefill": reading("prefill", RoleKind.PREFILL, prompt_rate=5500.0),
        "encode": reading("encode", RoleKind.ENCODE, ready=0),
    }
    totals = {"prefill": counts(2, RoleKind.PREFILL), "encode": counts(2, RoleKind.ENCODE)}
    got = recommend(seen, totals, spec, AlgorithmMemory(), START).recommendations["encode"]
    assert (got.replicas, got.reason) == (2, RoleReason.NO_READY_REPLICAS)


def test_between_samples_the_last_recommendations_are_recalled() -> None:
    totals = {"server": counts(2)}
    advice = recommend({"server": reading(prompt_rate=5500.0)}, totals, token_spec(), AlgorithmMemory(), START)
    assert recall(advice.memory, totals) == advice.recommendations
    assert recall(AlgorithmMemory(), totals)["server"].replicas == 2
