"""Samples to role readings: windows, coverage, states."""

from dataclasses import replace
from fractions import Fraction

import pytest

from scaler_core.api.scaler_status import SignalState
from scaler_core.model.scrape import Engine, EngineCounters, ScrapeFailure
from scaler_core.signals.windows import SignalMemory
from tests.core.signals import worlds
from tests.core.signals.worlds import Fleet, histogram, sglang, vllm

BUSY = vllm(
    running=3.0, waiting=2.0, prompt_tokens=1000.0, generation_tokens=500.0, kv_cache_usage=0.5, models=frozenset({"a"})
)
BUSIER = replace(BUSY, prompt_tokens=1600.0, prefix_hits=300.0, generation_tokens=800.0)
FAILED = ScrapeFailure(why="HTTP 500")


def fleet(count: int = 2) -> Fleet:
    return Fleet(worlds.target(server=count), worlds.pods("server", count))


def test_no_sample_yet_is_missing() -> None:
    reading = fleet().judge(0.0)["server"]
    assert (reading.state, reading.is_complete, reading.problems) == (SignalState.MISSING, False, ("no sample yet",))
    assert (reading.ready_replicas, reading.running, reading.prompt_rate) == (2, None, None)


def test_a_first_sample_has_gauges_and_no_rates() -> None:
    reading = fleet().sample(0.0, BUSY)["server"]
    assert (reading.running, reading.waiting, reading.kv_cache_usage) == (6.0, 4.0, 0.5)
    assert (reading.prompt_rate, reading.generation_rate, reading.covered_seconds) == (None, None, 0.0)
    assert reading.state is SignalState.MISSING
    assert reading.problems[0] == "Pod llm-server-0-0: first sample; rates need one more"


def test_a_first_sample_is_enough_for_gauges() -> None:
    fleet = Fleet(worlds.target(server=2), worlds.pods("server", 2), worlds.proportional("QueueDepth"))
    reading = fleet.sample(0.0, BUSY)["server"]
    assert (reading.state, reading.is_complete, reading.read_replicas) == (SignalState.FRESH, True, 2)


def test_two_samples_give_rates_of_the_role() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    reading = watched.sample(15.0, BUSIER)["server"]
    assert (reading.prompt_rate, reading.generation_rate) == (2 * 300 / 15, 2 * 300 / 15)
    assert (reading.state, reading.is_complete, reading.covered_seconds) == (SignalState.FRESH, True, 15.0)
    assert (reading.read_replicas, reading.read_share, reading.taken_at) == (2, 1, 15.0)


def test_a_sample_is_not_consumed_twice() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    once = watched.sample(15.0, BUSIER)
    memory = watched.memory
    assert watched.judge(17.0) == once
    assert watched.memory is memory


def test_a_sample_before_the_own_interval_is_not_consumed() -> None:
    watched = Fleet(worlds.target(server=1), worlds.pods("server", 1), worlds.spec(interval=30))
    watched.sample(0.0, BUSY)
    assert watched.sample(15.0, BUSIER)["server"].prompt_rate is None
    assert watched.sample(30.0, BUSIER)["server"].prompt_rate == 300 / 30


def test_a_sample_of_another_target_is_not_consumed() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    assert watched.scrape is not None
    watched.memory, watched.scrape = SignalMemory(), replace(watched.scrape, target_uid="another")
    assert watched.judge(1.0)["server"].problems == ("no sample yet",)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        pytest.param(replace(BUSIER, prompt_tokens=999.0), "a counter decreased", id="a token counter decreased"),
        pytest.param(replace(BUSIER, prefix_hits=None, generation_tokens=1.0), "a counter decreased", id="another one"),
        pytest.param(replace(BUSIER, process_start=2.0), "its process started anew", id="no counter decreased"),
        pytest.param(replace(BUSIER, models=frozenset({"b"})), "it serves another model", id="another model"),
        pytest.param(
            replace(BUSIER, engine=Engine.SGLANG, models=frozenset()), "it was vLLM and is SGLang", id="another engine"
        ),
    ],
)
def test_a_restart_gives_no_rate_until_a_new_baseline(second: EngineCounters, why: str) -> None:
    watched = fleet(1)
    watched.sample(0.0, BUSY)
    reading = watched.sample(15.0, second)["server"]
    assert (reading.prompt_rate, reading.generation_rate, reading.is_complete) == (None, None, False)
    assert reading.problems == (f"Pod llm-server-0-0: {why}; rates need one more sample",)
    grown = replace(second, prompt_tokens=(second.prompt_tokens or 0) + 150)
    assert watched.sample(30.0, grown)["server"].prompt_rate == 10


