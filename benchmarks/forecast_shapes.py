"""What gate and misses do to the forecast of made-up demands: the two tables before those of the traces.

Usage: python -m benchmarks.forecast_shapes [--write docs/forecast-quality.md]

Seeds are fixed, so a run prints what the run before it printed.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final

from benchmarks.forecast_quality import (
    FEWEST,
    INTERVAL,
    MIN_POINTS,
    Forecaster,
    Series,
    generation_rates,
    ours,
    plain_filter,
    prompt_rates,
    replace_table,
)
from scaler_core.algorithms.history import DemandHistory, DemandSample
from scaler_core.algorithms.kalman import Noise
from scaler_core.algorithms.misses import Misses
from scaler_core.algorithms.sustained import WINDOW_SECONDS
from scaler_core.algorithms.tracker import Tracker, forecast, observe
from scaler_sim.workload.synthetic import waves

SEEDS: Final = range(1000, 1020)
GATE_HORIZON: Final = 300.0
MISS_HORIZONS: Final = (30.0, 300.0)
CHANGE: Final = 40
"""Samples before a demand steps or ramps."""
RAMP: Final = 40
"""Samples that a ramp takes: 600 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A made-up demand by its seed, tokens per second of each interval."""

    name: str
    make: Callable[[Random], Series]
    cadence: float = INTERVAL


def noisy(levels: Sequence[float], share: float) -> Callable[[Random], Series]:
    """Levels with normal noise of a share of each."""
    return lambda chance: [level * max(0.0, 1 + share * chance.gauss(0, 1)) for level in levels]


def walk(chance: Random, share: float = 0.0) -> Series:
    """A random walk with steps of 5 %, seen with noise."""
    levels = [1000.0]
    for _ in range(239):
        levels.append(levels[-1] * math.exp(0.05 * chance.gauss(0, 1)))
    return noisy(levels, share)(chance)


def up_and_down(chance: Random, rates: Callable[..., Series]) -> Series:
    """40 to 550 requests a minute and back within eight minutes."""
    return rates(waves(chance, seconds=480, period_seconds=480, low_per_second=40 / 60, high_per_second=550 / 60))


def coarse_up_and_down(chance: Random, rates: Callable[..., Series]) -> Series:
    """The same at half the cadence."""
    return coarse(up_and_down(chance, rates))


def swing(chance: Random, rates: Callable[..., Series], period: float, seconds: float) -> Series:
    """1 to 12 requests a second and back."""
    return rates(waves(chance, seconds=seconds, period_seconds=period, low_per_second=1, high_per_second=12))


def coarse(series: Series) -> Series:
    """The same demand at half the cadence."""
    return [fmean(pair) for pair in zip(series[::2], series[1::2], strict=False)]


def ramp_levels() -> list[float]:
    """From 1000 to 4000 over 600 s, and steady before and afterwards."""
    return [1000 + 3000 * min(1.0, max(0.0, (index - CHANGE) / RAMP)) for index in range(3 * CHANGE)]


def demands() -> Iterator[Demand]:
    """The rows of the second table."""
    for rates, what in ((prompt_rates, "prompts"), (generation_rates, "generation")):
        yield Demand(name=f"Up and down within 8 minutes, {what}", make=partial(up_and_down, rates=rates))
        yield Demand(
            name=f"the same at a cadence of 30 s, {what}",
            make=partial(coarse_up_and_down, rates=rates),
            cadence=2 * INTERVAL,
        )
        yield Demand(
            name=f"Swing within 10 minutes, {what}", make=partial(swing, rates=rates, period=600, seconds=3600)
        )
        yield Demand(name=f"Swing over an hour, {what}", make=partial(swing, rates=rates, period=3600, seconds=7200))
    yield Demand(name="Random walk, steps of 5 %", make=walk)
    yield Demand(name="Random walk, steps of 5 %, seen with 20 % noise", make=partial(walk, share=0.2))
    yield Demand(name="Steady with 20 % noise", make=noisy([1000.0] * 240, 0.2))
    yield Demand(name="Step from 1000 to 4000, 5 % noise", make=noisy([1000.0] * CHANGE + [4000.0] * CHANGE, 0.05))
    yield Demand(name="Step from 4000 to 1000, 5 % noise", make=noisy([4000.0] * CHANGE + [1000.0] * CHANGE, 0.05))
    yield Demand(name="Ramp from 1000 to 4000 over 600 s, 5 % noise", make=noisy(ramp_levels(), 0.05))
    outliers = [5000.0 if index % 40 == 39 else 1000.0 for index in range(240)]
    yield Demand(name="An outlier of five times every 10 minutes, 5 % noise", make=noisy(outliers, 0.05))


def untaught(tracker: Tracker) -> Tracker:
    """A tracker that learned nothing of its misses."""
    return replace(tracker, misses=Misses())


def errors_ratio(demand: Demand, horizon: float, seen: Callable[[Tracker], Tracker]) -> float | None:
    """Mean over the seeds of the forecast's error over the last value's; None where a demand is too short for it."""
    steps, ratios = round(horizon / demand.cadence), []
    for seed in SEEDS:
        series = demand.make(Random(seed))
        places = range(MIN_POINTS - 1, len(series) - steps)
        if len(places) < FEWEST:
            return None
        ahead = forecasts(series, horizon, demand.cadence, seen)
        missed = fmean(abs(ahead[place] - series[place + steps]) for place in places)
        ratios.append(missed / fmean(abs(series[place] - series[place + steps]) for place in places))
    return fmean(ratios)


def forecasts(series: Series, horizon: float, cadence: float, seen: Callable[[Tracker], Tracker]) -> list[float]:
    """The product's forecast after each sample, by what `seen` leaves of its tracker."""
    tracker, history, noise, ahead = Tracker(), DemandHistory(), Noise(), []
    for index, value in enumerate(series):
        at = index * cadence
        tracker = observe(tracker, value, at=at, interval_seconds=cadence, noise=noise)
        sample = DemandSample(at=at, covered_seconds=cadence, tokens_per_second=value)
        history = history.append(sample, keep_seconds=WINDOW_SECONDS)
        found = forecast(seen(tracker), history, horizon_seconds=horizon, interval_seconds=cadence, noise=noise)
        ahead.append(found.demand if found is not None else value)
    return ahead


