"""Metric texts to engine counters: names, ranks, renames, histograms."""

from decimal import Decimal

import pytest

from scaler_core.model.scrape import Engine, Histogram
from scaler_core.signals.engines import read_engine
from scaler_core.signals.exposition import MalformedLineError


@pytest.mark.parametrize(
    ("text", "signal", "value"),
    [
        pytest.param("vllm:num_requests_running 3", "running", 3, id="a colon behind the prefix"),
        pytest.param("vllm_num_requests_running 3", "running", 3, id="an underscore behind the prefix"),
        pytest.param("vllm:x 1\nvllm:num_requests_running 0", "running", 0, id="an observed zero"),
        pytest.param("vllm:num_requests_waiting 3", "running", None, id="absent is unknown"),
        pytest.param("vllm:num_requests_running NaN", "running", None, id="NaN is no observation"),
        pytest.param("vllm:num_requests_running -1", "running", None, id="negative is no observation"),
        pytest.param("vllm:num_requests_running +Inf", "running", None, id="infinite is no observation"),
        pytest.param(
            'vllm:num_requests_running{engine="0"} 3\nvllm:num_requests_running{engine="1"} NaN',
            "running",
            3,
            id="one bad series leaves the others",
        ),
        pytest.param(
            'vllm:num_requests_running{engine="0"} 3\nvllm:num_requests_running{engine="1"} 4',
            "running",
            7,
            id="engines are summed",
        ),
        pytest.param(
            "vllm:num_requests_running 3\nvllm:num_requests_running 4",
            "running",
            3,
            id="of a repeated series the first",
        ),
        pytest.param(
            'sglang:num_running_reqs{tp_rank="0"} 3\nsglang:num_running_reqs{tp_rank="1"} 3',
            "running",
            3,
            id="only rank zero counts",
        ),
        pytest.param(
            'sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 3\nsglang:num_running_reqs{dp_rank="1",tp_rank="0"} 2',
            "running",
            3,
            id="of any rank label",
        ),
        pytest.param('sglang:num_running_reqs{odd_rank="1"} 3', "running", None, id="and none is unknown"),
        pytest.param(
            'sglang:num_queue_reqs{priority=""} 3\nsglang:num_queue_reqs{priority="1"} 2',
            "waiting",
            3,
            id="shares by priority do not count",
        ),
        pytest.param("vllm:prompt_tokens 5", "prompt_tokens", 5, id="a counter without its suffix"),
        pytest.param(
            "vllm:prompt_tokens 5\nvllm:prompt_tokens_total 6", "prompt_tokens", 6, id="with it where there are both"
        ),
        pytest.param("vllm:prompt_tokens_created 5", "prompt_tokens", None, id="a creation time is no counter"),
        pytest.param("vllm:gpu_cache_usage_perc 0.5", "kv_cache_usage", 0.5, id="an older name"),
        pytest.param(
            "vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 0.25", "kv_cache_usage", 0.25, id="the newer first"
        ),
        pytest.param(
            "vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc NaN",
            "kv_cache_usage",
            None,
            id="the newer also where it says nothing",
        ),
        pytest.param(
            'vllm:kv_cache_usage_perc{engine="0",pid="1"} 0.6\nvllm:kv_cache_usage_perc{engine="0",pid="2"} 0\n'
            'vllm:kv_cache_usage_perc{engine="1",pid="1"} 0.2',
            "kv_cache_usage",
            0.4,
            id="the most over processes and the mean over engines",
        ),
        pytest.param(
            "vllm:gpu_prefix_cache_hits_total 5", "prefix_hits", None, id="hits that count blocks are ignored"
        ),
        pytest.param(
            'vllm:prompt_tokens_by_source_total{source="local_compute"} 5\n'
            'vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 9',
            "computed_prompt_tokens",
            5,
            id="tokens computed here",
        ),
        pytest.param("process_start_time_seconds 9\nvllm:x_created 1", "process_start", 9, id="the process's start"),
        pytest.param(
            'vllm:prompt_tokens_created{a="1"} 7\nvllm:prompt_tokens_created{a="2"} 5',
            "process_start",
            5,
            id="or the earliest creation",
        ),
        pytest.param(
            'vllm:num_requests_running{model_name="a"} 1\nvllm:num_requests_waiting{model_name="b"} 1\n'
            'vllm:no_such_thing{model_name="c"} 1',
            "models",
            {"a", "b"},
            id="the models that its signals name",
        ),
    ],
)
def test_signals(text: str, signal: str, value: float | set[str] | None) -> None:
    assert getattr(read_engine(text), signal) == value


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        pytest.param("vllm:num_requests_running 3", Engine.VLLM, id="vLLM"),
        pytest.param("sglang_token_usage 0.5", Engine.SGLANG, id="SGLang"),
        pytest.param("# TYPE vllm:num_requests_running gauge", None, id="a declaration is no sample"),
        pytest.param("smg_workers 3", None, id="a router"),
    ],
)
def test_the_engine_is_known_by_its_samples(text: str, engine: Engine | None) -> None:
    assert read_engine(text).engine is engine


