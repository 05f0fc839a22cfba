"""What is odd about a metric text, in words for people; it changes nothing of what is read."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Final

from scaler_core.model.scrape import Engine
from scaler_core.signals import names
from scaler_core.signals.engines import is_usable
from scaler_core.signals.exposition import BOUND, BUCKET, Labels, Sample, read_samples
from scaler_core.signals.layout import counts, first_present, lay_out, present_base
from scaler_core.signals.requirements import Signal

_SCALARS: Final = {
    Signal.RUNNING: (names.GAUGE_NAMES, "running"),
    Signal.WAITING: (names.GAUGE_NAMES, "waiting"),
    Signal.KV_CACHE_USAGE: (names.GAUGE_NAMES, "kv"),
    Signal.PROMPT_TOKENS: (names.COUNTER_NAMES, "prompt"),
    Signal.GENERATION_TOKENS: (names.COUNTER_NAMES, "generation"),
}
_HISTOGRAMS: Final = {Signal.TTFT: "ttft", Signal.ITL: "itl"}
_ByName = Mapping[str, Sequence[Sample]]
_SeriesName = tuple[str, Labels]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What a text has where a signal is looked for."""

    absent: Mapping[Signal, str] = field(default_factory=dict)
    """Why each signal would be absent: the name that was looked for, or the value that does not count."""
    unusable: Mapping[Signal, str] = field(default_factory=dict)
    """Signals that are there with values that do not count, with such a value as a text."""
    remarks: tuple[str, ...] = ()
    """One line each."""
    counters: frozenset[_SeriesName] = frozenset()
    """Counter series that count."""


def inspect(text: str) -> Inspection:
    """Look at a text that `read_engine` reads; raises as it does."""
    series, values = read_samples(text, names.WANTED)
    engine = lay_out(tuple(series)).engine
    if engine is None:
        return Inspection()
    found: dict[str, dict[_SeriesName, Sample]] = {}
    for one, value in zip(series, values, strict=True):
        found.setdefault(one.name, {}).setdefault(one.identity, (one, value))
    by_name = {name: tuple(samples.values()) for name, samples in found.items()}
    chosen = {signal: _chosen(signal, engine, by_name) for signal in Signal}
    bad = {signal: _unusable(by_name.get(name, ())) for signal, name in chosen.items()}
    unusable = {signal: words for signal, words in bad.items() if words is not None}
    remarks = [*_both_engines(by_name, engine), *_left_out(by_name, {chosen[signal] for signal in unusable})]
    remarks += [*_usage_above_one(by_name.get(chosen[Signal.KV_CACHE_USAGE], ()))]
    for signal in _HISTOGRAMS:
        remarks += _histogram_remarks(chosen[signal].removesuffix(names.COUNT), by_name)
    return Inspection(
        absent={signal: _why_absent(name, by_name.get(name, ())) for signal, name in chosen.items()},
        unusable=unusable,
        remarks=tuple(remarks),
        counters=frozenset(one.identity for one, _ in _all(by_name, engine) if counts(one.labels)),
    )


def _chosen(signal: Signal, engine: Engine, by_name: _ByName) -> str:
    """The name that the signal is read from, or would be."""
    if signal in _SCALARS:
        candidates, key = _SCALARS[signal]
        return first_present(candidates[engine][key], by_name) or candidates[engine][key][0]
    bases = names.HISTOGRAM_BASES[engine][_HISTOGRAMS[signal]]
    return (present_base(bases, by_name) or bases[0]) + names.COUNT


def _all(by_name: _ByName, engine: Engine) -> Iterator[Sample]:
    for candidates in names.COUNTER_NAMES[engine].values():
        name = first_present(candidates, by_name)
        yield from by_name[name] if name is not None else ()


def _unusable(samples: Iterable[Sample]) -> str | None:
    """A value that does not count, where no other one does."""
    values = [value for series, value in samples if counts(series.labels)]
    return f"{values[0]:g}" if values and not any(map(is_usable, values)) else None


def _why_absent(name: str, samples: Sequence[Sample]) -> str:
    if not samples:
        return f"no {name}"
    value = next((value for series, value in samples if counts(series.labels)), None)
    if value is None:
        return f"{name} has only series of other ranks or of one priority"
    return f"{name} is {_not_counting(value)}"


def _not_counting(value: float) -> str:
    if math.isnan(value):
        return "NaN, which is no number"
    return f"{value:g}, and nothing is below zero here" if value < 0 else "infinite, or larger than a float holds"


def _left_out(by_name: _ByName, told: set[str]) -> Iterator[str]:
    """Values that do not count beside others that do."""
    for name, samples in by_name.items():
        value = next((value for _, value in samples if not is_usable(value)), None)
        if value is not None and name not in told:
            yield f"a series of {name} is left out: it is {_not_counting(value)}"


def _both_engines(by_name: _ByName, engine: Engine) -> Iterator[str]:
    for other in Engine:
        if other is not engine and any(name.startswith(names.PREFIXES[other]) for name in by_name):
            yield f"it has series of both engines; those of {other} are left out"


def _usage_above_one(samples: Iterable[Sample]) -> Iterator[str]:
    for series, value in samples:
        if counts(series.labels) and 1 < value < math.inf:
            yield f"{series.name} is {value:g}, and a share is at most 1"
            return


def _histogram_remarks(base: str, by_name: _ByName) -> Iterator[str]:
    groups: dict[Labels, list[tuple[Decimal, float]]] = {}
    for series, value in by_name.get(base + BUCKET, ()):
        if series.bound is not None and counts(series.labels) and is_usable(value):
            labels = tuple(pair for pair in series.labels if pair[0] != BOUND)
            groups.setdefault(labels, []).append((series.bound, value))
    totals = {series.labels: value for series, value in by_name.get(base + names.COUNT, ())}
    for labels, buckets in groups.items():
        yield from _bucket_remarks(base, sorted(buckets), totals.get(labels))
    if len({frozenset(bound for bound, _ in buckets) for buckets in groups.values()}) > 1:
        yield f"{base}: its series have different bounds, so the mean is taken for the percentile"


def _bucket_remarks(base: str, buckets: Sequence[tuple[Decimal, float]], total: float | None) -> Iterator[str]:
    fall = next(((low, high) for low, high in pairwise(buckets) if high[1] < low[1]), None)
    if fall is not None:
        (below, more), (above, less) = fall
        yield f"{base}: up to {above} s there are {less:g} observations, fewer than the {more:g} up to {below} s"
    bound, last = buckets[-1]
    if bound.is_finite():
        yield f"{base}: it has no infinite bucket, so the mean is taken for the percentile"
    elif total is not None and last != total:
        yield f"{base}: its infinite bucket has {last:g} observations, its count {total:g}"
