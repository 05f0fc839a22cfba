"""Differences, sums and the percentile of histograms."""

from fractions import Fraction

import pytest

from scaler_core.model.scrape import Histogram
from scaler_core.signals import histograms
from tests.core.signals.worlds import histogram


@pytest.mark.parametrize(
    ("observed", "milliseconds"),
    [
        pytest.param(None, None, id="nothing is unknown"),
        pytest.param(histogram(0, 0.0, le1=0), None, id="no observation is unknown"),
        pytest.param(histogram(20, 9.0, le0_5=18, le0_6=19, le1=20), 600, id="19 of 20 is exactly the percentile"),
        pytest.param(histogram(21, 9.0, le0_5=18, le0_6=19, le1=20), 1000, id="19 of 21 is below it"),
        pytest.param(histogram(20, 9.0, le0_5=18), 450, id="the infinite bucket falls back to the mean"),
        pytest.param(histogram(4, 1.0), 250, id="no buckets fall back to the mean"),
        pytest.param(histogram(4, None), None, id="no buckets and no sum is unknown"),
        pytest.param(histogram(20, None, le0_5=20), 500, id="a bucket needs no sum"),
    ],
)
def test_p95(observed: Histogram | None, milliseconds: int | None) -> None:
    assert histograms.p95_milliseconds(observed) == milliseconds


def test_p95_is_exact() -> None:
    assert histograms.p95_milliseconds(histogram(1, 0.6, le0_6=1)) == Fraction(12, 10) * 500
    grown = histograms.difference(histogram(1, 0.6), histogram(3, 1.8))
    assert histograms.p95_milliseconds(grown) == Fraction(12, 10) * 500


def test_a_sum_keeps_the_bounds_that_all_have() -> None:
    old, new = histogram(10, 1.0, le1=4, le10=10), histogram(10, 1.0, le1=9, le10=10, le2560=10)
    assert histograms.total([old, new]) == histogram(20, 2.0, le1=13, le10=20)


def test_a_pod_without_observations_does_not_hide_the_bounds_of_others() -> None:
    assert histograms.total([histogram(0, 0.0), histogram(2, 1.0, le1=2)]) == histogram(2, 1.0, le1=2)
    assert histograms.total([histogram(0, 0.0)]) is None


@pytest.mark.parametrize(
    ("previous", "current", "decreased"),
    [
        pytest.param(histogram(1, 1.0, le1=1), histogram(2, 1.5, le1=2), False, id="growth"),
        pytest.param(histogram(1, 1.0, le1=1), histogram(1, 1.0, le1=1), False, id="standstill"),
        pytest.param(histogram(2, 1.0, le1=1), histogram(1, 1.5, le1=2), True, id="the count fell"),
        pytest.param(histogram(1, 1.0, le1=1), histogram(2, 0.5, le1=2), True, id="the sum fell"),
        pytest.param(histogram(1, 1.0, le1=1), histogram(2, 1.5, le1=0), True, id="a bucket fell"),
    ],
)
def test_a_decrease_is_noticed(previous: Histogram, current: Histogram, decreased: bool) -> None:
    assert histograms.has_decreased(histograms.difference(previous, current)) is decreased