def gate_table() -> str:
    """Peaks of the plain formula and of the product, means over the seeds."""
    steady = [1000.0] * CHANGE
    rows: list[tuple[str, Callable[[Random], Series], Callable[[list[float]], float]]] = [
        ("Step from 1000 to 4000", noisy([*steady, *[4000.0] * CHANGE], 0), lambda ahead: max(ahead) / 4000),
        ("One outlier of five times 1000", noisy([*steady, 5000.0, *steady], 0), lambda ahead: max(ahead) / 1000),
        ("Steady with 20 % noise", noisy(3 * steady, 0.2), lambda ahead: max(ahead[MIN_POINTS:]) / 1000),
        (
            "Ramp from 1000 to 4000 over 600 s, 5 % noise",
            noisy(ramp_levels(), 0.05),
            lambda ahead: ahead[CHANGE + 10] / ramp_levels()[CHANGE + 10],
        ),
    ]
    lines = ["| Demand | Plain formula | With the gate |", "|---|---:|---:|"]
    for name, make, look in rows:
        plain, product = (_mean_of(make, look, forecaster) for forecaster in (plain_filter, ours))
        lines.append(f"| {name} | {plain:.2f} | {product:.2f} |")
    return "\n".join(lines)


def _mean_of(make: Callable[[Random], Series], look: Callable[[list[float]], float], forecaster: Forecaster) -> float:
    return fmean(look(forecaster(make(Random(seed)), GATE_HORIZON)) for seed in SEEDS)


def miss_table() -> str:
    """Errors without and with what misses teach, as multiples of the last value's."""
    heads = [f"{seconds:.0f} s, {way}" for seconds in MISS_HORIZONS for way in ("without", "with")]
    lines = [f"| Demand | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for demand in demands():
        ratios = [errors_ratio(demand, seconds, seen) for seconds in MISS_HORIZONS for seen in (untaught, _as_it_is)]
        cells = ["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        lines.append(f"| {demand.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _as_it_is(tracker: Tracker) -> Tracker:
    return tracker


def main() -> None:
    """Print the tables, or write them between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="a Markdown page with the marks of both tables")
    given = parser.parse_args()
    for name, text in (("gate", gate_table()), ("misses", miss_table())):
        if given.write is None:
            print(text)
        else:
            replace_table(given.write, text, name)


if __name__ == "__main__":
    main()
