import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.kalman import Estimate, Noise, innovation_variance, predict, update
from scaler_core.algorithms.tracker import RESET_NOTE, Tracker, forecast, observe
from scaler_core.api.scaler_spec import Predictive
from tests.core.algorithms.builders import INTERVAL, START

NOISE = Noise()


def follow(values: list[float], noise: Noise = NOISE, *, spacing: float = INTERVAL) -> Tracker:
    tracker = Tracker()
    for index, value in enumerate(values):
        tracker = observe(tracker, value, at=START + index * spacing, interval_seconds=spacing, noise=noise)
    return tracker


def test_the_first_observation_is_the_level() -> None:
    assert follow([120.0]).estimate == Estimate(level=120.0, trend=0.0, p00=1000.0, p01=0.0, p11=1000.0)


def test_default_noises_are_used_for_nonpositive_ones() -> None:
    assert Noise.of(Predictive.from_wire({"qLevel": "0", "qTrend": "-1", "measurementNoise": "0"})) == Noise()
    assert Noise.of(Predictive()) == Noise(level=1.0, trend=0.1, measurement=10.0)
    assert Noise.of(Predictive.from_wire({"qLevel": "0.5", "qTrend": "300m"})) == Noise(level=0.5, trend=0.3)


def test_a_long_gap_spreads_like_the_sum_of_its_intervals_for_the_trend() -> None:
    start = Estimate(level=100.0, trend=2.0, p00=5.0, p01=1.0, p11=0.5)
    at_once = predict(start, steps=4.0, noise=NOISE)
    assert (at_once.level, at_once.trend) == (108.0, 2.0)
    assert at_once.p00 == pytest.approx(5.0 + 2 * 4 * 1.0 + 16 * 0.5 + 4 * 1.0)
    assert at_once.p01 == pytest.approx(1.0 + 4 * 0.5)
    assert at_once.p11 == pytest.approx(0.5 + 4 * 0.1)


def test_the_gains_are_the_same_at_every_cadence() -> None:
    fast, slow = (follow([100.0, 120.0, 150.0, 160.0], spacing=spacing) for spacing in (5.0, 300.0))
    assert fast.estimate == slow.estimate


def test_the_joseph_form_equals_the_textbook_update() -> None:
    prior = Estimate(level=100.0, trend=2.0, p00=40.0, p01=6.0, p11=3.0)
    after = update(prior, 7.0, NOISE)
    variance = innovation_variance(prior, NOISE)
    gain0, gain1 = 40.0 / variance, 6.0 / variance
    assert after.level == pytest.approx(100 + gain0 * 7)
    assert after.trend == pytest.approx(2 + gain1 * 7)
    assert after.p00 == pytest.approx((1 - gain0) * 40)
    assert after.p01 == pytest.approx((1 - gain0) * 6)
    assert after.p11 == pytest.approx(3 - gain1 * 6)


@pytest.mark.parametrize("at", [START + 3 * INTERVAL, START + INTERVAL, START], ids=["duplicate", "older", "oldest"])
def test_an_out_of_order_or_duplicate_observation_changes_nothing(at: float) -> None:
    tracker = follow([100.0, 110.0, 120.0, 130.0])
    assert observe(tracker, 500.0, at=at, interval_seconds=INTERVAL, noise=NOISE) == tracker


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_no_observation(value: float) -> None:
    tracker = follow([100.0, 110.0])
    assert observe(tracker, value, at=START + 99, interval_seconds=INTERVAL, noise=NOISE) == tracker


def test_a_state_that_is_not_finite_begins_anew_and_says_so() -> None:
    broken = Tracker(estimate=Estimate(level=math.nan), at=START, count=40)
    again = observe(broken, 70.0, at=START + INTERVAL, interval_seconds=INTERVAL, noise=NOISE)
    assert (again.count, again.note) == (1, RESET_NOTE)
    assert again.estimate == Estimate(level=70.0)


numbers = st.floats(0, 1e15)
noises = st.floats(1e-9, 1e30)


@given(
    st.lists(st.tuples(numbers, st.floats(1e-3, 1e6)), min_size=1, max_size=40),
    noises,
    noises,
    noises,
    st.floats(5, 300),
)
def test_the_filter_stays_finite_symmetric_and_positive(
    steps: list[tuple[float, float]], level: float, trend: float, measurement: float, interval: float
) -> None:
    noise = Noise(level=level, trend=trend, measurement=measurement)
    tracker, at = Tracker(), START
    for value, distance in steps:
        at += distance
        tracker = observe(tracker, value, at=at, interval_seconds=interval, noise=noise)
        assert tracker.estimate is not None
        assert tracker.estimate.is_sound
        ahead = forecast(tracker, DemandHistory(), horizon_seconds=600, interval_seconds=interval, noise=noise)
        assert ahead is not None
        assert math.isfinite(ahead.demand)
        assert ahead.demand >= 0


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=30))
def test_any_input_leaves_a_finite_forecast(values: list[float]) -> None:
    tracker = follow(values)
    ahead = forecast(tracker, DemandHistory(), horizon_seconds=600, interval_seconds=INTERVAL, noise=Noise())
    assert ahead is None or (math.isfinite(ahead.demand) and ahead.demand >= 0)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=30))
def test_the_covariance_matrix_is_positive_definite(values: list[float]) -> None:
    estimate = follow(values).estimate
    assert estimate is not None
    assert estimate.p00 * estimate.p11 > estimate.p01 * estimate.p01
