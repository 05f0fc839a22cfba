"""The texts of both engines, read with the official parser."""

import math

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines import metrics_text
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.engines.profile import ITL_BOUNDS, TTFT_BOUNDS
from scaler_sim.engines.request import Request

PAIR = (RoleKind.PREFILL, RoleKind.DECODE)
STARTED_AT = 1_800_000_000.5


def text_of(fleet, role):
    replica = fleet.replica(ReplicaKey(role, 0))
    return metrics_text.render(
        metrics_text.Process(
            engine=replica.engine,
            kind=replica.kind,
            model_name='odd "model" \\ name',
            started_at=STARTED_AT,
            readings=replica.readings,
            gauges=replica.gauges(),
        )
    )


def samples(text):
    return {
        (sample.name, sample.labels.get("mode") or sample.labels.get("source") or sample.labels.get("le")): sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def busy(make_fleet, engine, *kinds, until=2.0, requests=12):
    fleet = make_fleet(1, *kinds, engine=engine)
    for identity in range(requests):
        fleet.submit(
            Request(identity=identity, arrived_at=0.0, prompt_tokens=1024, output_tokens=100, blocks=(1, identity + 2))
        )
    fleet.advance(until)
    return fleet


def test_vllm_prefill_half_has_ttft_and_no_gaps(make_fleet):
    fleet = busy(make_fleet, Engine.VLLM, *PAIR, until=1.0)
    read = samples(text_of(fleet, "prefill"))
    readings = fleet.replica(ReplicaKey("prefill", 0)).readings
    assert read["vllm:prompt_tokens_total", None].value == readings.prompt_tokens > 0
    assert read["vllm:prompt_tokens_total", None].labels == {"engine": "0", "model_name": 'odd "model" \\ name'}
    assert read["vllm:prompt_tokens_by_source_total", "local_compute"].value == readings.computed_tokens > 0
    assert read["vllm:prefix_cache_hits_total", None].value == readings.hit_tokens
    assert read["vllm:generation_tokens_total", None].value == read["vllm:request_success_total", None].value
    assert read["vllm:time_to_first_token_seconds_count", None].value == readings.finished_requests
    assert read["vllm:inter_token_latency_seconds_count", None].value == 0
    assert read["vllm:prompt_tokens_created", None].value == STARTED_AT
    assert read["process_start_time_seconds", None].value == STARTED_AT
    running = read["vllm:num_requests_running", None].value
    assert running + read["vllm:num_requests_waiting", None].value == 12 - readings.finished_requests
    assert running > 1
    assert readings.hit_tokens == 512 * (readings.prompt_tokens // 1024)


def test_vllm_decode_half_counts_each_step_and_waits_for_remote_kv(make_fleet):
    fleet = busy(make_fleet, Engine.VLLM, *PAIR)
    read = samples(text_of(fleet, "decode"))
    gauges = fleet.replica(ReplicaKey("decode", 0)).gauges()
    assert read["vllm:num_requests_waiting", None].value == gauges.waiting + gauges.transferring
    assert read["vllm:num_requests_running", None].value == gauges.running > 0
    assert read["vllm:generation_tokens_total", None].value > 0
    assert read["vllm:generation_tokens_total", None].value % 100 != 0, "moves with each step"
    assert 0 < read["vllm:kv_cache_usage_perc", None].value < 1
    bounds = [float(le) for name, le in read if name == "vllm:inter_token_latency_seconds_bucket"]
    assert bounds == [*ITL_BOUNDS[Engine.VLLM], math.inf]


def test_sglang_prefill_half_has_effective_tokens_and_no_latency(make_fleet):
    fleet = busy(make_fleet, Engine.SGLANG, *PAIR)
    text = text_of(fleet, "prefill")
    read = samples(text)
    readings = fleet.replica(ReplicaKey("prefill", 0)).readings
    tokens = {
        mode: read["sglang:prefill_effective_tokens_total", mode].value
        for mode in ("input", "device_hit", "host_hit", "storage_hit")
    }
    assert tokens == {
        "input": readings.computed_tokens,
        "device_hit": readings.hit_tokens,
        "host_hit": 0,
        "storage_hit": 0,
    }
    assert read["sglang:num_running_reqs", None].labels["engine_type"] == "prefill"
    assert read["sglang:num_running_reqs", None].labels["tp_rank"] == "0"
    assert "time_to_first_token" not in text
    assert "inter_token_latency" not in text
    assert "_created" not in text


def test_sglang_decode_half_counts_at_completion_and_has_the_queues_of_a_pair(make_fleet):
    fleet = busy(make_fleet, Engine.SGLANG, *PAIR, until=1.0, requests=30)
    read = samples(text_of(fleet, "decode"))
    replica = fleet.replica(ReplicaKey("decode", 0))
    finished = replica.readings.finished_requests
    assert read["sglang:generation_tokens_total", None].value == 100 * finished
    assert read["sglang:generation_tokens_total", None].labels["is_streaming"] == "True"
    waiting = [
        read[f"sglang:num_{queue}_reqs", None].value
        for queue in ("decode_transfer_queue", "decode_prealloc_queue", "running", "queue")
    ]
    assert sum(waiting) == 30 - finished
    assert waiting[1] > 0 < finished
    assert read["sglang:prefill_effective_tokens_total", "input"].value == 0
    first = [float(le) for name, le in read if name == "sglang:time_to_first_token_seconds_bucket"]
    assert first == [*TTFT_BOUNDS[Engine.SGLANG], math.inf]
    assert read["sglang:time_to_first_token_seconds_sum", None].value > 0.15, "from the moment the router sent it"


def test_sglang_latency_appears_with_its_first_observation(make_fleet):
    fleet = make_fleet(1, RoleKind.SERVER, engine=Engine.SGLANG)
    text = text_of(fleet, "server")
    assert "time_to_first_token" not in text
    assert samples(text)["sglang:generation_tokens_total", None].value == 0


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("kinds", [PAIR, (RoleKind.SERVER,)], ids=["pair", "server"])
def test_histograms_are_cumulative_and_complete(make_fleet, engine, kinds):
    fleet = busy(make_fleet, engine, *kinds)
    for kind in kinds:
        families = text_string_to_metric_families(text_of(fleet, kind.value.lower()))
        for family in (family for family in families if family.type == "histogram"):
            counts = [sample.value for sample in family.samples if sample.name.endswith("_bucket")]
            total = next(sample.value for sample in family.samples if sample.name.endswith("_count"))
            assert counts == sorted(counts)
            assert counts[-1] == total