def test_a_container_restart_counts_even_if_every_counter_grew() -> None:
    watched = fleet(1)
    watched.sample(0.0, BUSY)
    watched.pods = [worlds.pod("server", 0, container="c2#1")]
    assert watched.judge(1.0)["server"].problems == ("Pod llm-server-0-0: not sampled yet",)
    reading = watched.sample(15.0, BUSIER)["server"]
    assert (reading.prompt_rate, reading.is_complete, reading.running) == (None, False, 3.0)


def test_a_sample_of_another_container_gives_no_delta_with_the_one_before() -> None:
    watched = fleet(1)
    watched.sample(0.0, BUSY)
    watched.pods = [worlds.pod("server", 0, container="c2#1")]
    reading = watched.sample(15.0, BUSIER)["server"]
    assert reading.problems == ("Pod llm-server-0-0: the engine restarted; rates need one more",)
    assert watched.sample(30.0, BUSIER)["server"].prompt_rate == 0.0


def test_memory_is_bounded_by_the_pods_and_the_panic_window() -> None:
    watched = fleet(1)
    for n in range(40):
        watched.sample(15.0 * n, vllm(running=1.0, ttft=histogram(n, 0.1 * n)))
    (window,) = watched.memory.pods.values()
    assert [entry.at for entry in window.latencies] == [540.0, 555.0, 570.0, 585.0]


def test_a_vanished_pod_leaves_every_sum_at_once() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    assert watched.sample(15.0, BUSIER)["server"].running == 6.0
    watched.pods = worlds.pods("server", 1)
    reading = watched.judge(16.0)["server"]
    assert (reading.running, reading.prompt_rate, reading.read_replicas) == (3.0, 20.0, 1)
    assert len(watched.memory.pods) == 1


def test_a_pod_that_is_not_ready_leaves_the_sums_and_keeps_its_baseline() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    watched.sample(15.0, BUSIER)
    watched.pods = [worlds.pod("server", 0), worlds.pod("server", 1, ready=False)]
    reading = watched.judge(16.0)["server"]
    assert (reading.running, reading.ready_replicas) == (3.0, 1)
    watched.pods = worlds.pods("server", 2)
    assert watched.judge(17.0)["server"].running == 6.0


def test_a_new_pod_gives_no_delta() -> None:
    watched = fleet(1)
    watched.sample(0.0, BUSY)
    watched.sample(15.0, BUSIER)
    watched.target, watched.pods = worlds.target(server=2), worlds.pods("server", 2)
    later = replace(BUSIER, prompt_tokens=1900.0)
    reading = watched.sample(30.0, later)["server"]
    assert (reading.prompt_rate, reading.running, reading.is_complete) == (20.0, 6.0, False)
    assert (reading.read_replicas, reading.state) == (1, SignalState.FRESH)


def test_a_failed_read_is_incomplete_and_the_last_good_one_serves_for_two_intervals() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    watched.sample(15.0, BUSIER)
    one_fails = {"server": BUSIER, "llm-server-1-0": FAILED}
    reading = watched.sample(30.0, one_fails)["server"]
    assert (reading.running, reading.is_complete, reading.state) == (6.0, False, SignalState.FRESH)
    assert reading.problems == ("Pod llm-server-1-0: HTTP 500",)
    assert watched.judge(45.0)["server"].running == 6.0
    reading = watched.sample(46.0, one_fails)["server"]
    assert (reading.running, reading.state, reading.read_replicas) == (3.0, SignalState.FRESH, 1)


def test_a_role_is_stale_when_all_that_it_has_is_older_than_two_intervals() -> None:
    watched = fleet()
    watched.sample(0.0, BUSY)
    watched.sample(15.0, BUSIER)
    assert watched.sample(30.0, FAILED)["server"].state is SignalState.FRESH
    reading = watched.judge(46.0)["server"]
    assert (reading.state, reading.running, reading.prompt_rate) == (SignalState.STALE, None, None)


def test_a_rate_after_a_failed_read_covers_both_intervals() -> None:
    watched = fleet(1)
    watched.sample(0.0, BUSY)
    watched.sample(15.0, FAILED)
    reading = watched.sample(30.0, BUSIER)["server"]
    assert (reading.prompt_rate, reading.covered_seconds, reading.is_complete) == (10.0, 30.0, True)


def test_a_baseline_of_long_ago_gives_no_rate() -> None:
    watched = fleet(1)
    watched.sample(0.0, BUSY)
    assert watched.sample(301.0, BUSIER)["server"].prompt_rate is None
    assert watched.sample(316.0, BUSIER)["server"].prompt_rate == 0.0


