"""Which signals a scaler's algorithm cannot do without, by role."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import AlgorithmType, Metric, ScalerSpec
from scaler_core.model.scrape import Engine, EngineCounters
from scaler_core.signals.deltas import is_unserved

DEFAULT_PANIC_WINDOW_SECONDS: Final = 60


class Signal(StrEnum):
    """A signal, named as `mds probe` prints it."""

    RUNNING = "running"
    WAITING = "waiting"
    KV_CACHE_USAGE = "kvCacheUsage"
    PROMPT_TOKENS = "promptTokens"
    GENERATION_TOKENS = "generationTokens"
    TTFT = "ttft"
    ITL = "itl"


WORDS: Final[Mapping[Signal, str]] = {
    Signal.RUNNING: "running requests",
    Signal.WAITING: "waiting requests",
    Signal.KV_CACHE_USAGE: "KV cache usage",
    Signal.PROMPT_TOKENS: "prompt tokens",
    Signal.GENERATION_TOKENS: "generation tokens",
    Signal.TTFT: "time to first token",
    Signal.ITL: "inter-token latency",
}
RATES: Final = frozenset({Signal.PROMPT_TOKENS, Signal.GENERATION_TOKENS})
LATENCIES: Final = frozenset({Signal.TTFT, Signal.ITL})
_BY_METRIC: Final[Mapping[Metric, frozenset[Signal]]] = {
    Metric.QUEUE_DEPTH: frozenset({Signal.RUNNING, Signal.WAITING}),
    Metric.RUNNING_REQUESTS: frozenset({Signal.RUNNING}),
    Metric.WAITING_REQUESTS: frozenset({Signal.WAITING}),
    Metric.PROMPT_TOKENS: frozenset({Signal.PROMPT_TOKENS}),
    Metric.GENERATION_TOKENS: frozenset({Signal.GENERATION_TOKENS}),
    Metric.TOTAL_TOKENS: RATES,
}
_BY_KIND: Final[Mapping[RoleKind, frozenset[Signal]]] = {
    RoleKind.SERVER: RATES,
    RoleKind.PREFILL: frozenset({Signal.PROMPT_TOKENS}),
    RoleKind.DECODE: frozenset({Signal.GENERATION_TOKENS}),
    RoleKind.ENCODE: frozenset(),
}
_NEEDLESS: Final[Mapping[RoleKind, frozenset[Signal]]] = {
    RoleKind.SERVER: frozenset({Signal.KV_CACHE_USAGE}),
    RoleKind.PREFILL: frozenset({Signal.KV_CACHE_USAGE, Signal.GENERATION_TOKENS, Signal.ITL}),
    RoleKind.DECODE: frozenset({Signal.KV_CACHE_USAGE, Signal.PROMPT_TOKENS, Signal.TTFT}),
    RoleKind.ENCODE: frozenset(Signal),
}
"""What no algorithm asks of a role of this kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What one scaler needs of its samples."""

    interval_seconds: float
    panic_window_seconds: float
    metric: Metric | None
    """The one metric of Proportional; None for the token algorithms, whose demand depends on the kind."""

    @classmethod
    def of(cls, spec: ScalerSpec) -> "Requirements":
        """The requirements of a defaulted spec."""
        tokens = spec.algorithm.tokens
        proportional = spec.algorithm.proportional if spec.algorithm.type is AlgorithmType.PROPORTIONAL else None
        return cls(
            interval_seconds=spec.sampling.interval_seconds,
            panic_window_seconds=tokens.panic_window_seconds if tokens else DEFAULT_PANIC_WINDOW_SECONDS,
            metric=proportional.metric if proportional else None,
        )

    def signals(self, kind: RoleKind) -> frozenset[Signal]:
        """What a role of this kind must report; latency is judged apart, an idle role needs none."""
        return _BY_METRIC[self.metric] if self.metric is not None else _BY_KIND[kind]


def missing_signals(counters: EngineCounters, kind: RoleKind) -> tuple[Signal, ...]:
    """Signals that planning would lack of a role of this kind, whatever its algorithm.

    An encode role only has to answer. KV cache usage is shown and decides nothing. An SGLang prefill half records no
    TTFT: its decode half does. An SGLang engine that has served nothing yet is idle, and needs no latency.
    """
    needless = _NEEDLESS[kind]
    if counters.engine is Engine.SGLANG and kind is RoleKind.PREFILL:
        needless |= {Signal.TTFT}
    if is_unserved(counters):
        needless |= {Signal.GENERATION_TOKENS, Signal.TTFT, Signal.ITL}
    return tuple(signal for signal in absent_signals(counters) if signal not in needless)


def absent_signals(counters: EngineCounters) -> tuple[Signal, ...]:
    """Signals that a text does not have, needed or not."""
    has = {
        Signal.RUNNING: counters.running is not None,
        Signal.WAITING: counters.waiting is not None,
        Signal.KV_CACHE_USAGE: counters.kv_cache_usage is not None,
        Signal.PROMPT_TOKENS: counters.prompt_tokens is not None or "input" in counters.prefill_effective,
        Signal.GENERATION_TOKENS: counters.generation_tokens is not None,
        Signal.TTFT: counters.ttft is not None,
        Signal.ITL: counters.itl is not None,
    }
    return tuple(signal for signal in Signal if not has[signal])
