"""Arithmetic of cumulative histograms: differences, sums over Pods, and the percentile that the scaler reads.

Everything is exact: counts are whole numbers in floats, bounds are decimals, and latencies come out as fractions,
because "1.2 times the target" is decided by comparing exactly.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final

from scaler_core.model.scrape import Histogram

PERCENTILE: Final = Fraction(95, 100)
MILLISECONDS: Final = 1000


def difference(previous: Histogram, current: Histogram) -> Histogram:
    """What was observed between two texts of one process, over the bounds that both have; may be negative."""
    before = dict(previous.buckets)
    sums = (previous.sum_seconds, current.sum_seconds)
    return Histogram(
        count=current.count - previous.count,
        sum_seconds=None if sums[0] is None or sums[1] is None else sums[1] - sums[0],
        buckets=tuple((bound, count - before[bound]) for bound, count in current.buckets if bound in before),
    )


def has_decreased(change: Histogram) -> bool:
    """Whether a difference says that the process began anew."""
    sum_seconds = change.sum_seconds
    return (
        change.count < 0
        or (sum_seconds is not None and sum_seconds < 0)
        or any(count < 0 for _, count in change.buckets)
    )


def total(histograms: Iterable[Histogram]) -> Histogram | None:
    """The sum over Pods; buckets only at bounds that all of them have (a rollout mixes engine versions)."""
    parts: Sequence[Histogram] = [histogram for histogram in histograms if histogram.count > 0]
    if not parts:
        return None
    counts = [dict(part.buckets) for part in parts]
    shared = set(counts[0]).intersection(*counts[1:])
    sums = [part.sum_seconds for part in parts if part.sum_seconds is not None]
    return Histogram(
        count=math.fsum(part.count for part in parts),
        sum_seconds=sum(sums, Decimal()) if len(sums) == len(parts) else None,
        buckets=tuple((bound, math.fsum(count[bound] for count in counts)) for bound in sorted(shared)),
    )


def p95_milliseconds(histogram: Histogram | None) -> Fraction | None:
    """The latency that 95 of 100 observations did not exceed, in milliseconds.

    The upper bound of the first bucket that covers the percentile (spec, Engine signals). Without buckets, or where
    only the infinite bucket covers it, the mean. None without observations, or when a mean is needed and there is
    no sum.
    """
    if histogram is None or histogram.count <= 0:
        return None
    needed = PERCENTILE * Fraction(histogram.count)
    for bound, count in histogram.buckets:
        if Fraction(count) >= needed:
            return Fraction(bound) * MILLISECONDS
    if histogram.sum_seconds is None:
        return None
    return Fraction(histogram.sum_seconds) / Fraction(histogram.count) * MILLISECONDS
