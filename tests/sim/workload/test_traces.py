"""Trace files, their scaling, and the player."""

import os
from pathlib import Path
from random import Random

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.fleet import Fleet, ReplicaKey
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.engines.timeline import Timeline
from scaler_sim.workload import synthetic, traces
from scaler_sim.workload.open_loop import OpenLoop
from scaler_sim.workload.statistics import Recorder, percentile

SHARED = Path(os.environ.get("MDS_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "traces"

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.4799600,31,0\n"
    "2023-11-16 18:17:05.4799600,3180,8\n"
)
AIBRIX = "t_ms,in_tokens,out_tokens\n6011,178,8\n6917,258,40\n"
MOONCAKE = (
    '{"timestamp": 27000, "input_length": 700, "output_length": 50, "hash_ids": [0, 2]}\n\n'
    '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}\n'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(AZURE, [(0.0, 4808, 10, ()), (1.5, 3180, 8, ())], id="Azure, the request without answer left out"),
        pytest.param(AIBRIX, [(0.0, 178, 8, ()), (0.906, 258, 40, ())], id="AIBrix"),
        pytest.param(MOONCAKE, [(0.0, 600, 5, (0, 1)), (27.0, 700, 50, (0, 2))], id="Mooncake, put in order"),
    ],
)
def test_formats(tmp_path, text, expected):
    path = tmp_path / "trace"
    path.write_text(text)
    read = [(a.at, a.prompt_tokens, a.output_tokens, a.blocks) for a in traces.load(path)]
    assert read == [(pytest.approx(at, abs=1e-6), *rest) for at, *rest in expected]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("time,in,out\n1,2,3\n", "'time,in,out' is of no known format", id="unknown columns"),
        pytest.param("", "is of no known format", id="empty"),
        pytest.param(AIBRIX.splitlines()[0], "holds no requests", id="only a head"),
        pytest.param(AIBRIX + "x,1,2\n", "'t_ms': 'x'", id="a word for a number"),
        pytest.param('{"timestamp": 1}\n', "input_length", id="a missing member"),
        pytest.param("{nonsense\n", "line 1 is not JSON", id="not JSON"),
    ],
)
def test_bad_traces_are_refused_in_one_line(tmp_path, text, says):
    path = tmp_path / "trace"
    path.write_text(text)
    with pytest.raises(traces.TraceError) as caught:
        traces.load(path)
    message = str(caught.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message
    assert "give a CSV" in message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(traces.TraceError, match=r"nowhere\.csv"):
        traces.load(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("rate", [0.25, 1.0, 2.5])
def test_scaling_keeps_the_course(rate):
    arrivals = synthetic.waves(Random(1))
    chosen = traces.scaled(arrivals, rate, Random(2))
    assert len(chosen) == pytest.approx(rate * len(arrivals), rel=0.1)
    first = sum(a.at < 150 for a in chosen) / len(chosen)
    assert first == pytest.approx(sum(a.at < 150 for a in arrivals) / len(arrivals), abs=0.03)


def test_a_stretch_begins_at_zero():
    arrivals = synthetic.waves(Random(1))
    part = traces.between(arrivals, 100, 200)
    assert 0 <= part[0].at < 5
    assert part[-1].at < 100


def test_a_seed_names_a_synthetic_trace():
    assert synthetic.waves(Random(1)) == synthetic.waves(Random(1)) != synthetic.waves(Random(2))


def play(arrivals, pairs=2):
    fleet = Fleet(engine=Engine.VLLM, profile=EngineProfile(), timeline=Timeline(), random=Random(1))
    for ordinal in range(pairs):
        for role, kind in (("prefill", RoleKind.PREFILL), ("decode", RoleKind.DECODE)):
            fleet.add(ReplicaKey(role, ordinal), kind)
            fleet.admit(ReplicaKey(role, ordinal))
    recorder = Recorder()
    loop = OpenLoop(fleet=fleet, recorder=recorder, arrivals=arrivals)
    loop.start()
    fleet.advance(loop.seconds + 3600)
    assert loop.is_over
    return fleet, recorder.results()


def test_every_request_is_answered_in_its_phase():
    arrivals = synthetic.waves(Random(1))
    fleet, results = play(arrivals)
    assert fleet.in_flight == 0
    assert [result.phase for result in results] == [f"from {60 * minute} s" for minute in range(10)]
    assert [result.requests for result in results] == [
        sum(60 * m <= a.at < 60 * m + 60 for a in arrivals) for m in range(10)
    ]
    assert sum(result.errors for result in results) == 0
    assert results[2].ttft_p99_milliseconds > results[0].ttft_p50_milliseconds


@pytest.mark.skipif(not SHARED.exists(), reason="recorded traces are not on this machine; set MDS_SHARED")
@pytest.mark.parametrize(
    ("name", "requests", "seconds"),
    [
        ("azure2023/AzureLLMInferenceTrace_code.csv", 8819, 3436),
        ("azure2023/AzureLLMInferenceTrace_conv.csv", 19366, 3502),
        ("mooncake_fast25/conversation_trace.jsonl", 12031, 3537),
        ("aibrix_workloads/8min_up_and_down.csv", 2026, 455),
    ],
)
def test_recorded_traces(name, requests, seconds):
    arrivals = traces.load(SHARED / name)
    assert len(arrivals) == pytest.approx(requests, abs=3)
    assert arrivals[-1].at == pytest.approx(seconds, abs=10)


@pytest.mark.skipif(not SHARED.exists(), reason="recorded traces are not on this machine; set MDS_SHARED")
def test_a_shared_prefix_of_a_recorded_trace_is_found():
    arrivals = traces.between(traces.load(SHARED / "mooncake_fast25/conversation_trace.jsonl"), 0, 600)
    fleet, _ = play(traces.scaled(arrivals, 0.2, Random(1)))
    readings = [fleet.replica(ReplicaKey("prefill", ordinal)).readings for ordinal in range(2)]
    hits, queries = (sum(getattr(r, name) for r in readings) for name in ("hit_tokens", "queried_tokens"))
    assert 0.02 < hits / queries < 0.4, "an infinite cache would find 37 %"


def test_percentiles_are_nearest_rank():
    assert percentile([], 0.5) is None
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 0.99) == 99.0