def test_a_baseline_serves_for_three_intervals_and_their_jitter() -> None:
    watched = Fleet(worlds.target(server=1), worlds.pods("server", 1), worlds.spec(interval=150))
    watched.sample(0.0, BUSY)
    watched.sample(150.1, FAILED)
    watched.sample(300.2, FAILED)
    assert watched.sample(450.3, BUSIER)["server"].prompt_rate == pytest.approx(300 / 450.3)


def test_never_read_is_missing_and_not_stale() -> None:
    assert fleet().sample(0.0, FAILED)["server"].state is SignalState.MISSING


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        pytest.param(vllm(), vllm(), SignalState.IDLE, id="nothing runs, waits or moves"),
        pytest.param(vllm(), vllm(running=1.0), SignalState.FRESH, id="a request runs"),
        pytest.param(vllm(), vllm(waiting=1.0), SignalState.FRESH, id="a request waits"),
        pytest.param(vllm(), vllm(generation_tokens=1.0), SignalState.FRESH, id="tokens came out between the samples"),
        pytest.param(vllm(), vllm(prompt_tokens=9.0, prefix_hits=9.0), SignalState.FRESH, id="a cached prompt is work"),
        pytest.param(vllm(), vllm(ttft=histogram(1, 0.1)), SignalState.FRESH, id="a first token came out"),
        pytest.param(vllm(), vllm(running=None), SignalState.FRESH, id="without the gauge nobody knows"),
        pytest.param(vllm(prompt_tokens=None), vllm(), SignalState.MISSING, id="a counter in one sample is no window"),
        pytest.param(sglang(), sglang(), SignalState.IDLE, id="an SGLang engine that never served is idle"),
        pytest.param(
            sglang(prefill_effective={}), sglang(prefill_effective={}), SignalState.MISSING, id="absent is not zero"
        ),
    ],
)
def test_idle(first: EngineCounters, second: EngineCounters, state: SignalState) -> None:
    watched = fleet()
    watched.sample(0.0, first)
    assert watched.sample(15.0, second)["server"].state is state


def test_idle_needs_complete_coverage() -> None:
    watched = fleet()
    watched.sample(0.0, vllm())
    watched.sample(15.0, vllm())
    assert watched.sample(30.0, {"server": vllm(), "llm-server-1-0": FAILED})["server"].state is SignalState.FRESH


def test_an_idle_role_has_no_latency() -> None:
    watched = fleet(1)
    watched.sample(0.0, vllm())
    busy = vllm(ttft=histogram(1, 0.4), itl=histogram(1, 0.1), running=1.0)
    assert watched.sample(15.0, busy)["server"].ttft_milliseconds == 400
    idle = watched.sample(30.0, replace(busy, running=0.0))["server"]
    assert (idle.state, idle.ttft_milliseconds, idle.has_work) == (SignalState.IDLE, None, False)


def test_latencies_of_a_busy_role_accumulate_over_the_panic_window() -> None:
    watched = fleet(1)
    busy = vllm(running=1.0)
    watched.sample(0.0, busy)
    first = replace(busy, ttft=histogram(1, 0.4))
    assert watched.sample(15.0, first)["server"].ttft_milliseconds == 400
    second = replace(busy, ttft=histogram(2, 0.6))
    assert watched.sample(30.0, second)["server"].ttft_milliseconds == 200  # its own observation alone
    assert watched.sample(45.0, second)["server"].ttft_milliseconds == 300  # nothing new: the mean of both
    assert watched.sample(60.0, second)["server"].ttft_milliseconds == 300
    assert watched.sample(75.0, second)["server"].ttft_milliseconds == 200  # the first is 60 s old
    assert watched.sample(90.0, second)["server"].ttft_milliseconds is None


def test_above_64_pods_the_rest_is_left_out_and_coverage_is_incomplete() -> None:
    watched = fleet(80)
    watched.sample(0.0, BUSY)
    reading = watched.sample(15.0, BUSIER)["server"]
    assert (reading.running, reading.ready_replicas, reading.read_replicas) == (3.0 * 64, 80, 64)
    assert (reading.read_share, reading.is_complete) == (Fraction(64, 80), False)
    assert reading.problems == ("80 Pods answer, at most 64 are read",)


def test_65_pods_are_above_the_cap_and_64_are_not() -> None:
    for count, complete in ((64, True), (65, False)):
        watched = fleet(count)
        watched.sample(0.0, BUSY)
        assert watched.sample(15.0, BUSIER)["server"].is_complete is complete


def test_under_external_data_parallelism_every_member_is_read() -> None:
    deployment = worlds.target(sizes={"server": 2}, external=("server",), server=2)
    watched = Fleet(deployment, [worlds.pod("server", o, m) for o in range(2) for m in range(2)])
    watched.sample(0.0, BUSY)
    reading = watched.sample(15.0, {"server": BUSIER, "llm-server-1-1": FAILED})["server"]
    assert (reading.running, reading.ready_replicas) == (12.0, 2)
    assert (reading.read_replicas, reading.is_complete) == (Fraction(3, 2), False)


