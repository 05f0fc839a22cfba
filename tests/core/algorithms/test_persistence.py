import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.persistence import predictors, restore
from scaler_core.algorithms.recommend import recommend
from scaler_core.algorithms.tracker import saturated
from scaler_core.api.scaler_spec import Sampling, ScalerSpec
from scaler_core.api.scaler_status import Predictor, ScalerStatus
from tests.core.algorithms.builders import INTERVAL, START, counts, proportional_spec, reading, token_spec
from tests.core.algorithms.test_predictive import predictive_spec


def run(rates: list[float], spec: ScalerSpec, memory: AlgorithmMemory | None = None, *, start: int = 0) -> Any:
    memory = memory or AlgorithmMemory()
    advice = None
    for index, rate in enumerate(rates, start=start):
        now = START + index * INTERVAL
        advice = recommend(
            {"server": reading(taken_at=now, prompt_rate=rate)}, {"server": counts(2)}, spec, memory, now
        )
        memory = advice.memory
    return advice


def through_status(memory: AlgorithmMemory, spec: ScalerSpec, now: float) -> AlgorithmMemory:
    document = ScalerStatus(predictors=predictors(memory)).to_wire()
    return restore(ScalerStatus.from_wire(json.loads(json.dumps(document))), spec, now)


WAVE = [2000 + 800 * math.sin(step / 5) for step in range(80)]


@pytest.mark.parametrize(
    "spec",
    [token_spec(), predictive_spec(), predictive_spec(horizonSeconds=30)],
    ids=["TokenThroughput", "Predictive", "Predictive half a minute ahead"],
)
def test_a_restored_memory_goes_on_like_one_that_never_stopped(spec: ScalerSpec) -> None:
    before = run(WAVE[:40], spec).memory
    restored = through_status(before, spec, START + 40 * INTERVAL)
    ongoing, resumed = before, restored
    for step in range(40, 80):
        ongoing_advice = run([WAVE[step]], spec, ongoing, start=step)
        resumed_advice = run([WAVE[step]], spec, resumed, start=step)
        a, b = ongoing_advice.recommendations["server"], resumed_advice.recommendations["server"]
        assert (a.replicas, a.reason) == (b.replicas, b.reason)
        if a.forecast is not None:
            assert b.forecast == pytest.approx(a.forecast, rel=1e-4)
        ongoing, resumed = ongoing_advice.memory, resumed_advice.memory


def test_what_misses_taught_is_restored() -> None:
    before = run(WAVE[:40], predictive_spec()).memory
    restored = through_status(before, predictive_spec(), START + 40 * INTERVAL)
    taught, known = (memory.roles["server"].tracker for memory in (before, restored))
    assert taught.misses.persistence > 0.3
    assert known.misses.persistence == pytest.approx(taught.misses.persistence, rel=1e-9)
    assert known.last == pytest.approx(taught.last, rel=1e-9)


def test_a_trend_that_a_breach_took_back_stays_taken_back() -> None:
    climb = [1000.0] * 20 + [1000.0 + 100 * step for step in range(20)]
    before = run(climb, predictive_spec()).memory
    role = before.roles["server"]
    assert role.tracker.trend > 0
    breached = replace(role, tracker=saturated(role.tracker, interval_seconds=INTERVAL))
    memory = replace(before, roles={"server": breached})
    restored = through_status(memory, predictive_spec(), START + 40 * INTERVAL).roles["server"].tracker
    assert (restored.trend, restored.trend_since) == (0.0, None)


def test_status_speaks_of_seconds() -> None:
    memory = run(WAVE[:40], predictive_spec()).memory
    estimate = memory.roles["server"].tracker.estimate
    assert estimate is not None
    [found] = predictors(memory)
    assert found.covariance is not None
    assert found.trend is not None
    assert float(found.trend.value) == pytest.approx(estimate.trend / INTERVAL)
    assert float(found.covariance.p01.value) == pytest.approx(estimate.p01 / INTERVAL)
    assert found.covariance.p10 == found.covariance.p01
    assert float(found.covariance.p11.value) == pytest.approx(estimate.p11 / INTERVAL**2)
    assert (found.name, found.sample_count) == ("server", 40)


