"""The engines against the tables of the scaling benchmark (vLLM, text, prefill/decode pair)."""

from random import Random

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.workload.closed_loop import BENCHMARK, ClosedLoop, TextShape
from scaler_sim.workload.statistics import PhaseResult, Recorder


def play(fleet, seed: int = 2) -> dict[str, PhaseResult]:
    recorder = Recorder()
    loop = ClosedLoop(fleet=fleet, recorder=recorder, random=Random(seed), phases=BENCHMARK, shape=TextShape())
    loop.start()
    fleet.advance(400)
    assert fleet.in_flight == 0
    return {result.phase: result for result in recorder.results()}


PAIR = (RoleKind.PREFILL, RoleKind.DECODE)


@pytest.mark.parametrize(
    ("pairs", "phase", "ttft", "itl", "output"),
    [
        pytest.param(1, "baseline", (160, 300), (6.2, 6.7), (256, 282), id="one pair at two streams"),
        pytest.param(1, "ramp", (2300, 2600), (9.3, 10.2), (1117, 1231), id="one pair saturated by 24 streams"),
        pytest.param(2, "sustain", (430, 520), (8.9, 9.7), (1980, 2130), id="two pairs at 24 streams"),
        pytest.param(2, "cooldown", (160, 300), (5.9, 6.7), (256, 290), id="two pairs at two streams"),
    ],
)
def test_a_phase_measures_what_the_benchmark_measured(make_fleet, pairs, phase, ttft, itl, output):
    result = play(make_fleet(pairs, *PAIR))[phase]
    assert result.errors == 0
    assert ttft[0] <= result.ttft_p50_milliseconds <= ttft[1]
    assert itl[0] <= result.itl_p50_milliseconds <= itl[1]
    assert 1.6 <= result.itl_p99_milliseconds / result.itl_p50_milliseconds <= 2.0
    assert output[0] <= result.output_tokens_per_second <= output[1]


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("kinds", [PAIR, (RoleKind.SERVER,)], ids=["pair", "server"])
def test_counters_agree_with_what_the_client_saw(make_fleet, engine, kinds):
    fleet = make_fleet(2, *kinds, engine=engine)
    results = play(fleet)
    replicas = [fleet.replica(key) for key in fleet.eligible]
    answering = [replica for replica in replicas if replica.kind is not RoleKind.PREFILL]
    requests = sum(result.requests for result in results.values())
    tokens = sum(replica.readings.generated_tokens for replica in answering)
    assert sum(replica.readings.finished_requests for replica in answering) == requests
    assert sum(replica.readings.finished_generated_tokens for replica in answering) == tokens
    assert sum(replica.readings.ttft.count for replica in answering) == requests
    assert sum(replica.readings.itl.count for replica in answering) == tokens - requests
    assert all(replica.gauges().running == 0 and replica.gauges().kv_usage == 0 for replica in replicas)


def test_cooldown_load_stays_below_the_capacity_of_one_pair(make_fleet):
    # The demo's scaler returns to one pair only if 1200 prompt and 300 generated tokens per second are not reached.
    fleet = make_fleet(1, *PAIR)
    play(fleet)
    recorder = Recorder()
    loop = ClosedLoop(fleet=fleet, recorder=recorder, random=Random(3), phases=BENCHMARK[-1:], shape=TextShape())
    before = {key: fleet.replica(key).readings for key in fleet.eligible}
    prompt = sum(r.computed_tokens for r in before.values())
    loop.start()
    fleet.advance(fleet.timeline.now + 90)
    prompt = sum(fleet.replica(key).readings.computed_tokens for key in before) - prompt
    assert prompt / 90 < 1200 * 0.97
    assert recorder.results()[0].output_tokens_per_second < 300 * 0.97
