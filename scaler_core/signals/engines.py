"""Metric texts of vLLM and SGLang to `EngineCounters` (spec, Engine signals; names: target-contract.md 7).

Renames: the first name that a text has is read and its older names are ignored, never added. Only series of rank zero
and without a priority count; `engine`, `model_name` and `is_streaming` split load, so they are summed. Values that
are NaN, infinite or negative are no observation.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Final

from scaler_core.model.scrape import Engine, EngineCounters, Histogram
from scaler_core.signals.exposition import Labels, MalformedLineError, Sample, read_samples

Texts = Mapping[str, Sequence[Sample]]
"""Samples by the name in the text."""

Names = Mapping[str, tuple[str, ...]]
"""Signal to metric names without prefix and suffix, newest first."""

GAUGES: Final[Mapping[Engine, Names]] = {
    Engine.VLLM: {
        "running": ("num_requests_running",),
        "waiting": ("num_requests_waiting",),
        "kv": ("kv_cache_usage_perc", "gpu_cache_usage_perc"),
    },
    Engine.SGLANG: {
        "running": ("num_running_reqs",),
        "waiting": ("num_queue_reqs",),
        "transfer": ("num_decode_transfer_queue_reqs",),
        "kv": ("token_usage",),
    },
}
# `gpu_prefix_cache_hits` is absent on purpose: it counted blocks in some releases.
COUNTERS: Final[Mapping[Engine, Names]] = {
    Engine.VLLM: {
        "prompt": ("prompt_tokens",),
        "generation": ("generation_tokens",),
        "hits": ("prefix_cache_hits",),
        "by_source": ("prompt_tokens_by_source",),
    },
    Engine.SGLANG: {
        "prompt": ("prompt_tokens",),
        "generation": ("generation_tokens",),
        "effective": ("prefill_effective_tokens",),
    },
}
HISTOGRAMS: Final[Mapping[Engine, Names]] = {
    Engine.VLLM: {
        "ttft": ("time_to_first_token_seconds",),
        "itl": ("inter_token_latency_seconds", "time_per_output_token_seconds"),
    },
    Engine.SGLANG: {
        "ttft": ("time_to_first_token_seconds",),
        "itl": ("inter_token_latency_seconds", "time_per_output_token_seconds"),
    },
}
PREFIXES: Final = {Engine.VLLM: ("vllm:", "vllm_"), Engine.SGLANG: ("sglang:", "sglang_")}
EFFECTIVE_MODES: Final = ("input", "device_hit", "host_hit", "storage_hit")
LOCAL_COMPUTE: Final = "local_compute"
PROCESS_START: Final = "process_start_time_seconds"
_HISTOGRAM_SUFFIXES: Final = ("_bucket", "_count", "_sum")
_CACHED_LABELS: Final = 8192  # as many as the reader keeps
_INFINITE: Final = Decimal("Infinity")


def _candidates(signals: Mapping[Engine, Names], suffixes: Iterable[str]) -> Mapping[Engine, Names]:
    """Full names by engine and signal: newest name first, then colon before underscore, then suffixes."""
    return {
        engine: {
            signal: tuple(prefix + name + suffix for name, prefix, suffix in product(names, PREFIXES[engine], suffixes))
            for signal, names in by_signal.items()
        }
        for engine, by_signal in signals.items()
    }


_GAUGES: Final = _candidates(GAUGES, ("",))
_COUNTERS: Final = _candidates(COUNTERS, ("_total", ""))
_HISTOGRAMS: Final = _candidates(HISTOGRAMS, ("",))
_CREATED: Final = (_candidates(COUNTERS, ("_created",)), _candidates(HISTOGRAMS, ("_created",)))


def _all(candidates: Mapping[Engine, Names]) -> Iterator[str]:
    return (name for by_signal in candidates.values() for names in by_signal.values() for name in names)


WANTED: Final = frozenset(
    {
        PROCESS_START,
        *_all(_GAUGES),
        *_all(_COUNTERS),
        *(base + suffix for base in _all(_HISTOGRAMS) for suffix in _HISTOGRAM_SUFFIXES),
        *(name for candidates in _CREATED for name in _all(candidates)),
    }
)
"""Every sample name that is read."""


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
    texts = _by_name(read_samples(text, WANTED))
    engine = _engine(texts)
    if engine is None:
        return EngineCounters(process_start=_process_start(texts))
    gauges = {signal: _first(texts, names) for signal, names in _GAUGES[engine].items()}
    counters = {signal: _first(texts, names) for signal, names in _COUNTERS[engine].items()}
    latencies = {signal: _histogram(texts, bases) for signal, bases in _HISTOGRAMS[engine].items()}
    return EngineCounters(
        engine=engine,
        running=_total(gauges["running"]),
        waiting=_total(gauges["waiting"]),
        transfer_queue=_total(gauges.get("transfer", ())),
        kv_cache_usage=_usage(gauges["kv"]),
        prompt_tokens=_total(counters["prompt"]),
        generation_tokens=_total(counters["generation"]),
        prefix_hits=_total(counters.get("hits", ())),
        computed_prompt_tokens=_total(_with(counters.get("by_source", ()), "source", LOCAL_COMPUTE)),
        prefill_effective=_modes(counters.get("effective", ())),
        ttft=latencies["ttft"],
        itl=latencies["itl"],
        process_start=_process_start(texts),
    )


def _by_name(samples: Iterable[Sample]) -> Texts:
    """Samples by name without repeated series: the first counts, as in Prometheus."""
    texts: dict[str, dict[Labels, Sample]] = {}
    for sample in samples:
        texts.setdefault(sample.name, {}).setdefault(sample.labels, sample)
    return {name: tuple(series.values()) for name, series in texts.items()}


def _engine(texts: Texts) -> Engine | None:
    for engine in Engine:
        if any(name.startswith(PREFIXES[engine]) for name in texts):
            return engine
    return None


def _first(texts: Texts, names: Iterable[str]) -> Sequence[Sample]:
    """The usable series of the first of these names that the text has."""
    name = next((name for name in names if name in texts), None)
    return [] if name is None else [s for s in texts[name] if _is_usable(s.value) and _counts(s.labels)]


@lru_cache(maxsize=_CACHED_LABELS)
def _counts(labels: Labels) -> bool:
    """Rank zero or unlabelled, and not a share of a total by priority."""
    return all(
        value in {"", "0"} if label.endswith("_rank") else not value or label != "priority" for label, value in labels
    )


@lru_cache(maxsize=_CACHED_LABELS)
def _split(labels: Labels, name: str) -> tuple[Labels, str]:
    """The labels without one of them, and that one's value; empty is as good as absent."""
    return tuple(pair for pair in labels if pair[0] != name), dict(labels).get(name, "")