def test_token_throughput_has_a_history_and_no_filter() -> None:
    [found] = predictors(run(WAVE[:40], token_spec()).memory)
    assert (found.level, found.sample_count, len(found.history)) == (None, 0, 12)


def test_proportional_has_no_predictors() -> None:
    assert predictors(run(WAVE[:3], proportional_spec()).memory) == ()


def test_the_contracts_own_fields_are_enough_to_go_on() -> None:
    document = {
        "name": "server",
        "level": "2400",
        "trend": "10",
        "covariance": {"p00": "1", "p01": "0", "p10": "0", "p11": "1"},
        "sampleCount": 6,
        "history": [{"timestamp": "2023-11-14T22:13:20Z", "tokensPerSecond": "2400"}],
    }
    status = ScalerStatus(predictors=(Predictor.from_wire(document),))
    tracker = restore(status, predictive_spec(), START + 60).roles["server"].tracker
    assert tracker.estimate is not None
    assert (tracker.at, tracker.count, tracker.estimate.level) == (START, 6, 2400.0)
    assert tracker.estimate.trend == 10 * INTERVAL
    assert tracker.estimate.p11 == INTERVAL**2


@pytest.mark.parametrize(
    "edited",
    [predictive_spec().model_copy(update={"sampling": Sampling(interval_seconds=10)}), token_spec()],
    ids=["another interval", "another type"],
)
def test_state_of_another_spec_is_left_behind(edited: ScalerSpec) -> None:
    memory = run(WAVE[:40], predictive_spec()).memory
    assert through_status(memory, edited, START + 40 * INTERVAL).roles == {}
    assert memory.for_spec(edited).roles == {}


def test_state_survives_an_edit_of_numbers() -> None:
    memory = run(WAVE[:40], predictive_spec()).memory
    edited = predictive_spec(qLevel="3", serverTokenCapacityPerReplica="1500", horizonSeconds=60, minPoints=9)
    assert through_status(memory, edited, START + 40 * INTERVAL).roles["server"].tracker.count == 40
    assert memory.for_spec(edited).roles == memory.roles


def test_times_in_the_future_count_as_now() -> None:
    memory = run(WAVE[:40], predictive_spec()).memory
    now = START + 20 * INTERVAL
    restored = through_status(memory, predictive_spec(), now).roles["server"]
    assert restored.tracker.at == now
    assert max(sample.at for sample in restored.history.samples) == now


@pytest.mark.parametrize("member", ["p00", "p11"])
def test_a_filter_that_makes_no_sense_is_left_behind(member: str) -> None:
    [found] = predictors(run(WAVE[:40], predictive_spec()).memory)
    document = found.to_wire()
    document["covariance"][member] = "-1"
    status = ScalerStatus(predictors=(Predictor.from_wire(document),))
    role = restore(status, predictive_spec(), START + 40 * INTERVAL).roles["server"]
    assert role.tracker.estimate is None
    assert role.history.samples


def test_ten_roles_at_the_fastest_cadence_stay_small() -> None:
    spec = token_spec(stableWindowSeconds=600)
    memory = AlgorithmMemory()
    names = [f"role-{index}" for index in range(10)]
    for step in range(300):
        now = START + 5 * step
        seen = {name: reading(name, taken_at=now, prompt_rate=12345.678, covered_seconds=5.0) for name in names}
        memory = recommend(seen, {name: counts(2) for name in names}, spec, memory, now).memory
    text = json.dumps(ScalerStatus(predictors=predictors(memory)).to_wire())
    assert len(memory.roles["role-0"].history.samples) == 120
    assert len(text) < 150_000


@given(
    st.lists(st.floats(0, 1e15), min_size=1, max_size=20),
    st.sampled_from(["1e-30", "1", "1e30", "9E99"]),
    st.sampled_from(["1e-30", "0.1", "1e30", "9E99"]),
)
def test_whatever_was_written_can_be_read(rates: list[float], level: str, noise: str) -> None:
    spec = predictive_spec(qLevel=level, qTrend=level, measurementNoise=noise)
    memory = run(rates, spec).memory
    restored = through_status(memory, spec, START + 1e6)
    assert len(restored.roles["server"].history.samples) == len(memory.roles["server"].history.samples)
