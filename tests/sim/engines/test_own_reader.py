"""The engines' texts through the product's own reader: what the demo's scaler will see."""

from random import Random

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_core.signals import deltas, histograms
from scaler_core.signals.engines import read_engine
from scaler_sim.engines import metrics_text
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.workload.closed_loop import BENCHMARK, ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

PAIR = (RoleKind.PREFILL, RoleKind.DECODE)


def read(fleet, role, ordinal=0):
    replica = fleet.replica(ReplicaKey(role, ordinal))
    text = metrics_text.render(
        metrics_text.Process(
            engine=replica.engine,
            kind=replica.kind,
            model_name="m",
            started_at=1_800_000_000.0,
            readings=replica.readings,
            gauges=replica.gauges(),
        )
    )
    return read_engine(text)


def quiet_load(make_fleet, engine, pairs):
    """Ten-second deltas of two minutes of cooldown load, by role."""
    fleet = make_fleet(pairs, *PAIR, engine=engine)
    phases = (Phase(name="cooldown", seconds=None, concurrency=BENCHMARK[-1].concurrency),)
    loop = ClosedLoop(fleet=fleet, recorder=Recorder(), random=Random(3), phases=phases, shape=TextShape())
    loop.start()
    fleet.advance(20)
    roles = [(role, ordinal) for role in ("prefill", "decode") for ordinal in range(pairs)]
    counters = {place: read(fleet, *place) for place in roles}
    found = {"prefill": [], "decode": []}
    for step in range(1, 13):
        fleet.advance(20 + 10 * step)
        for place in roles:
            now = read(fleet, *place)
            found[place[0]].append(deltas.compare(counters[place], now, 10.0))
            counters[place] = now
    return found


def p95(sample, name):
    return histograms.p95_milliseconds(histograms.total([getattr(delta, name) for delta in sample]))


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("pairs", [1, 2])
def test_quiet_load_lets_the_demo_return_to_one_pair(make_fleet, engine, pairs):
    found = quiet_load(make_fleet, engine, pairs)
    prompt = sum(delta.prompt_tokens for delta in found["prefill"]) / 120
    generated = sum(delta.generation_tokens for delta in found["decode"]) / 120
    assert 1000 < prompt < 1200 * 0.98, "one prefill replica serves 1200 tokens per second"
    assert 240 < generated < 300 * 0.98, "one decode replica serves 300 tokens per second"
    halves = {half: [found[half][n : n + pairs] for n in range(0, 12 * pairs, pairs)] for half in found}
    first = [p95(sample, "ttft") for sample in halves["prefill" if engine is Engine.VLLM else "decode"]]
    assert max(first) <= 500, "a higher TTFT would hold the counts"
    assert max(p95(sample, "itl") for sample in halves["decode"]) <= 50


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("kind", [*PAIR, RoleKind.SERVER])
def test_every_signal_of_a_role_is_found(make_fleet, engine, kind):
    kinds = PAIR if kind in PAIR else (kind,)
    fleet = make_fleet(1, *kinds, engine=engine)
    loop = ClosedLoop(fleet=fleet, recorder=Recorder(), random=Random(3), phases=BENCHMARK[1:2], shape=TextShape())
    loop.start()
    fleet.advance(30)
    counters = read(fleet, kind.value.lower())
    assert counters.engine is engine
    assert counters.running > 0
    assert counters.waiting is not None
    assert counters.kv_cache_usage > 0
    if kind is not RoleKind.PREFILL:
        assert counters.generation_tokens > 0
        assert counters.itl.count > 0
    if kind is not RoleKind.DECODE:
        assert counters.prompt_tokens > 0
        assert (counters.ttft is None) == (engine is Engine.SGLANG and kind is RoleKind.PREFILL)
