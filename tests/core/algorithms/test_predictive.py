from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from scaler_core.algorithms.kalman import Estimate
from scaler_core.algorithms.memory import AlgorithmMemory, RoleMemory
from scaler_core.algorithms.predictive import Outlook, Present
from scaler_core.algorithms.predictive import recommend as predict
from scaler_core.algorithms.recommend import Advice, recommend
from scaler_core.algorithms.tracker import Forecast, Tracker
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.model.recommendation import Recommendation
from tests.core.algorithms.builders import INTERVAL, START, counts, idle, reading, scaler_spec

TOKENS, PREDICTIVE = RoleReason.TOKEN_THROUGHPUT, RoleReason.PREDICTIVE
CONSOLIDATE = RoleReason.PREDICTIVE_CONSOLIDATION_HOLD
WARMING = RoleReason.PREDICTOR_WARMING_UP


def predictive_spec(**changes: Any) -> ScalerSpec:
    block = {
        "tokenThroughput": {"serverTargetTokensPerSecond": "1000"},
        "serverTokenCapacityPerReplica": "1000",
    }
    return scaler_spec({"type": "Predictive", "predictive": block | changes})


def feed(
    rates: list[float], *, current: int = 2, ready: int = 2, spec: ScalerSpec | None = None, **seen: Any
) -> Advice:
    advice = Advice(recommendations={}, memory=AlgorithmMemory())
    for index, rate in enumerate(rates):
        now = START + index * INTERVAL
        sample = reading(ready=ready, taken_at=now, prompt_rate=rate, **seen)
        advice = recommend(
            {"server": sample}, {"server": counts(current)}, spec or predictive_spec(), advice.memory, now
        )
    return advice


def last(rates: list[float], **kwargs: Any) -> Recommendation:
    return feed(rates, **kwargs).recommendations["server"]


@dataclass(frozen=True)
class Case:
    """What the rule makes of a token result, a forecast and a load, with a capacity of 1000 on both sides."""

    name: str
    replicas: int
    reason: RoleReason
    token: int
    forecast: float
    demand: float = 0.0
    ready: int = 4
    current: int = 4
    floor: int | None = None
    has_work: bool = True
    token_reason: RoleReason = TOKENS
    capacity: Fraction = field(default=Fraction(1000))


