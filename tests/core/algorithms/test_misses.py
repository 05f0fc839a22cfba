import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.kalman import Noise
from scaler_core.algorithms.misses import LONGEST, Misses, learn, share_left
from scaler_core.algorithms.tracker import Forecast, Tracker, forecast, observe

INTERVAL = 15.0


def taught(pairs: list[tuple[float, float]]) -> Misses:
    misses = Misses()
    for missed, left in pairs:
        misses = learn(misses, missed=missed, left=left)
    return misses


@pytest.mark.parametrize(
    ("pairs", "persistence"),
    [
        pytest.param([], 0.0, id="nothing is known at first"),
        pytest.param([(0.0, 0.0)] * 9, 0.0, id="nothing was missed"),
        pytest.param([(10.0, 5.0), (-20.0, -10.0)] * 9, 0.5, id="half is left"),
        pytest.param([(10.0, -8.0)] * 9, 0.0, id="the other way is noise"),
        pytest.param([(10.0, 15.0)] * 9, LONGEST, id="never more than was missed"),
    ],
)
def test_what_is_left_of_a_miss(pairs: list[tuple[float, float]], persistence: float) -> None:
    assert taught(pairs).persistence == pytest.approx(persistence)


def test_the_latest_minutes_count() -> None:
    assert taught([(10.0, 0.0)] * 50 + [(10.0, 8.0)] * 50).persistence == pytest.approx(0.8, abs=0.05)


def test_each_interval_leaves_the_same_share() -> None:
    half = Misses(products=1.0, squares=2.0)
    assert [share_left(half, intervals=n) for n in (1, 2, 20)] == pytest.approx([0.5, 0.25, 0.5**20])


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), max_size=20))
def test_whatever_was_missed_the_share_is_a_share(pairs: list[tuple[float, float]]) -> None:
    misses = taught(pairs)
    assert math.isfinite(misses.products)
    assert math.isfinite(misses.squares)
    assert 0 <= share_left(misses, intervals=2) <= LONGEST


def followed(values: list[float]) -> Tracker:
    tracker = Tracker()
    for index, value in enumerate(values):
        tracker = observe(tracker, value, at=index * INTERVAL, interval_seconds=INTERVAL, noise=Noise())
    return tracker


def ahead(values: list[float], horizon: float = 30.0) -> Forecast:
    found = forecast(
        followed(values), DemandHistory(), horizon_seconds=horizon, interval_seconds=INTERVAL, noise=Noise()
    )
    assert found is not None
    return found


UP_AND_DOWN = [1000 * math.exp(2 * math.sin(step / 6)) for step in range(60)]


def test_a_forecast_of_demand_that_runs_away_from_the_filter_moves_to_the_last_value() -> None:
    for end in range(20, 60):
        found = ahead(UP_AND_DOWN[:end])
        filtered = max(0.0, found.level + found.trend_per_second * found.reach_seconds)
        assert min(filtered, found.last) - 1e-6 <= found.demand <= max(filtered, found.last) + 1e-6
    assert ahead(UP_AND_DOWN).last_share > 0.5
    assert ahead(UP_AND_DOWN, horizon=300).last_share < 0.4


@pytest.mark.parametrize("seed", range(5))
def test_a_lone_outlier_neither_shows_nor_teaches(seed: int) -> None:
    chance = Random(seed)
    steady = [1000 * (1 + 0.05 * chance.gauss(0, 1)) for _ in range(40)]
    assert ahead([*steady, 5000.0]).demand < 1250
    assert ahead([*steady, 5000.0, 1000.0]).demand < 1250


@pytest.mark.parametrize("seed", range(5))
def test_a_step_is_believed_when_it_is_seen_twice(seed: int) -> None:
    chance = Random(seed)
    steady = [1000 * (1 + 0.05 * chance.gauss(0, 1)) for _ in range(40)]
    assert ahead([*steady, 4000.0, 4000.0]).demand > 3500


def test_samples_with_a_gap_between_them_teach_nothing() -> None:
    before = followed(UP_AND_DOWN)
    assert before.misses != Misses()
    after = observe(before, 3000.0, at=before.at + 2 * INTERVAL, interval_seconds=INTERVAL, noise=Noise())
    assert after.misses == before.misses
