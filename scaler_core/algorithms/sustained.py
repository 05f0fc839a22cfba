"""A trend that demand has sustained for ten minutes, seen in the history and not by the filter.

The filter's gains follow minutes, so its trend drowns in noise where demand swings over an hour. Here four quarters of
a window are averaged, and the trend is the smallest step between neighbours, if all go the same way (the minmod limiter
of numerical flow solvers): a step or an outlier is in one quarter and makes no trend, a ramp is in all.
"""

import math
from itertools import pairwise
from typing import Final

from scaler_core.algorithms.history import DemandHistory

WINDOW_SECONDS: Final = 600.0
QUARTERS: Final = 4
REACH_SECONDS: Final = WINDOW_SECONDS / 2
"""How far ahead it is followed: half as far as it was seen, since demand that swings turns."""
FEWEST_SAMPLES: Final = 3
"""In a quarter; at slower cadences there is no such trend."""


def sustained_trend(
    history: DemandHistory, *, end: float, since: float, sigma: float, interval_seconds: float
) -> float:
    """Tokens per second per second, beyond what noise alone would show; 0 where no trend was sustained.

    Args:
        history: Demand samples.
        end: Time of the newest sample.
        since: Nothing before this moment shows demand.
        sigma: Standard deviation of one sample around what was expected of it.
        interval_seconds: Time between samples.
    """
    quarter = WINDOW_SECONDS / QUARTERS
    samples = quarter / interval_seconds
    if samples < FEWEST_SAMPLES or end - WINDOW_SECONDS < since or not history.spans(end - WINDOW_SECONDS):
        return 0.0
    means = [history.average(end=end - (QUARTERS - 1 - index) * quarter, seconds=quarter) for index in range(QUARTERS)]
    known = [mean for mean in means if mean is not None]
    steps = [later - earlier for earlier, later in pairwise(known)]
    if len(known) < QUARTERS or not (min(steps) > 0 or max(steps) < 0):
        return 0.0
    least = min(steps, key=abs)
    noise = sigma * math.sqrt(2 / samples)
    return math.copysign(max(0.0, abs(least) - noise), least) / quarter
