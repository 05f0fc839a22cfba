"""The names that the two engines give to what we need."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final

from scaler_core.model.scrape import Engine

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
MODEL: Final = "model_name"
PROCESS_START: Final = "process_start_time_seconds"


def _candidates(signals: Mapping[Engine, Names], suffixes: Iterable[str]) -> Mapping[Engine, Names]:
    """Full names by engine and signal: newest name first, then colon before underscore, then suffixes."""
    return {
        engine: {
            signal: tuple(prefix + name + suffix for name, prefix, suffix in product(names, PREFIXES[engine], suffixes))
            for signal, names in by_signal.items()
        }
        for engine, by_signal in signals.items()
    }


GAUGE_NAMES: Final = _candidates(GAUGES, ("",))
COUNTER_NAMES: Final = _candidates(COUNTERS, ("_total", ""))
HISTOGRAM_BASES: Final = _candidates(HISTOGRAMS, ("",))
BUCKET, COUNT, SUM = "_bucket", "_count", "_sum"
CREATED: Final = "_created"


def _all(candidates: Mapping[Engine, Names]) -> Iterator[str]:
    return (name for by_signal in candidates.values() for names in by_signal.values() for name in names)


WANTED: Final = frozenset(
    {
        PROCESS_START,
        *_all(GAUGE_NAMES),
        *_all(COUNTER_NAMES),
        *(base + suffix for base in _all(HISTOGRAM_BASES) for suffix in (BUCKET, COUNT, SUM, CREATED)),
        *_all(_candidates(COUNTERS, (CREATED,))),
    }
)
"""Every sample name that is read."""
