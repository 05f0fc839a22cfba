from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.recommend import recommend
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Metric
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.recommendation import Recommendation
from tests.core.algorithms.builders import START, counts, idle, proportional_spec, reading

WITHIN = RoleReason.WITHIN_TOLERANCE
FORMULA = RoleReason.PROPORTIONAL
WAITING = RoleReason.WAITING_FOR_METRICS


def one(seen: Any, current: int, spec: Any) -> Recommendation:
    advice = recommend({"server": seen}, {"server": counts(current)}, spec, AlgorithmMemory(), START)
    return advice.recommendations["server"]


@dataclass(frozen=True)
class Case:
    name: str
    replicas: int
    reason: RoleReason
    seen: dict[str, Any]
    ready: int = 2
    current: int = 2
    target: str = "8"
    block: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("above the target grows to the ceiling", 3, FORMULA, {"running": 12.0, "waiting": 9.0}),
    Case("below the target shrinks to the ceiling", 2, FORMULA, {"running": 9.0}, ready=4, current=4),
    Case("exactly at the upper edge of the tolerance holds", 2, WITHIN, {"running": 17.0, "waiting": 0.6}),
    Case("a hair above the upper edge grows", 3, FORMULA, {"running": 17.0, "waiting": 0.600001}),
    Case("exactly at the lower edge of the tolerance holds", 3, WITHIN, {"running": 21.6}, ready=3, current=3),
    Case("a hair below the lower edge is computed", 3, FORMULA, {"running": 21.599999}, ready=3, current=5),
    Case("within tolerance the count holds, warming replicas included", 5, WITHIN, {"running": 16.0}, current=5),
    Case("no load needs one replica", 1, FORMULA, {"running": 0.0}, current=4),
    Case("one replica stays one", 1, FORMULA, {"running": 1.0}, ready=1, current=1),
    Case("a fractional target is exact", 3, FORMULA, {"running": 0.3}, target="0.1", ready=1, current=1),
    Case("a tolerance of one ignores anything up to twice the target", 2, WITHIN, {"running": 32.0},
         block={"tolerance": "1"}),
    Case("a tolerance of one ignores any load below the target", 4, WITHIN, {"running": 0.1}, ready=4, current=4,
         block={"tolerance": "1"}),
    Case("no load is not within a tolerance of one", 1, FORMULA, {"running": 0.0}, ready=4, current=4,
         block={"tolerance": "1"}),
    Case("an unknown gauge holds", 2, WAITING, {"waiting": None}),
    Case("a gauge that is no number holds", 2, WAITING, {"running": float("nan")}),
    Case("a gauge that is infinite holds", 2, WAITING, {"running": float("inf")}),
    Case("a negative gauge holds", 2, WAITING, {"running": -1.0}),
    Case("a gauge counts while rates are not measured yet", 3, FORMULA,
         {"running": 21.0, "state": SignalState.MISSING, "prompt_rate": None, "is_complete": False}),
    Case("failed reads are a lower bound and may grow", 5, FORMULA,
         {"running": 40.0, "is_complete": False, "read_replicas": Fraction(1)}, current=3, ready=3),
    Case("a role above the cap of 64 Pods is scaled up by the share that was read", 80, FORMULA,
         {"running": 320.0, "is_complete": False, "read_replicas": Fraction(64), "read_share": Fraction(1, 2)},
         ready=128, current=128),
    Case("stale readings hold", 2, WAITING, {"running": 99.0, "state": SignalState.STALE}),
    Case("no ready replica holds whatever is measured", 4, RoleReason.NO_READY_REPLICAS, {"running": 99.0}, ready=0,
         current=4),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_queue_depth_over_its_target(case: Case) -> None:
    spec = proportional_spec(target=case.target, **case.block)
    answer = one(reading(ready=case.ready, **case.seen), case.current, spec)
    assert (answer.replicas, answer.reason) == (case.replicas, case.reason)
    assert answer.holds_growth == (case.reason is WAITING)


@pytest.mark.parametrize(
    ("metric", "replicas"),
    [
        (Metric.QUEUE_DEPTH, 5),
        (Metric.RUNNING_REQUESTS, 3),
        (Metric.WAITING_REQUESTS, 2),
        (Metric.PROMPT_TOKENS, 7),
        (Metric.GENERATION_TOKENS, 4),
        (Metric.TOTAL_TOKENS, 11),
    ],
)
def test_each_metric_is_its_own_sum(metric: Metric, replicas: int) -> None:
    seen = reading(ready=1, running=30.0, waiting=20.0, prompt_rate=70.0, generation_rate=40.0)
    assert one(seen, 9, proportional_spec(metric, target="10")).replicas == replicas


def test_the_message_has_numbers_formula_and_result() -> None:
    answer = one(reading(running=12.0, waiting=9.0), 2, proportional_spec())
    assert answer.message == (
        "running 12 + waiting 9 = 21 requests over 2 ready replicas is 10.5 each against a target of 8: "
        "ceil(21 / 8) = 3"
    )
    assert answer.demand == 21


def test_the_message_of_a_hold_names_the_tolerance() -> None:
    answer = one(reading(running=17.0), 2, proportional_spec())
    assert answer.message.endswith(
        "is 8.5 each against a target of 8, within the tolerance of 10 %: holding 2 replicas"
    )


def test_the_default_tolerance_is_a_tenth() -> None:
    assert proportional_spec().algorithm.proportional.tolerance.value == Fraction(1, 10)  # type: ignore[union-attr]


def test_an_idle_role_goes_to_one_replica_without_any_latency() -> None:
    answer = one(idle(ready=6, running=None, waiting=None), 6, proportional_spec())
    assert (answer.replicas, answer.holds_scale_down) == (1, False)


def test_a_missing_signal_names_the_pod() -> None:
    seen = reading(waiting=None, problems=("Pod llm-server-0-0 answered HTTP 500",))
    assert "Pod llm-server-0-0 answered HTTP 500" in one(seen, 2, proportional_spec()).message


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 200), st.sampled_from(["0.5", "8", "1e3"]))
def test_outside_the_dead_band_more_load_never_asks_for_less(low: float, more: float, ready: int, target: str) -> None:
    spec = proportional_spec(target=target)
    less = one(reading(ready=ready, running=low), ready, spec)
    greater = one(reading(ready=ready, running=low + more), ready, spec)
    assert less.replicas >= 1
    assume(WITHIN not in (less.reason, greater.reason))
    assert greater.replicas >= less.replicas
