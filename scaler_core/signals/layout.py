"""Which series of a text feed which signal: everything that follows from its names and labels alone.

An engine's series hardly ever change while their values do, so a layout is worked out once and remembered.

Renames: the first name that a text has is read and its older names are ignored, never added. Only series of rank zero
and without a priority count. Of a repeated series the first counts, as in Prometheus.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Final, Self

from scaler_core.model.scrape import Engine
from scaler_core.signals import names
from scaler_core.signals.exposition import BOUND, Labels, Series

Indexes = tuple[int, ...]
"""Places in the text's list of samples."""
Pick = Callable[[Sequence[float]], tuple[float, ...]]
"""The samples at some places."""
Member = tuple[int, Series]
"""A series with its place."""
ByName = Mapping[str, Sequence[Member]]

_REMEMBERED: Final = 512  # engines of one kind and model share a layout
_INFINITE: Final = Decimal("Infinity")
_PARTS: Final = (names.BUCKET, names.COUNT, names.SUM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds that all series of a histogram have, and where their buckets are."""

    finite: tuple[Decimal, ...] = ()
    """Upper bounds in rising order, without the infinite one."""
    picks: tuple[Pick, ...] = ()
    """The buckets of each series, in the order of its finite bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramLayout:
    """Where a histogram is in a text."""

    counts: Indexes
    sums: Indexes
    buckets: tuple[Member, ...]
    bounds: Bounds

    def without(self, unusable: Set[int]) -> Self:
        """The same without the samples at these places."""
        counts = _others(self.counts, unusable)
        buckets = tuple(member for member in self.buckets if member[0] not in unusable)
        return replace(
            self,
            counts=counts,
            sums=_others(self.sums, unusable),
            buckets=buckets,
            bounds=shared_bounds(buckets, len(counts)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the signals are in a text; a signal that is absent has no places."""

    engine: Engine | None
    totals: Mapping[str, Indexes]
    """Gauges and counters to be summed, by signal."""
    usage: tuple[Indexes, ...]
    """KV usage: for each series the places of its processes, which repeat one gauge."""
    modes: Mapping[str, Indexes]
    """SGLang's prefill accounting."""
    computed: Indexes
    """vLLM's prompt tokens that were computed here."""
    histograms: Mapping[str, HistogramLayout]
    models: frozenset[str]
    """Every model that a wanted series names."""
    process_starts: Indexes
    created: Indexes

    def without(self, unusable: Set[int]) -> Self:
        """The same without the samples at these places; a name that loses all of them still hides its older names."""
        return replace(
            self,
            totals={signal: _others(places, unusable) for signal, places in self.totals.items()},
            usage=tuple(kept for places in self.usage if (kept := _others(places, unusable))),
            modes={mode: kept for mode, places in self.modes.items() if (kept := _others(places, unusable))},
            computed=_others(self.computed, unusable),
            histograms={signal: histogram.without(unusable) for signal, histogram in self.histograms.items()},
            process_starts=_others(self.process_starts, unusable),
            created=_others(self.created, unusable),
        )


@lru_cache(maxsize=_REMEMBERED)
def lay_out(series: tuple[Series, ...]) -> Layout:
    """The layout of a text with these wanted series, in its order."""
    members = _by_name(series)
    engine = _engine(members)
    created = _places(member for name, found in members.items() if name.endswith(names.CREATED) for member in found)
    starts = _places(members.get(names.PROCESS_START, ()))
    if engine is None:
        return Layout(
            engine=None,
            totals={},
            usage=(),
            modes={},
            computed=(),
            histograms={},
            models=frozenset(),
            process_starts=starts,
            created=created,
        )
    scalars = {
        signal: _first(members, candidates)
        for by_signal in (names.GAUGE_NAMES[engine], names.COUNTER_NAMES[engine])
        for signal, candidates in by_signal.items()
    }
    effective, sources, usage = (scalars.pop(signal, ()) for signal in ("effective", "by_source", "kv"))
    return Layout(
        engine=engine,
        totals={signal: _places(found) for signal, found in scalars.items() if found},
        usage=tuple(_places(found) for found in _grouped(usage, "pid").values()),
        modes={mode: found for mode in names.EFFECTIVE_MODES if (found := _with(effective, "mode", mode))},
        computed=_with(sources, "source", names.LOCAL_COMPUTE),
        histograms={
            signal: histogram
            for signal, bases in names.HISTOGRAM_BASES[engine].items()
            if (histogram := _histogram(members, bases)) is not None
        },
        models=frozenset(value for each in series for label, value in each.labels if label == names.MODEL and value),
        process_starts=starts,
        created=created,
    )


def shared_bounds(buckets: Iterable[Member], series_count: int) -> Bounds:
    """The bounds of buckets that belong to so many series, if all of these have the same ones and the infinite one."""
    series = [{member[1].bound: member[0] for member in found} for found in _grouped(buckets, BOUND).values()]
    bounds = {frozenset(places) for places in series}
    if len(series) != series_count or len(bounds) != 1:
        return Bounds()
    (shared,) = bounds
    if _INFINITE not in shared:
        return Bounds()
    rising = sorted(bound for bound in shared if bound is not None)
    finite = tuple(rising[:-1])
    return Bounds(finite=finite, picks=tuple(_pick([places[bound] for bound in finite]) for places in series))


def _pick(places: Sequence[int]) -> Pick:
    return itemgetter(*places) if len(places) > 1 else lambda values: tuple([values[place] for place in places])


def _by_name(series: Iterable[Series]) -> ByName:
    seen: set[tuple[str, Labels]] = set()
    members: dict[str, list[Member]] = {}
    for index, each in enumerate(series):
        if each.identity not in seen:
            seen.add(each.identity)
            members.setdefault(each.name, []).append((index, each))
    return members


def _engine(members: ByName) -> Engine | None:
    for engine in Engine:
        if any(name.startswith(names.PREFIXES[engine]) for name in members):
            return engine
    return None


def _first(members: ByName, candidates: Iterable[str]) -> Sequence[Member]:
    """The counting series of the first of these names that the text has."""
    name = first_present(candidates, members)
    return () if name is None else tuple(member for member in members[name] if counts(member[1].labels))


def first_present(candidates: Iterable[str], there: Container[str]) -> str | None:
    """The name that a signal is read from: older ones are ignored where a newer one is there."""
    return next((name for name in candidates if name in there), None)


def present_base(bases: Iterable[str], there: Container[str]) -> str | None:
    """The same for a histogram, of which any part may be there."""
    return next((base for base in bases if any(base + suffix in there for suffix in _PARTS)), None)


def counts(labels: Labels) -> bool:
    """Rank zero or unlabelled, and not a share of a total by priority."""
    return all(
        value in {"", "0"} if label.endswith("_rank") else not value or label != "priority" for label, value in labels
    )


def _places(members: Iterable[Member]) -> Indexes:
    return tuple(index for index, _ in members)


def _others(places: Indexes, unusable: Set[int]) -> Indexes:
    return tuple(place for place in places if place not in unusable)


def _with(members: Iterable[Member], label: str, value: str) -> Indexes:
    return _places(member for member in members if (label, value) in member[1].labels)


def _grouped(members: Iterable[Member], label: str) -> Mapping[Labels, list[Member]]:
    """By every label but this one."""
    groups: dict[Labels, list[Member]] = {}
    for member in members:
        groups.setdefault(tuple(pair for pair in member[1].labels if pair[0] != label), []).append(member)
    return groups


def _histogram(members: ByName, bases: Iterable[str]) -> HistogramLayout | None:
    base = present_base(bases, members)
    if base is None:
        return None
    buckets, counts, sums = (tuple(_first(members, (base + suffix,))) for suffix in _PARTS)
    return HistogramLayout(
        counts=_places(counts), sums=_places(sums), buckets=buckets, bounds=shared_bounds(buckets, len(counts))
    )
