"""The closed loop's clients: concurrency, failures, and one loop after another."""

from random import Random

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.fleet import Fleet, ReplicaKey
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.engines.timeline import Timeline
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

SERVER = ReplicaKey("server", 0)


@pytest.fixture
def fleet():
    fleet = Fleet(engine=Engine.VLLM, profile=EngineProfile(), timeline=Timeline(), random=Random(1))
    fleet.add(SERVER, RoleKind.SERVER)
    fleet.admit(SERVER)
    return fleet


def load(fleet, *phases):
    loop = ClosedLoop(fleet=fleet, recorder=Recorder(), random=Random(1), phases=phases, shape=TextShape())
    loop.start()
    return loop


def test_concurrency_follows_the_phases_and_outstanding_requests_are_answered(fleet):
    loop = load(fleet, Phase(name="many", seconds=20, concurrency=8), Phase(name="few", seconds=20, concurrency=2))
    fleet.advance(10)
    assert fleet.in_flight == 8
    fleet.advance(35)
    assert fleet.in_flight == 2
    assert loop.phase_started_at == 20
    fleet.advance(60)
    assert fleet.in_flight == 0
    assert loop.phase is None


def test_a_failed_request_is_asked_again_a_little_later(fleet):
    loop = load(fleet, Phase(name="constant", seconds=None, concurrency=3))
    fleet.advance(1)
    fleet.restart(SERVER)
    assert fleet.in_flight == 0
    fleet.advance(2.1)
    assert fleet.in_flight == 3
    loop.stop()
    fleet.advance(30)
    assert fleet.in_flight == 0


def test_a_loop_leaves_the_requests_of_an_earlier_one_alone(fleet):
    first = load(fleet, Phase(name="constant", seconds=None, concurrency=5))
    fleet.advance(1)
    first.stop()
    load(fleet, Phase(name="constant", seconds=None, concurrency=2))
    assert fleet.in_flight == 7
    fleet.advance(30)
    assert fleet.in_flight == 2
