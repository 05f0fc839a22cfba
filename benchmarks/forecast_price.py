"""What the forecast buys and costs: `TokenThroughput` and `Predictive` on request traces, at equal replica-hours.

Usage: python -m benchmarks.forecast_price TRACE... [--write docs/forecast-quality.md]

The prompt tokens of a trace, scaled to a mean of four replicas, are offered to the plant of the closed-loop tests.
`Predictive` keeps more replicas, and any policy that does so is late less often. So `TokenThroughput` runs a second
time with a capacity lowered until it uses as many replica-hours.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final

from benchmarks.forecast_quality import INTERVAL, prompt_rates, replace_table
from scaler_sim.workload.traces import load
from tests.core.algorithms.closed_loop_cases import PREDICTIVE, TOKENS, spec
from tests.core.algorithms.plant import CONFIGURED, Plant, simulate

MEAN_REPLICAS: Final = 4
SLO_MILLISECONDS: Final = 500
"""The default TTFT target."""
LOWEST: Final = 0.4
STEPS: Final = 7
Offered = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one policy did on one demand."""

    attainment: float
    """Share of the offered tokens that arrived while p95 TTFT was within its target."""
    replica_hours: float
    changes: int


def play(offered: Offered, seconds: float, algorithm: str, capacity: float = CONFIGURED) -> Outcome:
    """One run from four replicas; the arrival of the trace is the only noise."""
    run = simulate(Plant(offered=offered), spec(algorithm, capacity), seconds=seconds, start=MEAN_REPLICAS)
    good = [rate for rate, latency in zip(run.offered, run.latency, strict=True) if latency <= SLO_MILLISECONDS]
    return Outcome(attainment=sum(good) / sum(run.offered), replica_hours=run.replica_hours(), changes=run.changes)


def at_equal_cost(offered: Offered, seconds: float, replica_hours: float) -> tuple[float, Outcome]:
    """`TokenThroughput` with the capacity at which its replica-hours are nearest to these."""
    low, high = LOWEST * CONFIGURED, CONFIGURED
    tried = []
    for _ in range(STEPS):
        capacity = (low + high) / 2
        outcome = play(offered, seconds, TOKENS, capacity)
        tried.append((capacity, outcome))
        low, high = (low, capacity) if outcome.replica_hours < replica_hours else (capacity, high)
    return min(tried, key=lambda pair: abs(pair[1].replica_hours - replica_hours))


def scaled(rates: Sequence[float]) -> tuple[Offered, float]:
    """A demand of `MEAN_REPLICAS` on average, and how long it lasts in seconds."""
    factor = MEAN_REPLICAS * CONFIGURED / fmean(rates)
    return lambda second: factor * rates[min(int(second // INTERVAL), len(rates) - 1)], len(rates) * INTERVAL


def swing() -> Sequence[float]:
    """Four hours that swing between 1 and 12 requests per second each hour, of log-normal lengths."""
    random = Random(1)
    rates = []
    for index in range(int(4 * 3600 / INTERVAL)):
        expected = INTERVAL * (6.5 - 5.5 * math.cos(2 * math.pi * index * INTERVAL / 3600))
        requests = max(0, round(random.gauss(expected, math.sqrt(expected))))
        rates.append(sum(random.lognormvariate(6, 1) for _ in range(requests)) / INTERVAL)
    return rates


def rows(name: str, rates: Sequence[float]) -> Iterable[str]:
    """Three lines of the table."""
    offered, seconds = scaled(rates)
    ahead = play(offered, seconds, PREDICTIVE)
    capacity, equal = at_equal_cost(offered, seconds, ahead.replica_hours)
    policies = (
        (TOKENS, CONFIGURED, play(offered, seconds, TOKENS)),
        (f"{TOKENS}, capacity lowered", capacity, equal),
        (PREDICTIVE, CONFIGURED, ahead),
    )
    for policy, each, outcome in policies:
        cells = [
            name,
            policy,
            f"{each:.0f}",
            f"{outcome.replica_hours:.1f}",
            f"{100 * outcome.attainment:.1f} %",
            f"{outcome.changes}",
        ]
        yield f"| {' | '.join(cells)} |"


def table(demands: Iterable[tuple[str, Sequence[float]]]) -> str:
    """A Markdown table."""
    head = ["Demand", "Policy", "Capacity", "Replica-hours", "Within 500 ms", "Changes"]
    lines = [f"| {' | '.join(head)} |", "|---|---|---:|---:|---:|---:|"]
    return "\n".join([*lines, *(line for name, rates in demands for line in rows(name, rates))])


def main() -> None:
    """Print the table, or write it between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--write", type=Path, help="a Markdown page with the marks of a price table")
    given = parser.parse_args()
    demands = [*((path.stem, prompt_rates(load(path))) for path in given.traces), ("hourly swing, our own", swing())]
    if given.write is None:
        print(table(demands))
    else:
        replace_table(given.write, table(demands), "price")


if __name__ == "__main__":
    main()