def test_an_incomplete_replica_makes_coverage_incomplete() -> None:
    deployment = worlds.target(sizes={"server": 2}, server=2)
    watched = Fleet(deployment, [worlds.pod("server", 0, 0), worlds.pod("server", 0, 1), worlds.pod("server", 1, 0)])
    watched.sample(0.0, BUSY)
    reading = watched.sample(15.0, BUSIER)["server"]
    assert reading.problems == ("replica 1: 1 of its 2 Pods exist",)
    assert (reading.is_complete, reading.ready_replicas, reading.running) == (False, 1, 3.0)


def test_a_replica_beyond_the_count_is_demand_and_not_capacity() -> None:
    watched = Fleet(worlds.target(server=1), worlds.pods("server", 2))
    watched.sample(0.0, BUSY)
    reading = watched.sample(15.0, BUSIER)["server"]
    assert (reading.running, reading.ready_replicas) == (6.0, 1)


def pair() -> Fleet:
    return Fleet(worlds.target(prefill=1, decode=1), [worlds.pod("prefill", 0), worlds.pod("decode", 0)])


def test_the_transfer_queue_waits_only_on_a_decode_role() -> None:
    counters = sglang(waiting=1.0, transfer_queue=4.0)
    readings = pair().sample(0.0, counters)
    assert (readings["prefill"].waiting, readings["decode"].waiting) == (1.0, 5.0)


def test_an_sglang_prefill_role_takes_the_ttft_of_its_decode_role() -> None:
    watched = pair()
    prefill, decode = sglang(running=1.0), sglang(running=1.0, ttft=histogram(0, 0.0), generation_tokens=0.0)
    watched.sample(0.0, {"prefill": prefill, "decode": decode})
    readings = watched.sample(15.0, {"prefill": prefill, "decode": replace(decode, ttft=histogram(2, 1.0))})
    assert (readings["prefill"].ttft_milliseconds, readings["decode"].ttft_milliseconds) == (500, 500)


def test_a_vllm_prefill_role_has_a_ttft_of_its_own_or_none() -> None:
    watched = pair()
    watched.sample(0.0, vllm(running=1.0))
    readings = watched.sample(15.0, {"prefill": vllm(running=1.0), "decode": vllm(ttft=histogram(2, 1.0))})
    assert readings["prefill"].ttft_milliseconds is None


def test_a_prefill_role_needs_no_generation_and_a_decode_role_no_prompts() -> None:
    watched = pair()
    halves = {"prefill": vllm(generation_tokens=None), "decode": vllm(prompt_tokens=None)}
    watched.sample(0.0, halves)
    readings = watched.sample(15.0, halves)
    assert all(reading.is_complete for reading in readings.values())


@pytest.mark.parametrize(
    ("counters", "problem"),
    [
        pytest.param(EngineCounters(), "its metrics have no vLLM or SGLang signal", id="a router's text"),
        pytest.param(vllm(prompt_tokens=None), "its metrics lack prompt tokens", id="one counter is absent"),
        pytest.param(
            vllm(prompt_tokens=None, generation_tokens=None),
            "its metrics lack prompt tokens and generation tokens",
            id="two are",
        ),
    ],
)
def test_missing_signals_are_named(counters: EngineCounters, problem: str) -> None:
    watched = fleet(1)
    watched.sample(0.0, counters)
    reading = watched.sample(15.0, counters)["server"]
    assert (reading.state, reading.problems) == (SignalState.MISSING, (f"Pod llm-server-0-0: {problem}",))


def test_an_encode_role_only_has_to_answer() -> None:
    watched = Fleet(worlds.target(encode=1), worlds.pods("encode", 1))
    reading = watched.sample(0.0, EngineCounters())["encode"]
    assert (reading.is_complete, reading.state) == (True, SignalState.FRESH)


def test_a_prefill_that_takes_minutes_is_work_without_a_latency() -> None:
    watched = fleet(1)
    busy = vllm(running=1.0)
    watched.sample(0.0, busy)
    for interval in range(1, 40):
        seen = watched.sample(15.0 * interval, busy)["server"]
        assert (seen.state, seen.is_complete, seen.has_work) == (SignalState.FRESH, True, True)
        assert (seen.prompt_rate, seen.ttft_milliseconds) == (0.0, None)
    done = replace(busy, running=0.0, prompt_tokens=400_000.0, ttft=histogram(1, 600.0))
    seen = watched.sample(600.0, done)["server"]
    assert (seen.prompt_rate, seen.ttft_milliseconds) == (pytest.approx(400_000 / 15), 600_000)
