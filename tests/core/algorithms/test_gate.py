import math
from itertools import pairwise

import pytest

from scaler_core.algorithms.gate import Gate, admit, usable_trend
from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.kalman import Noise
from scaler_core.algorithms.tracker import Forecast, Tracker, forecast, observe
from tests.core.algorithms.builders import INTERVAL, START

CALIBRATED = Gate(ratio=4.0)  # sigma is twice what the filter predicts


def ahead(values: list[float], horizon: float = 300.0) -> Forecast:
    tracker = Tracker()
    for index, value in enumerate(values):
        tracker = observe(tracker, value, at=START + index * INTERVAL, interval_seconds=INTERVAL, noise=Noise())
    found = forecast(tracker, DemandHistory(), horizon_seconds=horizon, interval_seconds=INTERVAL, noise=Noise())
    assert found is not None
    return found


def peak(values: list[float], horizon: float = 300.0) -> float:
    return max(ahead(values[:end], horizon).demand for end in range(6, len(values) + 1))


@pytest.mark.parametrize(
    ("gate", "innovation", "used", "surprise"),
    [
        (Gate(), 900.0, 900.0, 0),
        (CALIBRATED, 29.9, 29.9, 0),
        (CALIBRATED, 900.0, 30.0, 1),
        (CALIBRATED, -900.0, -30.0, -1),
        (Gate(ratio=4.0, surprise=1), 900.0, 900.0, 1),
        (Gate(ratio=4.0, surprise=1), -900.0, -30.0, -1),
        (Gate(ratio=4.0, surprise=1), 5.0, 5.0, 0),
    ],
    ids=[
        "the first innovation has nothing to be measured by",
        "within three sigma it is used as it is",
        "a lone surprise is clipped at three sigma",
        "so is one downwards",
        "a second one of the same sign is believed",
        "one of the other sign is a lone one again",
        "an ordinary innovation ends the surprise",
    ],
)
def test_admission(gate: Gate, innovation: float, used: float, surprise: int) -> None:
    got, after = admit(gate, innovation, 25.0, 100)
    assert (got, after.surprise) == (used, surprise)


def test_the_ratio_is_a_moving_mean_that_starts_as_a_plain_mean() -> None:
    _, first = admit(Gate(), 10.0, 25.0, 1)
    _, second = admit(first, 5.0, 25.0, 2)
    assert (first.ratio, second.ratio) == (4.0, 4.0 + 0.5 * (1.0 - 4.0))
    _, later = admit(Gate(ratio=4.0), 5.0, 25.0, 1000)
    assert later.ratio == pytest.approx(4.0 + 0.1 * (1.0 - 4.0))


def test_only_the_trend_beyond_one_and_a_half_sigma_is_used() -> None:
    assert usable_trend(10.0, 4.0, CALIBRATED) == 10.0 - 1.5 * math.sqrt(4.0 * 4.0)
    assert usable_trend(-10.0, 4.0, CALIBRATED) == -4.0
    assert usable_trend(6.0, 4.0, CALIBRATED) == 0.0


def test_an_outlier_of_five_times_leaves_no_trace() -> None:
    assert peak([1000.0] * 40 + [5000.0] + [1000.0] * 20) < 1100


def test_a_step_of_four_times_overshoots_little() -> None:
    assert 4000 <= peak([1000.0] * 40 + [4000.0] * 40) < 4800


def test_a_ramp_is_followed_ahead_of_itself() -> None:
    ramp = [1000.0] * 40 + [1000.0 + 75 * step for step in range(20)]
    seen = ahead(ramp)
    assert seen.demand > 1.2 * ramp[-1]
    assert seen.trend_per_second == pytest.approx(75 / INTERVAL, rel=0.3)


def test_a_trend_is_followed_as_far_as_it_was_seen_and_no_further_than_the_horizon() -> None:
    ramp = [1000.0] * 40 + [1000.0 + 200 * step for step in range(40)]
    reaches = [ahead(ramp[:end]).reach_seconds for end in range(40, 80)]
    growing = [reach for reach in reaches if 0 < reach < 300]
    assert growing == sorted(growing)
    assert all(later - earlier == INTERVAL for earlier, later in pairwise(growing))
    assert reaches[-1] == 300


def test_traffic_that_just_began_is_not_extrapolated_to_the_sky() -> None:
    assert peak([110.0, 280.0, 580.0, 1580.0, 1350.0, 1245.0, 1250.0, 1160.0, 1380.0, 1240.0], horizon=600.0) < 3000


def test_falling_demand_ends_at_zero() -> None:
    assert ahead([2000.0 - 50 * step for step in range(40)], horizon=600.0).demand == 0
