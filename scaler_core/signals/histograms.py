"""Arithmetic of cumulative histograms: differences, sums over Pods, and the percentile that the scaler reads.

Everything is exact: counts are whole numbers in floats, bounds are decimals, and latencies come out as fractions,
because "1.2 times the target" is decided by comparing exactly.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from operator import sub
from typing import Final, Literal

from scaler_core.model.scrape import Histogram

PERCENTILE: Final = Fraction(95, 100)
MILLISECONDS: Final = 1000


def difference(previous: Histogram, current: Histogram) -> Histogram:
    """What was observed between two texts of one process, over the bounds that both have; may be negative."""
    sums = (previous.sum_seconds, current.sum_seconds)
    before, after = _at_shared_bounds([previous, current])
    return Histogram(
        count=current.count - previous.count,
        sum_seconds=None if sums[0] is None or sums[1] is None else sums[1] - sums[0],
        bounds=after.bounds,
        counts=tuple(map(sub, after.counts, before.counts)),
    )


def has_decreased(change: Histogram) -> bool:
    """Whether a difference says that the process began anew."""
    sum_seconds = change.sum_seconds
    return (
        change.count < 0 or (sum_seconds is not None and sum_seconds < 0) or any(count < 0 for count in change.counts)
    )


def total(histograms: Iterable[Histogram]) -> Histogram | None:
    """The sum over Pods; buckets only at bounds that all of them have (a rollout mixes engine versions)."""
    parts: Sequence[Histogram] = [histogram for histogram in histograms if histogram.count > 0]
    if not parts:
        return None
    shared = _at_shared_bounds(parts)
    sums = [part.sum_seconds for part in parts if part.sum_seconds is not None]
    return Histogram(
        count=math.fsum(part.count for part in parts),
        sum_seconds=sum(sums, Decimal()) if len(sums) == len(parts) else None,
        bounds=shared[0].bounds,
        counts=tuple(map(math.fsum, zip(*(part.counts for part in shared), strict=True))),
    )


def _at_shared_bounds(parts: Sequence[Histogram]) -> Sequence[Histogram]:
    """The same histograms with buckets only at the bounds that all of them have."""
    bounds = parts[0].bounds
    if all(part.bounds == bounds for part in parts):
        return parts
    shared = tuple(sorted(set(bounds).intersection(*(part.bounds for part in parts))))
    places = [dict(part.buckets) for part in parts]
    counts = [tuple(at[bound] for bound in shared) for at in places]
    return [replace(part, bounds=shared, counts=count) for part, count in zip(parts, counts, strict=True)]


def p95_milliseconds(histogram: Histogram | None) -> Fraction | None:
    """The latency that 95 of 100 observations did not exceed, in milliseconds.

    The upper bound of the first bucket that covers the percentile (spec, Engine signals). Without buckets, or where
    only the infinite bucket covers it, the mean. None without observations, or when a mean is needed and there is
    no sum.
    """
    if histogram is None or histogram.count <= 0:
        return None
    bound = _covering(histogram)
    if bound is not None:
        return Fraction(bound) * MILLISECONDS
    if histogram.sum_seconds is None:
        return None
    return Fraction(histogram.sum_seconds) / Fraction(histogram.count) * MILLISECONDS


def statistic(histogram: Histogram | None) -> Literal["p95", "mean"] | None:
    """What `p95_milliseconds` gives of this histogram."""
    if histogram is None or p95_milliseconds(histogram) is None:
        return None
    return "mean" if _covering(histogram) is None else "p95"


def _covering(histogram: Histogram) -> Decimal | None:
    """The bound of the first finite bucket that covers the percentile."""
    needed = PERCENTILE * Fraction(histogram.count)
    buckets = zip(histogram.bounds, histogram.counts, strict=True)
    return next((bound for bound, count in buckets if Fraction(count) >= needed), None)
