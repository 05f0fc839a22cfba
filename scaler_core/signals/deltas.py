"""Two texts of one engine to what happened between them."""

from collections.abc import Iterator
from dataclasses import dataclass

from scaler_core.model.scrape import Engine, EngineCounters, Histogram
from scaler_core.signals import histograms
from scaler_core.signals.names import EFFECTIVE_MODES

INPUT, *HITS = EFFECTIVE_MODES


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Work of one Pod between two good reads; None is unknown."""

    seconds: float
    """Time between the reads, above 0."""
    prompt_tokens: float | None
    """Cache-missed prompt tokens: the demand for prefill."""
    generation_tokens: float | None
    ttft: Histogram | None
    itl: Histogram | None
    has_moved: bool
    """Any counter moved, cached prompts included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """The two texts are of different processes; `why` is for people."""

    why: str


def compare(previous: EngineCounters, current: EngineCounters, seconds: float) -> Delta | Restart:
    """What one engine did between two texts that are `seconds` > 0 apart.

    A counter in only one of the texts gives no delta. A series that the older text lacks of a counter that both have
    counts with its whole value: a process creates a labelled series at zero when it first uses it. Any decrease,
    another process start, another engine or model is a restart: then not even the counters that grew say anything.
    """
    if (another := _another(previous, current)) is not None:
        return Restart(why=another)
    changes = tuple(_changes(previous, current))
    latencies = tuple(_latency(*pair) for pair in ((previous.ttft, current.ttft), (previous.itl, current.itl)))
    if any(change < 0 for change in changes) or any(h is not None and histograms.has_decreased(h) for h in latencies):
        return Restart(why="a counter decreased")
    ttft, itl = latencies
    return Delta(
        seconds=seconds,
        prompt_tokens=_prompt_demand(previous, current),
        generation_tokens=_change(_generation(previous), _generation(current)),
        ttft=ttft,
        itl=itl,
        has_moved=any(changes) or any(h is not None and h.count > 0 for h in latencies),
    )


def _another(previous: EngineCounters, current: EngineCounters) -> str | None:
    """What only another process has; what one of the texts does not tell says nothing."""
    if None not in (previous.engine, current.engine) and previous.engine != current.engine:
        return f"it was {previous.engine} and is {current.engine}"
    if previous.models and current.models and previous.models.isdisjoint(current.models):
        return "it serves another model"
    if None not in (previous.process_start, current.process_start) and previous.process_start != current.process_start:
        return "its process started anew"
    return None


def _change(previous: float | None, current: float | None) -> float | None:
    return None if previous is None or current is None else current - previous


def _changes(previous: EngineCounters, current: EngineCounters) -> Iterator[float]:
    """Every counter's change that both texts tell."""
    pairs = [
        (previous.prompt_tokens, current.prompt_tokens),
        (_generation(previous), _generation(current)),
        (previous.prefix_hits, current.prefix_hits),
        (previous.computed_prompt_tokens, current.computed_prompt_tokens),
        *((previous.prefill_effective.get(mode), current.prefill_effective.get(mode)) for mode in EFFECTIVE_MODES),
    ]
    return (change for change in (_change(*pair) for pair in pairs) if change is not None)


def _latency(previous: Histogram | None, current: Histogram | None) -> Histogram | None:
    return None if previous is None or current is None else histograms.difference(previous, current)


def _generation(counters: EngineCounters) -> float | None:
    """Generated tokens; an SGLang engine that has served nothing yet does not export the counter, and means zero."""
    return 0.0 if counters.generation_tokens is None and is_unserved(counters) else counters.generation_tokens


def is_unserved(counters: EngineCounters) -> bool:
    """Whether this is an SGLang engine that has served nothing yet.

    Only where other accounting is observed and still: an absent counter beside nothing else stays unknown. Without
    this a replica that never got a request would keep an idle fleet from its minimum for ever.
    """
    return (
        counters.engine is Engine.SGLANG
        and counters.running == counters.waiting == 0
        and not counters.transfer_queue
        and counters.ttft is None
        and len(counters.prefill_effective) == len(EFFECTIVE_MODES)
        and not any(counters.prefill_effective.values())
    )


def _prompt_demand(previous: EngineCounters, current: EngineCounters) -> float | None:
    """Cache-missed prompt tokens by the best accounting that both texts have (spec, Engine signals)."""
    modes = {
        mode: current.prefill_effective[mode] - previous.prefill_effective[mode]
        for mode in EFFECTIVE_MODES
        if mode in current.prefill_effective and mode in previous.prefill_effective
    }
    if INPUT in modes:
        return modes[INPUT]
    prompt = _change(previous.prompt_tokens, current.prompt_tokens)
    if prompt is None:
        return None
    hits = (_change(previous.prefix_hits, current.prefix_hits) or 0.0) + sum(
        modes[mode] for mode in HITS if mode in modes
    )
    if hits <= prompt:
        return prompt - hits
    # A KV connector counts a prompt's hits many times over; what was computed locally is the demand then.
    return _change(previous.computed_prompt_tokens, current.computed_prompt_tokens) or 0.0