def test_sglang_modes() -> None:
    text = "\n".join(
        f'sglang:prefill_effective_tokens_total{{mode="{mode}"}} {count}'
        for mode, count in (("input", 5), ("device_hit", 6), ("unheard_of", 7))
    )
    assert read_engine(text).prefill_effective == {"input": 5, "device_hit": 6}


def ttft(*series: tuple[str, dict[str, float], float | None, float | None]) -> str:
    lines = []
    for labels, buckets, count, seconds in series:
        base = "vllm:time_to_first_token_seconds"
        lines += [f'{base}_bucket{{{labels}le="{bound}"}} {value}' for bound, value in buckets.items()]
        lines += [f"{base}_count{{{labels}}} {count}"] if count is not None else []
        lines += [f"{base}_sum{{{labels}}} {seconds}"] if seconds is not None else []
    return "\n".join(lines)


A, B = 'model_name="a",', 'model_name="b",'
HALF, ONE = Decimal("0.5"), Decimal(1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            ttft(("", {"0.5": 1, "1.0": 2, "+Inf": 3}, 3, 1.5)),
            Histogram(count=3, sum_seconds=Decimal("1.5"), bounds=(HALF, ONE), counts=(1, 2)),
            id="one series",
        ),
        pytest.param(
            ttft((A, {"0.5": 1, "1": 2, "+Inf": 3}, 3, 1.5), (B, {"1.0": 4, "0.5": 2, "+Inf": 5}, 5, 0.1)),
            Histogram(count=8, sum_seconds=Decimal("1.6"), bounds=(HALF, ONE), counts=(3, 6)),
            id="two series of the same bounds",
        ),
        pytest.param(
            ttft((A, {"0.5": 1, "+Inf": 3}, 3, 1.5), (B, {"1.0": 4, "+Inf": 5}, 5, 0.5)),
            Histogram(count=8, sum_seconds=Decimal(2)),
            id="bounds that differ",
        ),
        pytest.param(
            ttft((A, {"0.5": 1, "+Inf": 3}, 3, 1.5), (B, {}, 5, 0.5)),
            Histogram(count=8, sum_seconds=Decimal(2)),
            id="one without buckets",
        ),
        pytest.param(
            ttft(("", {"0.5": 1}, 3, 1.5)), Histogram(count=3, sum_seconds=Decimal("1.5")), id="cut before infinity"
        ),
        pytest.param(ttft(("", {"0.5": 1, "+Inf": 3}, None, 1.5)), None, id="no count"),
        pytest.param(
            ttft(("", {"0.5": 1, "1": float("nan"), "+Inf": 3}, 3, 1.5)),
            Histogram(count=3, sum_seconds=Decimal("1.5"), bounds=(HALF,), counts=(1,)),
            id="a bucket that is no number",
        ),
        pytest.param(
            ttft((A, {"0.5": 1, "+Inf": 3}, 3, 1.5), (B, {"0.5": 1, "+Inf": float("inf")}, 3, 1.5)),
            Histogram(count=6, sum_seconds=Decimal(3)),
            id="an infinite bucket that is infinite",
        ),
        pytest.param(
            ttft((A, {}, 3, 1.5), (B, {}, 5, None)), Histogram(count=8, sum_seconds=None), id="a sum is missing"
        ),
    ],
)
def test_histograms(text: str, expected: Histogram | None) -> None:
    assert read_engine(text).ttft == expected


def test_the_old_latency_name_is_read_only_where_the_new_one_is_absent() -> None:
    old, new = ("vllm:time_per_output_token_seconds_count 5", "vllm:inter_token_latency_seconds_count 7")
    for text, count in ((old, 5), (f"{old}\n{new}", 7)):
        itl = read_engine(text).itl
        assert itl is not None
        assert itl.count == count


def test_latency_of_requests_is_no_inter_token_latency() -> None:
    assert read_engine("vllm:request_time_per_output_token_seconds_count 5\nvllm:prompt_tokens_total 1").itl is None


@pytest.mark.parametrize(
    "bound",
    ["", "NaN", "five", "1_0", "\u0665", "1e99999999", "1e-99999999", "1" * 100_000],
    ids=lambda bound: bound[:12],
)
def test_a_bucket_bound_that_is_no_number_is_an_error(bound: str) -> None:
    with pytest.raises(MalformedLineError, match="line 1"):
        read_engine(ttft(("", {bound: 1}, 1, 1.0)))


def test_a_sum_does_not_depend_on_the_order_of_the_series() -> None:
    lines = [f'vllm:prompt_tokens_total{{model_name="{n}"}} {0.1 * n}' for n in range(1, 40)]
    assert read_engine("\n".join(lines)).prompt_tokens == read_engine("\n".join(reversed(lines))).prompt_tokens
