from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from scaler_controller.runtime.lease import Acquire, Elector, LeaseTimes, Lost, Renew, Wait
from scaler_kube.leases import LeaseRecord

TIMES = LeaseTimes()


def elector(identity: str = "me") -> Elector:
    return Elector(identity=identity, times=TIMES)


def record(holder: str = "other", version: str = "1", **more: object) -> LeaseRecord:
    known: dict = {"lease_seconds": 15.0, "acquire_time": 0.0, "renew_time": 0.0, "transitions": 3}
    return LeaseRecord(holder=holder, resource_version=version, **(known | more))


def holding(now: float = 0.0) -> Elector:
    step = elector().decide(now, 1_000.0)
    assert isinstance(step, Acquire)
    return elector().sending(step.record, now).wrote(replace(step.record, resource_version="1"), now)


def test_a_lease_that_does_not_exist_is_acquired() -> None:
    step = elector().decide(0, 1_000.0)
    assert step == Acquire(record=record("me", "", acquire_time=1_000.0, renew_time=1_000.0, transitions=0))


def test_a_released_lease_is_acquired_at_once_and_counts_a_transition() -> None:
    step = elector().observe(record(""), 0).decide(0, 1_000.0)
    assert isinstance(step, Acquire)
    assert step.record.transitions == 4
    assert step.record.resource_version == "1"


@pytest.mark.parametrize(
    ("at", "kind"), [pytest.param(14.99, Wait, id="just-before"), pytest.param(15.0, Acquire, id="exactly-at")]
)
def test_anothers_lease_is_taken_once_it_was_seen_unchanged_for_its_length(at: float, kind: type) -> None:
    waiting = elector().observe(record(), 0).observe(record(), 10)
    assert isinstance(waiting.decide(at, 0), kind)


def test_every_change_of_the_record_starts_the_wait_anew() -> None:
    waiting = elector().observe(record(), 0).observe(record(version="2"), 10)
    assert isinstance(waiting.decide(24.9, 0), Wait)
    assert isinstance(waiting.decide(25, 0), Acquire)


def test_a_longer_lease_of_another_is_respected() -> None:
    waiting = elector().observe(record(lease_seconds=60.0), 0)
    assert isinstance(waiting.decide(59, 0), Wait)


def test_times_in_the_record_do_not_matter() -> None:
    waiting = elector().observe(record(renew_time=9e9), 0)
    assert isinstance(waiting.decide(15, 0), Acquire)


def test_a_record_with_our_name_that_we_did_not_write_is_anothers() -> None:
    waiting = elector().observe(record("me"), 0)
    assert isinstance(waiting.decide(0, 0), Wait)
    assert not waiting.is_holder


def test_a_holder_renews_after_the_retry_period() -> None:
    assert holding().decide(1.5, 0) == Wait(seconds=0.5)
    step = holding().decide(2, 1_002.0)
    assert isinstance(step, Renew)
    assert (step.record.acquire_time, step.record.renew_time) == (1_000.0, 1_002.0)
    assert step.record.transitions == 0


def test_holding_counts_from_before_the_write_was_sent() -> None:
    step = elector().decide(0, 0)
    assert isinstance(step, Acquire)
    held = elector().sending(step.record, 0).wrote(step.record, 8)
    assert held.held_until == 10


@pytest.mark.parametrize(
    ("seen", "at", "why"),
    [
        pytest.param(record("me"), 10.0, "not renewed for 10 s", id="renew-deadline"),
        pytest.param(record("other"), 1.0, "taken by other", id="taken"),
        pytest.param(record(""), 1.0, "taken by nobody", id="emptied"),
        pytest.param(None, 1.0, "the lease was deleted", id="deleted"),
    ],
)
def test_a_lease_is_lost(seen: LeaseRecord | None, at: float, why: str) -> None:
    assert holding().observe(seen, 0.5).decide(at, 0) == Lost(why=why)


def test_a_write_whose_answer_was_lost_counts_once_it_is_seen() -> None:
    step = elector().decide(0, 1_000.0)
    assert isinstance(step, Acquire)
    sent = elector().sending(step.record, 0)
    assert sent.observe(replace(step.record, resource_version="7"), 4).held_until == 10
    late = sent.observe(replace(step.record, resource_version="7"), 10)
    assert not late.is_holder
    assert isinstance(late.decide(24, 0), Wait)


def test_release_empties_the_record_only_for_a_holder() -> None:
    assert elector().release(5.0) is None
    released = holding().release(5.0)
    assert released is not None
    assert (released.holder, released.resource_version) == ("", "1")


def test_times_out_of_order_are_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"lease 10.0 s, renew 10.0 s .* for example 15, 10 and 2"):
        LeaseTimes(lease_seconds=10.0)


TICK = 1.0
CALL_TIMEOUT = 15.0


@dataclass
class Candidate:
    """A process with a clock of its own that looks, decides and writes, like the shell in manager/leadership.py."""

    identity: str
    rate: float
    offset: float
    state: Elector = field(init=False)
    is_paused: bool = False
    awaiting: float | None = None  # local time at which an unanswered write is given up

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.state = elector(self.identity)
        self.awaiting = None

    def local(self, real: float) -> float:
        return self.offset + self.rate * real

    def may_write(self, real: float) -> bool:
        return self.local(real) < self.state.held_until


