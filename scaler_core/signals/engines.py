"""Metric texts of vLLM and SGLang to `EngineCounters` (spec, Engine signals).

`engine`, `model_name` and `is_streaming` split load, so their series are summed. Values that are NaN, infinite or
negative are no observation. What counts, and under which name, is `layout`'s business.
"""

import math
from collections.abc import Sequence
from decimal import Decimal

from scaler_core.model.scrape import EngineCounters, Histogram
from scaler_core.signals.exposition import read_samples
from scaler_core.signals.layout import HistogramLayout, Indexes, Layout, lay_out, shared_bounds
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
    layout = lay_out(tuple(series))
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
        process_start=_process_start(values, layout),
    )


def _usable(values: Values, places: Indexes) -> list[float]:
    return [values[place] for place in places if 0 <= values[place] < math.inf]


def _total(values: Values, places: Indexes) -> float | None:
    found = _usable(values, places)
    # An exact sum does not depend on the order of the series, so it cannot seem to decrease between two texts.
    return math.fsum(found) if found else None


def _sum(values: Values, places: Indexes) -> float:
    return values[places[0]] if len(places) == 1 else math.fsum([values[place] for place in places])


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
    usable = [member for member in layout.buckets if 0 <= values[member[0]] < math.inf]
    is_whole = len(counts) == len(layout.counts) and len(usable) == len(layout.buckets)
    bounds = layout.bounds if is_whole else shared_bounds(usable, len(counts))
    return Histogram(
        count=math.fsum(counts),
        # The shortest text of a float is the decimal that it was read from, so the sum is that of the text.
        sum_seconds=sum([Decimal(repr(s)) for s in sums], Decimal()) if len(sums) == len(counts) else None,
        buckets=tuple([(bound, _sum(values, places)) for bound, places in bounds]),
    )


def _process_start(values: Values, layout: Layout) -> float | None:
    """A moment that changes when the process does; it only has to be compared, so any text of one process serves."""
    started = _usable(values, layout.process_starts) or _usable(values, layout.created)
    return min(started, default=None)
