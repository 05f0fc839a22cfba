"""How much of what a forecast misses is still missing one interval later.

A filter whose gains are too small for a demand lags behind it, and its misses then last: one is followed by the next of
the same sign. Where demand is a level and noise they do not. The *persistence* is the slope of the regression of what
is left on what was missed, over the last minutes: the first-order autocorrelation of forecast errors, by which
forecasts with exponential smoothing are corrected (Gardner 1985, Taylor 2003). Of a miss, persistence to the power of
n is left after n intervals, so a forecast moves that far towards the last value: most of the way at half a minute where
demand runs away from the filter, hardly at all at five minutes, and nowhere where the filter is right.
"""

import math
from dataclasses import dataclass
from typing import Final

WEIGHT: Final = 1 / 16
"""Of the newest miss: sixteen samples are about as many as a slope needs to be told from chance."""
LONGEST: Final = 0.95
"""Nothing lasts for ever: a longer persistence would carry a burst over the horizons of minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """Discounted sums over neighbouring samples, (tokens/s)^2."""

    products: float = 0.0
    """Of what was missed and what was left of it one interval later."""
    squares: float = 0.0
    """Of what was missed."""

    @property
    def persistence(self) -> float:
        """The share of a miss that is left one interval later, 0 to 0.95."""
        if not self.squares > 0:
            return 0.0
        return min(LONGEST, max(0.0, self.products / self.squares))


def learn(misses: Misses, *, missed: float, left: float) -> Misses:
    """One more pair: the observation minus its forecast, and the next observation minus the same forecast."""
    kept = 1 - WEIGHT
    products = kept * misses.products + missed * left
    squares = kept * misses.squares + missed * missed
    return Misses(products=products, squares=squares) if math.isfinite(products + squares) else Misses()


def share_left(misses: Misses, *, intervals: float) -> float:
    """The share of a miss that is left so many intervals later."""
    return math.pow(misses.persistence, intervals)
