"""The `/metrics` text of a replica, as vLLM and SGLang write it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.exposition import Exposition
from scaler_sim.engines.readings import Gauges, Histogram, Readings

_ENGINE_TYPES: Final[Mapping[RoleKind, str]] = {RoleKind.PREFILL: "prefill", RoleKind.DECODE: "decode"}
_MULTIPROCESS: Final = "Multiprocess metric"  # prometheus_client's own words where several processes write


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """An engine process at a moment."""

    engine: Engine
    kind: RoleKind
    model_name: str
    started_at: float
    """Unix seconds."""
    readings: Readings
    gauges: Gauges


def render(process: Process) -> str:
    """The text that the process answers."""
    match process.engine:
        case Engine.VLLM:
            return _vllm(process)
        case Engine.SGLANG:
            return _sglang(process)


def _vllm(process: Process) -> str:
    started_at = process.started_at
    python = Exposition({}, None)
    python.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", started_at)
    text = Exposition({"engine": "0", "model_name": process.model_name}, started_at)
    _vllm_gauges(text, process.gauges)
    _vllm_counters(text, process.readings)
    ttft, itl = process.readings.ttft, process.readings.itl
    text.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", ttft)
    # On the prefill half this one exists and stays empty: answers of one token have no gaps.
    text.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", itl)
    return python.text() + text.text()


def _vllm_gauges(text: Exposition, gauges: Gauges) -> None:
    waiting = gauges.waiting + gauges.transferring  # remote KV is waited for in the same queue
    text.gauge("vllm:num_requests_running", "Number of requests in model execution batches.", gauges.running)
    text.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", waiting)
    text.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", gauges.kv_usage)


def _vllm_counters(text: Exposition, readings: Readings) -> None:
    text.counter(
        "vllm:prefix_cache_queries", "Prefix cache queries, in terms of queried tokens.", readings.queried_tokens
    )
    text.counter("vllm:prefix_cache_hits", "Prefix cache hits, in terms of cached tokens.", readings.hit_tokens)
    text.counter(
        "vllm:external_prefix_cache_hits", "Cached tokens that a KV connector brought.", readings.transferred_tokens
    )
    text.counter("vllm:prompt_tokens", "Number of prefill tokens processed.", readings.prompt_tokens)
    text.counters(
        "vllm:prompt_tokens_by_source",
        "Number of prompt tokens by source.",
        (
            ({"source": "local_compute"}, readings.computed_tokens),
            ({"source": "local_cache_hit"}, readings.hit_tokens),
            ({"source": "external_kv_transfer"}, readings.transferred_tokens),
        ),
    )
    text.counter("vllm:generation_tokens", "Number of generation tokens processed.", readings.generated_tokens)
    text.counter(
        "vllm:request_success", "Successfully processed requests.", readings.finished_requests, finished_reason="length"
    )


def _sglang(process: Process) -> str:
    common = {"engine_type": _ENGINE_TYPES.get(process.kind, "unified"), "model_name": process.model_name}
    scheduler = Exposition({**common, "tp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0"}, None)
    tokenizer = Exposition(common, None)
    _sglang_gauges(scheduler, process.gauges, process.kind)
    _sglang_prefill(scheduler, process.readings)
    _sglang_tokens(tokenizer, process)
    return scheduler.text() + tokenizer.text()


def _sglang_gauges(text: Exposition, gauges: Gauges, kind: RoleKind) -> None:
    text.gauge("sglang:num_running_reqs", "The number of running requests.", gauges.running)
    text.gauge("sglang:num_queue_reqs", "The number of requests in the waiting queue.", gauges.waiting)
    text.gauge("sglang:token_usage", "The token usage.", gauges.kv_usage)
    if kind is RoleKind.DECODE:
        text.gauge("sglang:num_decode_transfer_queue_reqs", "Requests in the transfer queue.", gauges.transferring)
        text.gauge("sglang:num_decode_prealloc_queue_reqs", "Requests in the preallocation queue.", gauges.announced)


def _sglang_prefill(text: Exposition, readings: Readings) -> None:
    tokens = {"input": readings.computed_tokens, "device_hit": readings.hit_tokens, "host_hit": 0, "storage_hit": 0}
    rows = [({"mode": mode}, float(count)) for mode, count in tokens.items()]
    text.counters("sglang:prefill_effective_tokens", _MULTIPROCESS, rows)


def _sglang_tokens(text: Exposition, process: Process) -> None:
    readings = process.readings
    totals = {
        "sglang:prompt_tokens": readings.finished_prompt_tokens,  # both token counters move when a request finishes
        "sglang:generation_tokens": readings.finished_generated_tokens,
        "sglang:num_requests": readings.finished_requests,
    }
    for name, total in totals.items():
        text.counter(name, _MULTIPROCESS, total, is_streaming="True")
    if process.kind is not RoleKind.PREFILL:  # latency is recorded where the answer is streamed
        _sglang_histogram(text, "sglang:time_to_first_token_seconds", readings.ttft)
        _sglang_histogram(text, "sglang:inter_token_latency_seconds", readings.itl)


def _sglang_histogram(text: Exposition, name: str, histogram: Histogram) -> None:
    if histogram.count:  # the series appears with its first observation
        text.histogram(name, _MULTIPROCESS, histogram, is_streaming="True")
