"""Metric texts of vLLM and SGLang to `EngineCounters` (spec, Engine signals).

`engine`, `model_name` and `is_streaming` split load, so their series are summed. Values that are NaN, infinite or
negative are no observation. What counts, and under which name, is `layout`'s business.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from scaler_core.model.scrape import EngineCounters, Histogram
from scaler_core.signals.exposition import read_samples
from scaler_core.signals.layout import HistogramLayout, Indexes, Layout, Pick, lay_out
from scaler_core.signals.names import WANTED

Values = Sequence[float]
_ZERO: Final = Decimal()


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


def read_body(body: bytes) -> EngineCounters:
    """What `read_engine` reads of an answer.

    Args:
        body: an exposition in UTF-8; what is not becomes a replacement character, as a label of a family that we do
            not need may hold any bytes.
    """
    return read_engine(body.decode("utf-8", errors="replace"))


def is_usable(value: float) -> bool:
    """Whether a value is an observation: a number that is neither negative nor infinite."""
    return 0 <= value < math.inf


def counters_of(values: Values, layout: Layout) -> EngineCounters:
    """The values of a text's samples, in their order, to what they say."""
    if not math.isfinite(sum(values)) or min(values, default=0.0) < 0:
        layout = layout.without({place for place, value in enumerate(values) if not is_usable(value)})
    totals = {signal: _sum(values, places) for signal, places in layout.totals.items() if places}
    return EngineCounters(
        engine=layout.engine,
        running=totals.get("running"),
        waiting=totals.get("waiting"),
        transfer_queue=totals.get("transfer"),
        kv_cache_usage=_usage(values, layout.usage),
        prompt_tokens=totals.get("prompt"),
        generation_tokens=totals.get("generation"),
        prefix_hits=totals.get("hits"),
        computed_prompt_tokens=_sum(values, layout.computed) if layout.computed else None,
        prefill_effective={mode: _sum(values, places) for mode, places in layout.modes.items()},
        ttft=_histogram(values, layout.histograms.get("ttft")),
        itl=_histogram(values, layout.histograms.get("itl")),
        models=layout.models,
        process_start=_process_start(values, layout),
    )


def _sum(values: Values, places: Indexes) -> float:
    """An exact sum does not depend on the order of the series, so it cannot seem to decrease between two texts."""
    return values[places[0]] if len(places) == 1 else math.fsum([values[place] for place in places])


def _usage(values: Values, usage: Sequence[Indexes]) -> float | None:
    if not usage:
        return None
    return math.fsum([max([values[place] for place in places]) for places in usage]) / len(usage)


def _histogram(values: Values, layout: HistogramLayout | None) -> Histogram | None:
    """The sum over series; without buckets where a series lacks the infinite one or has bounds of its own."""
    if layout is None or not layout.counts:
        return None
    return Histogram(
        count=_sum(values, layout.counts),
        sum_seconds=_decimal_sum(values, layout.sums) if len(layout.sums) == len(layout.counts) else None,
        bounds=layout.bounds.finite,
        counts=_cumulative(values, layout.bounds.picks),
    )


def _decimal_sum(values: Values, places: Indexes) -> Decimal:
    """The shortest text of a float is the decimal that it was read from, so the sum is that of the text."""
    sums = [Decimal(repr(values[place])) for place in places]
    return sums[0] if len(sums) == 1 else sum(sums, _ZERO)


def _cumulative(values: Values, picks: Sequence[Pick]) -> tuple[float, ...]:
    """How many observations of all series did not exceed each finite bound."""
    counts = [pick(values) for pick in picks]
    return counts[0] if len(counts) == 1 else tuple(map(math.fsum, zip(*counts, strict=True)))


def _process_start(values: Values, layout: Layout) -> float | None:
    """A moment that changes when the process does; it only has to be compared, so any text of one process serves."""
    return min([values[place] for place in layout.process_starts or layout.created], default=None)
