"""Loads and faults for the closed loop, each with the bound that is expected of it."""

import math
from dataclasses import dataclass
from functools import cache

from scaler_core.api.scaler_spec import ScalerSpec
from tests.core.algorithms.builders import scaler_spec
from tests.core.algorithms.plant import CONFIGURED, Plant, Run, simulate

TOKENS, PREDICTIVE, PROPORTIONAL = "TokenThroughput", "Predictive", "Proportional"
MAXIMUM = 32
EVENT = 600.0
"""When the load changes, seconds since the start."""
NEVER = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What is expected of one algorithm in one case."""

    peak: int
    """Replicas, at most."""
    changes: int
    """Count changes, at most."""
    enough_within: float = NEVER
    """Seconds after the event until ready capacity covers the load for good, at most."""
    last: tuple[int, int] = (1, MAXIMUM)
    """Least and most replicas at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One load on one plant."""

    name: str
    plant: Plant
    start: int
    seconds: float
    needed: int
    """Replicas that the load needs at its highest, at the configured capacity."""
    bounds: dict[str, Bound]


def spec(algorithm: str, capacity: float = CONFIGURED) -> ScalerSpec:
    """Defaults but for a capacity in tokens per second, or 8 requests, and bounds of 1 to 32."""
    tokens = {"prefillTargetTokensPerSecond": f"{capacity:.0f}"}
    blocks = {
        TOKENS: {"tokenThroughput": tokens},
        PREDICTIVE: {"predictive": {"tokenThroughput": tokens, "prefillTokenCapacityPerReplica": f"{capacity:.0f}"}},
        PROPORTIONAL: {"proportional": {"metric": "QueueDepth", "roleTargets": [{"name": "prefill", "target": "8"}]}},
    }
    roles = [{"name": "prefill", "minReplicas": 1, "maxReplicas": MAXIMUM}]
    return scaler_spec({"type": algorithm, **blocks[algorithm]}, roles=roles)


@cache
def run(name: str, algorithm: str, seed: int = 0) -> Run:
    """One run of a case."""
    case = BY_NAME[name]
    return simulate(case.plant, spec(algorithm), seconds=case.seconds, start=case.start, seed=seed)


def step(before: float, after: float, at: float = EVENT) -> "Plant":
    """A plant whose load changes at once."""
    return Plant(offered=lambda second: before if second < at else after)


def ramp(second: float) -> float:
    """2000 to 8000 tokens per second over ten minutes."""
    return min(8000.0, 2000.0 + 10.0 * max(0.0, second - EVENT))


def day(second: float) -> float:
    """One hour from trough to trough, 1000 to 8000 tokens per second."""
    return 4500.0 - 3500.0 * math.cos(second / 3600 * 2 * math.pi)


CASES = (
    # An overload leaves a backlog, and engines that drain it serve 1250 tokens/s each, which the windows read as demand
    # for a quarter more replicas than are ready. So the count goes 3, 4, 5, 7, 9, 12, 15, one step for each warm-up of
    # 120 s. Three to five replicas leave 1.14 million tokens unserved, seven and nine drain 0.48 and the twelve the
    # rest within their 120 s: 15, and one more for the latency guard. Shrinking takes 300 s and then a sample for each.
    Case(
        name="step x4",
        plant=step(2000, 8000),
        start=3,
        seconds=3600,
        needed=8,
        bounds={
            TOKENS: Bound(peak=16, changes=24, enough_within=900, last=(8, 8)),
            PREDICTIVE: Bound(peak=16, changes=24, enough_within=600, last=(8, 10)),
            PROPORTIONAL: Bound(peak=MAXIMUM, changes=32, enough_within=240, last=(8, 9)),
        },
    ),
    # The last window of a ramp is full of its end after 180 s; shortage on the way leaves a backlog of a quarter more.
    Case(
        name="ramp over 10 minutes",
        plant=Plant(offered=ramp, noise=0.05),
        start=3,
        seconds=3600,
        needed=8,
        bounds={
            TOKENS: Bound(peak=10, changes=12, enough_within=900, last=(8, 9)),
            PREDICTIVE: Bound(peak=12, changes=12, enough_within=660, last=(8, 11)),
            PROPORTIONAL: Bound(peak=14, changes=14, enough_within=750, last=(8, 9)),
        },
    ),
    # Averages lag, so nothing but noise and one replica of rounding may go above the peak.
    Case(
        name="diurnal hour",
        plant=Plant(offered=day),
        start=2,
        seconds=3600,
        needed=8,
        bounds={
            TOKENS: Bound(peak=9, changes=14),
            PREDICTIVE: Bound(peak=10, changes=14, enough_within=0),
            PROPORTIONAL: Bound(peak=9, changes=14),
        },
    ),
    Case(
        name="diurnal hour with 10 % noise",
        plant=Plant(offered=day, noise=0.1),
        start=2,
        seconds=3600,
        needed=8,
        bounds={
            TOKENS: Bound(peak=9, changes=16),
            PREDICTIVE: Bound(peak=11, changes=16, enough_within=900),
            PROPORTIONAL: Bound(peak=10, changes=16),
        },
    ),
    # One sample of five times the load adds 8000 x 15 / 180 = 667 tokens/s to the stable window: one replica more than
    # the 2 or 3 of noisy 2000 tokens/s, and one for the latency of the backlog. `Proportional` sizes for the queue.
    Case(
        name="single outlier",
        plant=Plant(offered=lambda second: 10_000.0 if EVENT <= second < EVENT + 15 else 2000.0, noise=0.05),
        start=3,
        seconds=3600,
        needed=2,
        bounds={
            TOKENS: Bound(peak=5, changes=6, last=(2, 3)),
            PREDICTIVE: Bound(peak=5, changes=6, last=(2, 3)),
            PROPORTIONAL: Bound(peak=16, changes=18, last=(2, 3)),
        },
    ),
    # Twelve samples in the stable window leave 20 % / sqrt(12) = 6 % of noise, three sigma of which are 5.3 replicas:
    # 6, and one for a latency. Down takes the highest of 300 s, which noise allows a few times in an hour.
    Case(
        name="20 % noise",
        plant=Plant(offered=lambda second: 4500.0, noise=0.2),
        start=5,
        seconds=3600,
        needed=5,
        bounds={
            TOKENS: Bound(peak=7, changes=14),
            PREDICTIVE: Bound(peak=7, changes=4),
            PROPORTIONAL: Bound(peak=9, changes=12),
        },
    ),
    # Two intervals of old readings, then stale ones: nothing moves, and nothing is lost afterwards.
    Case(
        name="no metrics for 2 minutes",
        plant=Plant(offered=lambda second: 4500.0, blind=lambda second: EVENT < second <= EVENT + 120),
        start=5,
        seconds=1800,
        needed=5,
        bounds={kind: Bound(peak=5, changes=0, last=(5, 5)) for kind in (TOKENS, PREDICTIVE, PROPORTIONAL)},
    ),
    # A frozen engine's tokens are not seen any more: a fifth of the load, which is one replica at most.
    Case(
        name="one engine frozen",
        plant=Plant(offered=lambda second: 4500.0, silent_share=lambda second, ready: float(second > EVENT) / ready),
        start=5,
        seconds=3600,
        needed=5,
        bounds={kind: Bound(peak=6, changes=1, last=(4, 6)) for kind in (TOKENS, PREDICTIVE, PROPORTIONAL)},
    ),
    # An engine that restarts its counters at zero and stays there: the same share is unseen, for good.
    Case(
        name="one engine reports zeros",
        plant=Plant(offered=lambda second: 6500.0, silent_share=lambda second, ready: float(second > EVENT) / ready),
        start=7,
        seconds=3600,
        needed=7,
        bounds={kind: Bound(peak=8, changes=2, last=(6, 8)) for kind in (TOKENS, PREDICTIVE, PROPORTIONAL)},
    ),
    # Latency is far above target for minutes while replicas load: the credit keeps the role from the maximum. Counts
    # rise by a quarter each warm-up, as after a step; the backlog of longer ones asks for at most twice what is needed.
    Case(
        name="starts of 5 minutes",
        plant=Plant(offered=lambda second: 2000.0 if second < EVENT else 6500.0, warm_up_seconds=300),
        start=3,
        seconds=5400,
        needed=7,
        bounds={
            TOKENS: Bound(peak=14, changes=20, enough_within=1500, last=(7, 8)),
            PREDICTIVE: Bound(peak=14, changes=20, enough_within=1200, last=(7, 9)),
        },
    ),
    # Engines serve 700 tokens/s where 1000 are configured: throughput alone would stay at 3 for ever. One replica for
    # each warm-up of 120 s, down again when the latency is good: at most 25 minutes / 120 s changes.
    Case(
        name="served tokens saturate",
        plant=Plant(offered=lambda second: 3000.0, served_by_one=700),
        start=3,
        seconds=1500,
        needed=5,
        bounds={
            TOKENS: Bound(peak=8, changes=12, last=(5, 8)),
            PREDICTIVE: Bound(peak=8, changes=12, last=(5, 8)),
        },
    ),
    # As after a step; the credit of the dead replica ends after 30 minutes, and it counts for nothing from then on.
    Case(
        name="a replica that never becomes ready",
        plant=Plant(
            offered=lambda second: 2000.0 if second < EVENT else 5500.0, never_ready=lambda ordinal: ordinal == 4
        ),
        start=3,
        seconds=5400,
        needed=6,
        bounds={
            TOKENS: Bound(peak=12, changes=20, last=(6, 8)),
            PREDICTIVE: Bound(peak=12, changes=20, last=(6, 9)),
        },
    ),
    # One step down for each of nine replicas, and one up before.
    Case(
        name="traffic to zero",
        plant=step(8000, 0),
        start=9,
        seconds=2400,
        needed=8,
        bounds={kind: Bound(peak=10, changes=10, last=(1, 1)) for kind in (TOKENS, PREDICTIVE, PROPORTIONAL)},
    ),
)

BY_NAME = {case.name: case for case in CASES}
