"""Queues, caches and lost requests of single replicas."""

from random import Random

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.fleet import NO_REPLICA, REPLICA_GONE, ReplicaKey
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.engines.request import Request

EXACT = EngineProfile(prefill_noise=0.0, decode_noise=0.0)
PREFILL, DECODE = ReplicaKey("prefill", 0), ReplicaKey("decode", 0)


class Client:
    def __init__(self) -> None:
        self.first: dict[int, float] = {}
        self.done: dict[int, float] = {}
        self.lost: dict[int, str] = {}

    def first_token(self, request, at):
        self.first[request.identity] = at - request.arrived_at

    def gaps(self, at, seconds, count):
        pass

    def finished(self, request, at):
        self.done[request.identity] = at

    def failed(self, request, at, reason):
        self.lost[request.identity] = reason


def ask(fleet, identity, prompt=1024, output=10, blocks=()):
    fleet.submit(
        Request(
            identity=identity,
            arrived_at=fleet.timeline.now,
            prompt_tokens=prompt,
            output_tokens=output,
            blocks=blocks,
        )
    )


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def pair(make_fleet, client):
    fleet = make_fleet(1, RoleKind.PREFILL, RoleKind.DECODE, profile=EXACT)
    fleet.attach(client)
    return fleet


def test_prompts_are_computed_one_after_another(pair, client):
    for identity in range(3):
        ask(pair, identity)
    pair.advance(5)
    first = [client.first[identity] for identity in range(3)]
    assert first[0] == pytest.approx(0.003 + 1024 * 0.0002 + 0.002 + 1024 * 0.000045 + 0.0058 + 0.000356)
    assert first[1] - first[0] == pytest.approx(0.003 + 1024 * 0.0002, abs=0.01)
    assert first[2] - first[1] == pytest.approx(0.003 + 1024 * 0.0002, abs=0.01)


def test_a_shared_prefix_costs_no_second_computation(pair, client):
    ask(pair, 1, blocks=(1, 2))
    pair.advance(1)
    ask(pair, 2, blocks=(1, 3))
    pair.advance(2)
    readings = pair.replica(PREFILL).readings
    assert (readings.queried_tokens, readings.hit_tokens, readings.computed_tokens) == (2048, 512, 1536)
    assert client.first[2] < client.first[1] - 0.09


def test_a_fully_cached_prompt_still_computes_its_last_token(pair, client):
    for identity in (1, 2):
        ask(pair, identity, blocks=(1, 2))
        pair.advance(identity)
    assert pair.replica(PREFILL).readings.computed_tokens == 1025
    assert 2 in client.done


def test_kv_limits_the_batch_and_the_rest_waits(make_fleet, client):
    profile = EngineProfile(kv_tokens=3000, prefill_noise=0, decode_noise=0)
    fleet = make_fleet(1, RoleKind.PREFILL, RoleKind.DECODE, profile=profile)
    fleet.attach(client)
    for identity in range(4):
        ask(fleet, identity, output=400)
    fleet.advance(1.2)
    gauges = fleet.replica(DECODE).gauges()
    assert (gauges.running, gauges.waiting) == (2, 2)
    assert 0.7 < gauges.kv_usage <= 1.0
    fleet.advance(30)
    assert sorted(client.done) == [0, 1, 2, 3]


def test_scheduled_prompts_count_as_running_and_the_rest_as_waiting(pair):
    for identity in range(12):
        ask(pair, identity)
    gauges = pair.replica(PREFILL).gauges()
    assert (gauges.running, gauges.waiting) == (8, 4)


def test_requests_wait_for_an_eligible_replica_and_give_up(make_fleet, client):
    fleet = make_fleet(0)
    fleet.attach(client)
    ask(fleet, 1)
    fleet.advance(29)
    ask(fleet, 2)
    fleet.advance(31)
    assert client.lost == {1: NO_REPLICA}
    for key, kind in ((PREFILL, RoleKind.PREFILL), (DECODE, RoleKind.DECODE)):
        fleet.add(key, kind)
        fleet.admit(key)
    fleet.advance(40)
    assert 2 in client.done


def test_a_withdrawn_replica_finishes_what_it_has(make_fleet, client):
    fleet = make_fleet(2, RoleKind.PREFILL, RoleKind.DECODE, profile=EXACT)
    fleet.attach(client)
    for identity in range(8):
        ask(fleet, identity, output=100)
        fleet.advance((identity + 1) * 0.5)
    for role in ("prefill", "decode"):
        fleet.withdraw(ReplicaKey(role, 1))
    before = fleet.replica(ReplicaKey("prefill", 1)).readings.queried_tokens
    for identity in range(8, 12):
        ask(fleet, identity)
    fleet.advance(20)
    assert fleet.is_idle(ReplicaKey("decode", 1))
    assert fleet.replica(ReplicaKey("prefill", 1)).readings.queried_tokens == before
    assert sorted(client.done) == list(range(12))


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("key", [PREFILL, DECODE])
@pytest.mark.parametrize("how", ["remove", "restart"])
def test_a_lost_replica_fails_exactly_what_it_had(make_fleet, client, engine, key, how):
    fleet = make_fleet(1, RoleKind.PREFILL, RoleKind.DECODE, engine=engine, profile=EXACT)
    fleet.attach(client)
    for identity in range(8):
        ask(fleet, identity, output=200)
    fleet.advance(1.0)
    getattr(fleet, how)(key)
    assert client.lost
    assert set(client.lost.values()) == {REPLICA_GONE}
    if how == "restart":
        assert fleet.replica(key).readings.generated_tokens == 0
    for place, kind in ((PREFILL, RoleKind.PREFILL), (DECODE, RoleKind.DECODE)):
        if fleet.replica(place) is None:
            fleet.add(place, kind)
            fleet.admit(place)
    fleet.advance(60)
    assert len(client.lost) + len(client.done) == 8
    assert fleet.in_flight == 0


def test_time_may_pass_in_any_steps(make_fleet):
    """A text read at any moment changes nothing that follows."""
    totals = []
    for steps in (1, 997):
        fleet = make_fleet(2, RoleKind.SERVER)
        random = Random(7)
        for identity in range(60):
            ask(fleet, identity, prompt=random.randint(10, 5000), output=random.randint(1, 300))
        for step in range(steps):
            fleet.advance(100 * (step + 1) / steps)
        readings = [fleet.replica(key).readings for key in sorted(fleet.eligible)]
        totals.append([(r.generated_tokens, r.computed_tokens, r.itl.count) for r in readings])
    assert totals[0] == totals[1]