def _is_usable(value: float) -> bool:
    return math.isfinite(value) and value >= 0


def _total(samples: Iterable[Sample]) -> float | None:
    values = [sample.value for sample in samples]
    # An exact sum does not depend on the order of the series, so it cannot seem to decrease between two texts.
    return math.fsum(values) if values else None


def _with(samples: Iterable[Sample], label: str, value: str) -> list[Sample]:
    return [sample for sample in samples if _split(sample.labels, label)[1] == value]


def _modes(samples: Sequence[Sample]) -> dict[str, float]:
    totals = {mode: _total(_with(samples, "mode", mode)) for mode in EFFECTIVE_MODES}
    return {mode: total for mode, total in totals.items() if total is not None}


def _usage(samples: Iterable[Sample]) -> float | None:
    """The mean over series of the maximum over processes: each process of one engine repeats the gauge."""
    highest: dict[Labels, float] = {}
    for sample in samples:
        series, _ = _split(sample.labels, "pid")
        highest[series] = max(sample.value, highest.get(series, 0.0))
    return math.fsum(highest.values()) / len(highest) if highest else None


def _histogram(texts: Texts, bases: Iterable[str]) -> Histogram | None:
    """The sum over series; without buckets where a series lacks the infinite one or has bounds of its own."""
    names = ([base + suffix for suffix in _HISTOGRAM_SUFFIXES] for base in bases)
    present = next((family for family in names if any(name in texts for name in family)), None)
    if present is None:
        return None
    samples, counts, sums = (_first(texts, (name,)) for name in present)
    count = _total(counts)
    if count is None:
        return None
    return Histogram(
        count=count,
        # The shortest text of a float is the decimal that it was read from, so the sum is that of the text.
        sum_seconds=sum((Fraction(repr(s.value)) for s in sums), Fraction(0)) if len(sums) == len(counts) else None,
        buckets=_buckets(samples, len(counts)),
    )


def _buckets(samples: Iterable[Sample], series_count: int) -> tuple[tuple[Decimal, float], ...]:
    series: dict[Labels, dict[Decimal, float]] = {}
    for sample in samples:
        labels, bound = _split(sample.labels, "le")
        try:
            series.setdefault(labels, {})[_bound(bound)] = sample.value
        except ValueError as error:
            raise MalformedLineError(sample.line, f'{sample.name}{{le="{bound}"}}', str(error)) from None
    bounds = {frozenset(buckets) for buckets in series.values()}
    if len(series) != series_count or len(bounds) != 1:
        return ()
    (shared,) = bounds
    if _INFINITE not in shared:
        return ()
    finite = sorted(shared - {_INFINITE})
    return tuple((bound, math.fsum(buckets[bound] for buckets in series.values())) for bound in finite)


@lru_cache(maxsize=1024)
def _bound(text: str) -> Decimal:
    try:
        bound = Decimal(text)
    except InvalidOperation:
        bound = Decimal("NaN")
    if bound.is_nan():
        raise ValueError("its bucket bound is not a number")
    return bound


def _process_start(texts: Texts) -> float | None:
    """A moment that changes when the process does; it only has to be compared, so any text of one process serves."""
    started = [sample.value for sample in texts.get(PROCESS_START, ()) if _is_usable(sample.value)]
    created = (
        sample.value
        for name, samples in texts.items()
        if name.endswith("_created")
        for sample in samples
        if _is_usable(sample.value)
    )
    return min(started) if started else min(created, default=None)
