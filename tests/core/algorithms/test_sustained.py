import math
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from scaler_core.algorithms.history import DemandHistory, DemandSample
from scaler_core.algorithms.kalman import Noise
from scaler_core.algorithms.sustained import sustained_trend
from scaler_core.algorithms.tracker import Tracker, forecast, observe, saturated
from tests.core.algorithms.builders import INTERVAL, START


def history(demand: Callable[[float], float], seconds: float = 600.0, interval: float = INTERVAL) -> DemandHistory:
    kept = DemandHistory()
    for index in range(1, round(seconds / interval) + 1):
        second = index * interval
        sample = DemandSample(at=START + second, covered_seconds=interval, tokens_per_second=demand(second))
        kept = kept.append(sample, keep_seconds=600)
    return kept


def trend(kept: DemandHistory, *, sigma: float = 0.0, since: float = -math.inf, interval: float = INTERVAL) -> float:
    end = kept.samples[-1].at
    return sustained_trend(kept, end=end, since=since, sigma=sigma, interval_seconds=interval)


@pytest.mark.parametrize(("intervals", "lasts"), [(2, False), (3, True)])
def test_a_breach_lasts_beyond_two_intervals_whatever_the_jitter(intervals: int, lasts: bool) -> None:
    tracker = saturated(Tracker(at=START), interval_seconds=INTERVAL)
    later = saturated(replace(tracker, at=START + intervals * (INTERVAL + 0.02)), interval_seconds=INTERVAL)
    assert math.isfinite(later.shown_since) is lasts


def test_a_ramp_of_ten_minutes_is_its_slope() -> None:
    assert trend(history(lambda second: 1000 + 2 * second)) == pytest.approx(2.0)
    assert trend(history(lambda second: 3000 - 2 * second)) == pytest.approx(-2.0)


@pytest.mark.parametrize(
    "demand",
    [
        lambda second: 1000.0 if second < 300 else 4000.0,
        lambda second: 9000.0 if second == 150 else 1000.0,
        lambda second: 1000.0 + 3000 * math.sin(second / 50),
        lambda second: 1000.0,
        lambda second: 1000.0 + max(0.0, second - 450) * 5,
    ],
    ids=["a step", "an outlier", "a swing", "a level", "a ramp that just began"],
)
def test_what_is_not_in_every_quarter_is_no_trend(demand: Callable[[float], float]) -> None:
    assert trend(history(demand)) == 0


def test_only_what_noise_does_not_show_counts() -> None:
    kept = history(lambda second: 1000 + 2 * second)
    # 10 samples in a quarter: a mean of noise with sigma 100 differs from the next by 100 x sqrt(2 / 10).
    assert trend(kept, sigma=100.0) == pytest.approx((2 * 150 - 100 * math.sqrt(0.2)) / 150)
    assert trend(kept, sigma=1000.0) == 0


@pytest.mark.parametrize(
    ("kept", "since", "interval"),
    [
        (history(lambda second: 2 * second, seconds=585), -math.inf, INTERVAL),
        (history(lambda second: 2 * second), START + 1, INTERVAL),
        (history(lambda second: 2 * second, interval=60.0), -math.inf, 60.0),
    ],
    ids=["a history under ten minutes", "a role that was saturated since", "samples too far apart"],
)
def test_less_than_ten_minutes_of_demand_show_no_trend(kept: DemandHistory, since: float, interval: float) -> None:
    assert trend(kept, since=since, interval=interval) == 0


def test_it_is_followed_for_five_minutes_and_has_to_be_seen_anew_after_a_lasting_breach() -> None:
    noise, random = Noise(), Random(5)
    tracker, kept = Tracker(), DemandHistory()
    for index in range(60):
        value = 2000 + 30 * index + random.gauss(0, 250)
        tracker = observe(tracker, value, at=START + index * INTERVAL, interval_seconds=INTERVAL, noise=noise)
        sample = DemandSample(at=START + index * INTERVAL, covered_seconds=INTERVAL, tokens_per_second=value)
        kept = kept.append(sample, keep_seconds=600)
    ahead = forecast(tracker, kept, horizon_seconds=600, interval_seconds=INTERVAL, noise=noise)
    assert ahead is not None
    assert ahead.reach_seconds == 300
    assert 0.5 < ahead.trend_per_second <= 2.5
    briefly = saturated(tracker, interval_seconds=INTERVAL)
    assert (briefly.trend, briefly.shown_since) == (0.0, -math.inf)
    for index in range(60, 63):
        value = 2000.0 + 30 * index
        briefly = observe(briefly, value, at=START + index * INTERVAL, interval_seconds=INTERVAL, noise=noise)
        briefly = saturated(briefly, interval_seconds=INTERVAL)
    anew = forecast(briefly, kept, horizon_seconds=600, interval_seconds=INTERVAL, noise=noise)
    assert anew is not None
    assert anew.demand == anew.level
