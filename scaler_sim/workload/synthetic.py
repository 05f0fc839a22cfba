"""A small trace of our own, for machines without recorded ones."""

import math
from random import Random

from scaler_sim.workload.traces import Arrival


def waves(
    random: Random,
    *,
    seconds: float = 600.0,
    period_seconds: float = 300.0,
    low_per_second: float = 0.5,
    high_per_second: float = 6.0,
) -> tuple[Arrival, ...]:
    """Poisson arrivals whose rate swings between two values; lengths are log-normal as in recorded conversations.

    Args:
        random: the only source of chance, so that a seed names a trace.
        seconds: length.
        period_seconds: of one wave, which begins low.
        low_per_second: requests per second in the valleys.
        high_per_second: requests per second on the crests.
    """
    arrivals = []
    at = random.expovariate(high_per_second)
    while at < seconds:
        share = (1 - math.cos(2 * math.pi * at / period_seconds)) / 2
        rate = low_per_second + (high_per_second - low_per_second) * share
        if random.random() < rate / high_per_second:
            arrivals.append(
                Arrival(
                    at=at,
                    prompt_tokens=_length(random, median=700, spread=0.9, most=8000),
                    output_tokens=_length(random, median=150, spread=0.8, most=1000),
                )
            )
        at += random.expovariate(high_per_second)
    return tuple(arrivals)


def _length(random: Random, *, median: float, spread: float, most: int) -> int:
    return max(1, min(most, round(random.lognormvariate(math.log(median), spread))))
