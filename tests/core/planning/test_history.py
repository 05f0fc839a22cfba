"""Stabilization windows: what they remember, what they forget, what they never get wrong."""

import sys

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from scaler_core.planning.history import MAX_SAMPLES, RecommendationHistory


def recorded(samples: list[tuple[float, int]], interval: float = 60) -> RecommendationHistory:
    history = RecommendationHistory()
    for time, count in samples:
        history = history.append(time, count, interval)
    return history


@pytest.mark.parametrize(
    ("samples", "window", "lowest", "highest"),
    [
        pytest.param([], 0, None, None, id="nothing recorded"),
        pytest.param([(0, 3)], 0, 3, 3, id="a window of zero is the newest sample"),
        pytest.param([(0, 3)], 1, None, None, id="one sample spans nothing"),
        pytest.param([(0, 9), (60, 4), (120, 5)], 120, 4, 9, id="a sample at the old end counts, and spans"),
        pytest.param([(0, 9), (60, 4), (120, 5)], 119, 4, 5, id="a sample before the old end has left"),
        pytest.param([(0, 9), (60, 4), (120, 5)], 121, None, None, id="one second short of spanning"),
        pytest.param([(0, 9), (120, 4), (240, 5)], 240, 4, 9, id="two intervals are no gap"),
        pytest.param([(0, 9), (120.03, 4), (240.06, 5)], 240, 4, 5, id="two intervals and a timer's jitter are none"),
        pytest.param([(0, 9), (121, 4), (181, 5)], 60, 4, 5, id="after a gap the span starts anew"),
        pytest.param([(0, 9), (121, 4), (181, 5)], 61, None, None, id="a span does not reach over a gap"),
        pytest.param([(0, 9), (60, 4), (60, 1), (30, 2)], 60, 4, 9, id="duplicates and late samples are ignored"),
        pytest.param([(0, 9), (600, 4), (60, 2), (120, 3)], 60, 2, 3, id="a clock that went back starts anew"),
        pytest.param(
            [(0, 9), (600, 4), (60, 2), (120, 3)], 120, None, None, id="a clock that went back shortens no wait"
        ),
        pytest.param([(0, 5000)], 0, 1024, 1024, id="no role can have more than 1024"),
    ],
)
def test_windows(samples: list[tuple[float, int]], window: float, lowest: int | None, highest: int | None) -> None:
    history = recorded(samples)
    assert (history.lowest(window), history.highest(window)) == (lowest, highest)


@settings(max_examples=50)
@drawn(
    interval=st.sampled_from([5, 7, 15, 60]),
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=400),
    window=st.sampled_from([0, 30, 300, 600, 900, 1800]),
)
def test_a_window_agrees_with_all_that_was_recommended(interval: int, counts: list[int], window: int) -> None:
    samples = [(1_800_000_000.0 + interval * number, count) for number, count in enumerate(counts)]
    history = recorded(samples, interval)
    now = samples[-1][0]
    inside = [count for time, count in samples if time >= now - window]
    if samples[0][0] > now - window:
        assert history.lowest(window) is None
        assert history.highest(window) is None
        return
    if window <= 600:
        assert history.lowest(window) == min(inside)
    slack = [count for time, count in samples if time >= now - window - 10]
    assert max(inside) <= (history.highest(window) or 0) <= max(slack)


@pytest.mark.parametrize("peak", [20, 21], ids=["earlier of a pair", "later of a pair"])
def test_a_peak_survives_that_its_sample_is_merged(peak: int) -> None:
    history = recorded([(5.0 * number, 9 if number == peak else 1) for number in range(300)], interval=5)
    age = 5.0 * (299 - peak)
    assert len(history.times) < 300
    assert history.highest(age) == 9
    assert history.highest(age - 10) == 1


def test_256_samples_span_half_an_hour_at_five_seconds() -> None:
    history = recorded([(5.0 * number, 1 + number % 3) for number in range(2000)], interval=5)
    assert len(history.times) <= MAX_SAMPLES
    assert history.times[-1] - history.times[0] >= 1790
    assert history.highest(1800) == 3


def test_samples_that_come_too_fast_still_fit() -> None:
    history = recorded([(number * 1.0, 1000 if number == 1300 else 1) for number in range(3000)], interval=5)
    assert len(history.times) == MAX_SAMPLES
    assert history.highest(1800) == 1000


def test_restored_samples_keep_their_counts_and_lose_their_span() -> None:
    history = recorded([(60.0 * number, 2) for number in range(20)])
    restored = RecommendationHistory.from_status(history.to_status())
    assert restored.to_status() == history.to_status()
    assert history.highest(300) == 2
    assert restored.highest(300) is None
    resumed = restored.append(1200, 1, 60)
    assert resumed.highest(0) == 1
    assert resumed.highest(60) is None
    assert resumed.append(1260, 1, 60).highest(60) == 1


def test_ten_full_histories_are_small() -> None:
    samples = [(5.0 * number, 300 + number % 700) for number in range(400)]
    history = recorded(samples, interval=5)
    size = sys.getsizeof(history) + sys.getsizeof(history.times) + sys.getsizeof(history.counts)
    assert 10 * size < 128 * 1024