CASES = [
    Case("the larger forecast counts", 6, PREDICTIVE, token=3, forecast=5500),
    Case("never below the token result", 5, TOKENS, token=5, forecast=1000),
    Case("equal counts are the token result's", 5, TOKENS, token=5, forecast=5000),
    Case("panic asks for one extra", 5, RoleReason.PANIC, token=4, forecast=3000, floor=5,
         token_reason=RoleReason.PANIC),
    Case("one extra is no more than one", 7, PREDICTIVE, token=4, forecast=6500, floor=5),
    Case("shrinks where the others stay within 80 %", 3, TOKENS, token=3, forecast=2400, demand=2400),
    Case("demand a hair above 80 % of the others holds", 4, CONSOLIDATE, token=3, forecast=2400, demand=2400.001),
    Case("forecast a hair above 80 % of the others holds", 4, CONSOLIDATE, token=3, forecast=2400.001, demand=2000),
    Case("one replica with load does not leave", 2, CONSOLIDATE, token=1, forecast=1, demand=1, ready=1, current=2),
    Case("without load the last but one may leave", 1, TOKENS, token=1, forecast=0, demand=0, ready=1, current=2),
    Case("an idle role is not held by what its windows remember", 1, TOKENS, token=1, forecast=3, demand=900, ready=1,
         current=2, has_work=False),
    Case("a hold of the guard stays a hold", 4, RoleReason.LATENCY_GUARD_HOLD, token=4, forecast=0,
         token_reason=RoleReason.LATENCY_GUARD_HOLD),
    Case("a forecast capacity of its own", 3, PREDICTIVE, token=2, forecast=5500, ready=2, current=2,
         capacity=Fraction(2000)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rule(case: Case) -> None:
    token = Recommendation(replicas=case.token, reason=case.token_reason, message="tokens say so")
    ahead = Forecast(demand=case.forecast, level=case.forecast, trend_per_second=0.0, reach_seconds=0.0)
    present = Present(
        demand=Fraction(str(case.demand)),
        capacity=Fraction(1000),
        ready=case.ready,
        current=case.current,
        has_work=case.has_work,
        urgent_floor=case.floor,
    )
    got = predict(token, Outlook(forecast=ahead, horizon_seconds=300, capacity=case.capacity), present)
    assert (got.replicas, got.reason) == (case.replicas, case.reason)
    assert got.forecast == case.forecast
    assert got.holds_scale_down == (case.reason in {CONSOLIDATE, RoleReason.PANIC})


def test_the_defaults() -> None:
    block = predictive_spec().algorithm.predictive
    assert block is not None
    assert (block.horizon_seconds, block.min_points) == (300, 6)
    assert (block.q_level.value, block.q_trend.value, block.measurement_noise.value) == (1, Fraction(1, 10), 10)


@pytest.mark.parametrize(("points", "reason"), [(5, WARMING), (6, TOKENS)])
def test_the_forecast_waits_for_min_points(points: int, reason: RoleReason) -> None:
    answer = last([1900.0] * points)
    assert (answer.replicas, answer.reason) == (2, reason)


def test_the_message_of_warming_up_counts() -> None:
    message = last([1900.0] * 4).message
    assert message.startswith("the predictor has 4 of 6 observations; until then 1900 tokens/s over the 60 s measured")


def test_while_warming_up_holds_and_panic_of_the_token_result_stay() -> None:
    answer = last([5000.0] * 3)
    assert (answer.replicas, answer.reason, answer.holds_scale_down) == (5, WARMING, True)


def test_a_reset_is_said_while_the_filter_warms_up_again() -> None:
    broken = RoleMemory(tracker=Tracker(estimate=Estimate(level=float("nan")), at=START - INTERVAL, count=30))
    spec = predictive_spec()
    memory = AlgorithmMemory(roles={}).for_spec(spec)
    memory = AlgorithmMemory(fingerprint=memory.fingerprint, roles={"server": broken})
    got = recommend({"server": reading(prompt_rate=10.0)}, {"server": counts(2)}, spec, memory, START)
    answer = got.recommendations["server"]
    assert answer.reason is WARMING
    assert "the filter was reset because its state was not finite" in answer.message


def test_a_ramp_is_answered_before_it_arrives() -> None:
    ramp = [1000.0] * 30 + [1000.0 + 75 * step for step in range(25)]
    ahead, token = last(ramp, current=3, ready=3), last(ramp, current=3, ready=3, spec=_tokens_only())
    assert ahead.reason is PREDICTIVE
    assert ahead.replicas > token.replicas
    assert "followed for" in ahead.message


def test_panic_asks_for_one_more_than_ready_and_on_the_way() -> None:
    # Capacity 1000, threshold 0.5: panic although the token result asks for 2 only.
    spec = predictive_spec(tokenThroughput={"serverTargetTokensPerSecond": "1000", "panicThreshold": "0.5"})
    assert last([1900.0] * 12, ready=3, current=3, spec=spec).replicas == 4
    warming = last([1900.0] * 12, ready=2, current=3, spec=spec)
    assert (warming.replicas, warming.holds_scale_down) == (3, True)


def test_a_partial_reading_does_not_pull_the_forecast_down() -> None:
    advice = feed([3000.0] * 12, current=4, ready=4)
    now = START + 12 * INTERVAL
    partial = reading(ready=4, taken_at=now, prompt_rate=100.0, is_complete=False)
    after = recommend({"server": partial}, {"server": counts(4)}, predictive_spec(), advice.memory, now)
    assert after.memory.roles["server"].tracker == advice.memory.roles["server"].tracker
    assert after.recommendations["server"].forecast == pytest.approx(3000)


@pytest.mark.parametrize(
    ("partial", "jitter", "is_used"),
    [
        pytest.param(1, 0.02, True, id="one partial sample"),
        pytest.param(2, 0.0, True, id="two of them, on the dot"),
        pytest.param(2, 0.02, True, id="two of them, each a little late"),
        pytest.param(3, 0.0, False, id="three of them"),
    ],
)
def test_a_forecast_serves_for_two_intervals(partial: int, jitter: float, is_used: bool) -> None:
    memory, now = feed([3000.0] * 12, current=4, ready=4).memory, START + 11 * INTERVAL
    answer = None
    for _ in range(partial):
        now += INTERVAL + jitter
        seen = reading(ready=4, taken_at=now, prompt_rate=100.0, is_complete=False)
        advice = recommend({"server": seen}, {"server": counts(4)}, predictive_spec(), memory, now)
        memory, answer = advice.memory, advice.recommendations["server"]
    assert answer is not None
    assert (answer.forecast is not None) is is_used


def test_without_a_forecast_capacity_the_token_result_stands() -> None:
    answer = last([1900.0] * 12, spec=predictive_spec(serverTokenCapacityPerReplica=None))
    assert (answer.replicas, answer.reason, answer.forecast) == (2, TOKENS, None)


def test_an_idle_role_reaches_one_replica() -> None:
    memory = feed([3000.0] * 20, current=4, ready=4).memory
    answer = None
    for step in range(20, 40):
        now = START + step * INTERVAL
        sample = idle(ready=4, taken_at=now, prompt_rate=0.0, generation_rate=0.0)
        advice = recommend({"server": sample}, {"server": counts(4)}, predictive_spec(), memory, now)
        memory, answer = advice.memory, advice.recommendations["server"]
    assert answer is not None
    assert (answer.replicas, answer.holds_scale_down) == (1, False)


def _tokens_only() -> ScalerSpec:
    return scaler_spec({"type": "TokenThroughput", "tokenThroughput": {"serverTargetTokensPerSecond": "1000"}})
