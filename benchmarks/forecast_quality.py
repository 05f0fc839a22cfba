"""How good the forecast is on request traces: its error beside that of repeating the last value.

Usage: python -m benchmarks.forecast_quality TRACE... [--write docs/forecast-quality.md]

A trace becomes demand in tokens per second for each sampling interval: prompt tokens at arrival, output tokens evenly
over the decoding that follows. After warm-up every sample forecasts the demand of the one interval that lies the
horizon ahead; a number in the table is the mean absolute error divided by that of the last value. Below 1 is better.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from scaler_core.algorithms.history import DemandHistory, DemandSample
from scaler_core.algorithms.kalman import Estimate, Noise, predict, update
from scaler_core.algorithms.sustained import WINDOW_SECONDS
from scaler_core.algorithms.tracker import Tracker, forecast, observe
from scaler_sim.workload.traces import Arrival, load

INTERVAL: Final = 15.0
HORIZONS: Final = (30.0, 300.0, 600.0)
MIN_POINTS: Final = 6
SECONDS_EACH_TOKEN: Final = 0.03
FEWEST: Final = 8
"""Forecasts below which a mean says nothing."""

Series = Sequence[float]
Forecaster = Callable[[Series, float], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One row of the table."""

    demand: str
    horizon: float
    forecasts: int
    ratios: dict[str, float]


def prompt_rates(arrivals: Iterable[Arrival]) -> Series:
    """Prompt tokens per second of each whole interval."""
    return _binned((arrival.at, arrival.at, arrival.prompt_tokens) for arrival in arrivals)


def generation_rates(arrivals: Iterable[Arrival]) -> Series:
    """Generated tokens per second of each whole interval, spread over the time that decoding takes."""
    return _binned(
        (arrival.at, arrival.at + SECONDS_EACH_TOKEN * arrival.output_tokens, arrival.output_tokens)
        for arrival in arrivals
    )


def ours(series: Series, horizon: float) -> list[float]:
    """The product's forecast: filter, gate and sustained trend."""
    tracker, history, noise, ahead = Tracker(), DemandHistory(), Noise(), []
    for index, value in enumerate(series):
        tracker = observe(tracker, value, at=index * INTERVAL, interval_seconds=INTERVAL, noise=noise)
        sample = DemandSample(at=index * INTERVAL, covered_seconds=INTERVAL, tokens_per_second=value)
        history = history.append(sample, keep_seconds=WINDOW_SECONDS)
        found = forecast(tracker, history, horizon_seconds=horizon, interval_seconds=INTERVAL, noise=noise)
        ahead.append(found.demand if found is not None else value)
    return ahead


def flat_filter(series: Series, horizon: float) -> list[float]:  # noqa: ARG001 -- the level is the same at every horizon
    """The filter's level held flat, as Dynamo's planner uses it."""
    return [max(0.0, estimate.level) for estimate in _filtered(series)]


def plain_filter(series: Series, horizon: float) -> list[float]:
    """The filter's level and trend extrapolated, without a gate."""
    return [max(0.0, estimate.level + estimate.trend * horizon / INTERVAL) for estimate in _filtered(series)]


def window_mean(series: Series, horizon: float) -> list[float]:  # noqa: ARG001 -- likewise
    """The mean of the last 180 s."""
    history, means = DemandHistory(), []
    for index, value in enumerate(series):
        sample = DemandSample(at=index * INTERVAL, covered_seconds=INTERVAL, tokens_per_second=value)
        history = history.append(sample, keep_seconds=180)
        means.append(history.average(end=index * INTERVAL, seconds=180) or 0.0)
    return means


FORECASTERS: Final[dict[str, Forecaster]] = {
    "product": ours,
    "level held flat (Dynamo)": flat_filter,
    "180 s mean": window_mean,
    "level and trend, no gate": plain_filter,
}


def qualities(demand: str, series: Series) -> list[Quality]:
    """One row for each horizon that the series is long enough for."""
    rows = []
    for horizon in HORIZONS:
        steps = round(horizon / INTERVAL)
        places = range(MIN_POINTS - 1, len(series) - steps)
        if len(places) < FEWEST:
            continue
        last = _error(list(series), series, places, steps)
        ratios = {
            name: _error(make(series, horizon), series, places, steps) / last for name, make in FORECASTERS.items()
        }
        rows.append(Quality(demand=demand, horizon=horizon, forecasts=len(places), ratios=ratios))
    return rows


def trace_qualities(name: str, arrivals: Sequence[Arrival]) -> list[Quality]:
    """Rows of both demands of a trace."""
    return [
        *qualities(f"{name}, prompt", prompt_rates(arrivals)),
        *qualities(f"{name}, generation", generation_rates(arrivals)),
    ]


def table(rows: Iterable[Quality]) -> str:
    """A Markdown table; the best of each row is bold."""
    lines = [
        f"| Demand | Horizon | Forecasts | {' | '.join(FORECASTERS)} |",
        f"|---|---:|---:|{'---:|' * len(FORECASTERS)}",
    ]
    for row in rows:
        best = min(row.ratios.values())
        cells = [f"**{ratio:.2f}**" if ratio == best else f"{ratio:.2f}" for ratio in row.ratios.values()]
        lines.append(f"| {row.demand} | {row.horizon:.0f} s | {row.forecasts} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _binned(pieces: Iterable[tuple[float, float, int]]) -> Series:
    """(begin, end, tokens) to tokens per second; the last interval is not whole and left out."""
    held = list(pieces)
    bins = [0.0] * int(max((begin for begin, _, _ in held), default=0.0) // INTERVAL)
    for begin, end, tokens in held:
        for index in range(int(begin // INTERVAL), min(int(end // INTERVAL) + 1, len(bins))):
            if end == begin:
                bins[index] += tokens
                continue
            inside = min(end, (index + 1) * INTERVAL) - max(begin, index * INTERVAL)
            bins[index] += tokens * inside / (end - begin)
    return [tokens / INTERVAL for tokens in bins]


def _filtered(series: Series) -> Iterable[Estimate]:
    noise, estimate = Noise(), None
    for value in series:
        if estimate is None:
            estimate = Estimate(level=value)
        else:
            prior = predict(estimate, steps=1.0, noise=noise)
            estimate = update(prior, value - prior.level, noise)
        yield estimate


def _error(ahead: Sequence[float], series: Series, places: range, steps: int) -> float:
    return fmean(abs(ahead[index] - series[index + steps]) for index in places)


def replace_table(path: Path, text: str, name: str = "table") -> None:
    """Put the table between its marks in a Markdown page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Print the table, or write it between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--write", type=Path, help="a Markdown page with the marks of a table")
    given = parser.parse_args()
    text = table(row for path in given.traces for row in trace_qualities(path.stem, load(path)))
    if given.write is None:
        print(text)
    else:
        replace_table(given.write, text)


if __name__ == "__main__":
    main()