class ElectorsMachine(RuleBasedStateMachine):
    """Two candidates, clocks of different rates, pauses at any moment, writes and answers that are late or lost."""

    @initialize(
        rates=st.tuples(st.floats(0.9, 1.1), st.floats(0.9, 1.1)), offset=st.floats(0, 1e6), twins=st.booleans()
    )
    def start(self, rates: tuple[float, float], offset: float, twins: bool) -> None:
        self.real = 0.0
        self.stored: LeaseRecord | None = None
        self.version = 0
        names = ("same", "same") if twins else ("one", "two")
        self.candidates = [Candidate(names[0], rates[0], 0.0), Candidate(names[1], rates[1], offset)]
        self.requests: list[tuple[float, Candidate, LeaseRecord]] = []
        self.answers: list[tuple[float, Candidate, LeaseRecord | None, LeaseRecord]] = []
        self.there = self.back = 0.0
        self.is_answer_lost = False

    @rule(
        there=st.sampled_from((0.0, 0.0, 1.0, 6.0, 20.0)),
        back=st.sampled_from((0.0, 0.0, 1.0, 8.0)),
        lost=st.booleans(),
    )
    def set_network(self, there: float, back: float, lost: bool) -> None:
        self.there, self.back, self.is_answer_lost = there, back, lost and back == 1.0

    @rule(who=st.integers(0, 1), seconds=st.sampled_from((1, 4, 10, 15, 25)))
    def run_while_one_is_paused(self, who: int, seconds: int) -> None:
        self.candidates[who].is_paused = True
        self.run(seconds)
        self.candidates[who].is_paused = False

    @rule(seconds=st.sampled_from((1, 3, 12, 30)))
    def run(self, seconds: int) -> None:
        for _ in range(int(seconds / TICK)):
            self.real += TICK
            self._deliver()
            for candidate in self.candidates:
                if not candidate.is_paused:
                    self._turn(candidate)
                self._check()

    @rule(who=st.integers(0, 1))
    def release(self, who: int) -> None:
        candidate = self.candidates[who]
        released = candidate.state.release(self._unix(candidate))
        candidate.restart()
        if released is not None:
            self._store(released)

    @rule(who=st.integers(0, 1))
    def crash(self, who: int) -> None:
        self.candidates[who].restart()

    def _turn(self, candidate: Candidate) -> None:
        now = candidate.local(self.real)
        if candidate.awaiting is not None:
            limit = candidate.state.held_until if candidate.state.is_holder else candidate.awaiting
            if now < limit:
                return
            candidate.awaiting = None
        if not candidate.state.is_holder or candidate.state.attempt is not None:
            candidate.state = candidate.state.observe(self.stored, now)
        match candidate.state.decide(now, self._unix(candidate)):
            case Acquire(record=wish) | Renew(record=wish):
                candidate.state = candidate.state.sending(wish, now)
                candidate.awaiting = now + CALL_TIMEOUT
                self.requests.append((self.real + self.there, candidate, wish))
            case Lost():
                candidate.restart()
            case Wait():
                pass

    def _deliver(self) -> None:
        for request in [it for it in self.requests if it[0] <= self.real]:
            self.requests.remove(request)
            _, candidate, wish = request
            answer = self._store(wish)
            if not self.is_answer_lost:
                self.answers.append((self.real + self.back, candidate, answer, wish))
        for reply in [it for it in self.answers if it[0] <= self.real and not it[1].is_paused]:
            self.answers.remove(reply)
            self._hear(*reply[1:])

    def _hear(self, candidate: Candidate, answer: LeaseRecord | None, wish: LeaseRecord) -> None:
        attempt = candidate.state.attempt
        if candidate.awaiting is None or attempt is None or attempt.record is not wish:
            return
        candidate.awaiting = None
        now = candidate.local(self.real)
        candidate.state = candidate.state.refused() if answer is None else candidate.state.wrote(answer, now)
        if answer is None:
            candidate.state = candidate.state.observe(self.stored, now)

    def _store(self, wish: LeaseRecord) -> LeaseRecord | None:
        if wish.resource_version != (self.stored.resource_version if self.stored else ""):
            return None
        self.version += 1
        self.stored = replace(wish, resource_version=str(self.version))
        return self.stored

    def _unix(self, candidate: Candidate) -> float:
        return 1e9 + candidate.local(self.real)

    def _check(self) -> None:
        holders = [it for it in self.candidates if it.may_write(self.real)]
        assert len(holders) < 2, f"both may write at {self.real}"


TestElectorsMachine = ElectorsMachine.TestCase
TestElectorsMachine.settings = settings(max_examples=250, stateful_step_count=20, deadline=None)


@pytest.mark.long
@pytest.mark.timeout(3600)
class TestElectorsAtLength(ElectorsMachine.TestCase):
    settings = settings(max_examples=3_000, stateful_step_count=40, deadline=None)


def test_one_of_two_candidates_leads_in_the_end() -> None:
    machine = ElectorsMachine()
    machine.start((1.0, 1.0), 500.0, False)
    machine.run(3)
    assert [it.may_write(machine.real) for it in machine.candidates] == [True, False]
    machine.run_while_one_is_paused(0, 25)
    assert machine.candidates[1].may_write(machine.real)
