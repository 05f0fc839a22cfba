"""Metric texts of vLLM and SGLang to `EngineCounters` (spec, Engine signals).

`engine`, `model_name` and `is_streaming` split load, so their series are summed. Values that are NaN, infinite or
negative are no observation. What counts, and under which name, is `layout`'s business.
"""

import math
from collections.abc import Sequence
from decimal import Decimal

from scaler_core.model.scrape import EngineCounters, Histogram
from scaler_core.signals.exposition import read_samples
from scaler_core.signals.layout import Bounds, HistogramLayout, Indexes, Layout, lay_out, shared_bounds
from scaler_core.signals.names import WANTED

Values = Sequence[float]


def read_engine(text: str) -> EngineCounters:
    """What one engine's text says.

    Args:
        text: Prometheus text 0.0.4 or OpenMetrics, names with a colon or an underscore behind the engine's prefix.

    Returns:
        Sums over the series that count; None is absent, zero is an observed zero. KV usage is the maximum over `pid`,
        then the mean. The engine is None where the text has no sample that we need of either engine.

    Raises:
        MalformedLineError: a line that we need cannot be read.
    """
    series, values = read_samples(text, WANTED)
    return counters_of(values, lay_out(tuple(series)))


def counters_of(samples: Values, layout: Layout) -> EngineCounters:
    """The values of a text's samples, in their order, to what they say."""
    values = samples
    if not math.isfinite(sum(samples)) or min(samples, default=0.0) < 0:
        values = [value if 0 <= value < math.inf else math.nan for value in samples]
    totals = {signal: _total(values, places) for signal, places in layout.totals.items()}
    modes = {mode: _total(values, places) for mode, places in layout.modes.items()}
    return EngineCounters(
        engine=layout.engine,
        running=totals.get("running"),
        waiting=totals.get("waiting"),
        transfer_queue=totals.get("transfer"),
        kv_cache_usage=_usage(values, layout),
        prompt_tokens=totals.get("prompt"),
        generation_tokens=totals.get("generation"),
        prefix_hits=totals.get("hits"),
        computed_prompt_tokens=_total(values, layout.computed),
        prefill_effective={mode: total for mode, total in modes.items() if total is not None},
        ttft=_histogram(values, layout.histograms.get("ttft")),
        itl=_histogram(values, layout.histograms.get("itl")),
        models=layout.models,
        process_start=_process_start(values, layout),
    )


def _usable(values: Values, places: Indexes) -> list[float]:
    return [value for place in places if not math.isnan(value := values[place])]


def _total(values: Values, places: Indexes) -> float | None:
    found = _usable(values, places)
    # An exact sum does not depend on the order of the series, so it cannot seem to decrease between two texts.
    return math.fsum(found) if found else None


def _usage(values: Values, layout: Layout) -> float | None:
    found = [max(usable) for places in layout.usage if (usable := _usable(values, places))]
    return math.fsum(found) / len(found) if found else None


def _histogram(values: Values, layout: HistogramLayout | None) -> Histogram | None:
    """The sum over series; without buckets where a series lacks the infinite one or has bounds of its own."""
    if layout is None:
        return None
    counts, sums = _usable(values, layout.counts), _usable(values, layout.sums)
    if not counts:
        return None
    bounds = layout.bounds
    if len(counts) < len(layout.counts) or any(math.isnan(values[place]) for place, _ in layout.buckets):
        usable = [member for member in layout.buckets if not math.isnan(values[member[0]])]
        bounds = shared_bounds(usable, len(counts))
    return Histogram(
        count=math.fsum(counts),
        # The shortest text of a float is the decimal that it was read from, so the sum is that of the text.
        sum_seconds=sum([Decimal(repr(s)) for s in sums], Decimal()) if len(sums) == len(counts) else None,
        bounds=bounds.finite,
        counts=_cumulative(values, bounds),
    )


def _cumulative(values: Values, bounds: Bounds) -> tuple[float, ...]:
    """How many observations of all series did not exceed each finite bound."""
    series = [[values[place] for place in places[:-1]] for places in bounds.series]
    return tuple(series[0]) if len(series) == 1 else tuple(map(math.fsum, zip(*series, strict=True)))


def _process_start(values: Values, layout: Layout) -> float | None:
    """A moment that changes when the process does; it only has to be compared, so any text of one process serves."""
    started = _usable(values, layout.process_starts) or _usable(values, layout.created)
    return min(started, default=None)
