"""How many replicas a load needs, computed exactly."""

import math
from fractions import Fraction


def exact(measured: float) -> Fraction:
    """A measured value as the decimal of 12 significant digits that it stands for.

    Rates come from divisions in floating point: without this a rate of 2000.0000000000002 tokens per second would
    need a second replica of 2000, and a value at a threshold would fall on either side of it.
    """
    return Fraction(f"{measured:.12g}")


def replicas_for(demand: Fraction, per_replica: Fraction) -> int:
    """`max(1, ceil(demand / per_replica))`; `per_replica` must be positive."""
    return max(1, math.ceil(demand / per_replica))
