"""The elector goes the ways of its table and no other, and each of them is gone."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_controller.runtime import lease_states
from scaler_controller.runtime.lease import Acquire, Elector, LeaseTimes, Lost, Renew, Wait
from scaler_controller.runtime.lease_states import LEASE, LeaseEvent, LeaseState, state_of
from scaler_kube.leases import LeaseRecord

Move = tuple[LeaseState, LeaseEvent, LeaseState]
OTHERS = LeaseRecord(
    holder="other", lease_seconds=15.0, acquire_time=0.0, renew_time=0.0, transitions=3, resource_version="7"
)


def newborn() -> Elector:
    return Elector(identity="me", times=LeaseTimes())


@dataclass(kw_only=True)
class Life:
    """One process: what it may do next, and what became of it."""

    now: float = 0.0
    elector: Elector = field(default_factory=newborn)

    def happen(self, choice: str) -> Iterator[Move]:
        before = state_of(self.elector)
        event = getattr(self, choice)()
        if event is not None:
            yield before, event, state_of(self.elector)

    def wait(self) -> None:
        self.now += 3.0

    def step(self) -> LeaseEvent | None:
        match self.elector.decide(self.now, self.now):
            case Acquire(record=record) | Renew(record=record):
                self.elector = self.elector.sending(record, self.now)
                return LeaseEvent.SENT
            case Lost():
                self.elector = newborn()
                return LeaseEvent.LOST
            case Wait():
                return None

    def see_another(self) -> LeaseEvent:
        self.elector = self.elector.observe(OTHERS, self.now)
        return LeaseEvent.SEEN

    def see_nothing(self) -> LeaseEvent:
        self.elector = self.elector.observe(None, self.now)
        return LeaseEvent.SEEN

    def see_ours(self) -> LeaseEvent | None:
        if self.elector.attempt is None:
            return None
        is_in_time = self.now < self.elector.attempt.sent_at + self.elector.times.renew_seconds
        self.elector = self.elector.observe(replace(self.elector.attempt.record, resource_version="8"), self.now)
        return LeaseEvent.CONFIRMED if is_in_time else LeaseEvent.SEEN

    def get_answer(self) -> LeaseEvent | None:
        if self.elector.attempt is None:
            return None
        self.elector = self.elector.wrote(replace(self.elector.attempt.record, resource_version="9"), self.now)
        return LeaseEvent.ACCEPTED

    def get_refusal(self) -> LeaseEvent | None:
        if self.elector.attempt is None:
            return None
        self.elector = self.elector.refused()
        return LeaseEvent.REFUSED

    def release(self) -> LeaseEvent | None:
        if self.elector.release(self.now) is None:
            return None
        self.elector = newborn()
        return LeaseEvent.RELEASED


CHOICES = ("wait", "step", "see_another", "see_nothing", "see_ours", "get_answer", "get_refusal", "release")


@given(st.lists(st.sampled_from(CHOICES), max_size=40))
def test_whatever_happens_the_elector_goes_as_its_table_says(choices: list[str]) -> None:
    life = Life()
    for choice in choices:
        for before, event, after in life.happen(choice):
            assert LEASE.after(before, event) == after


STORIES = {
    "asked": ("see_another", "wait", "wait", "wait", "wait", "wait", "step", "see_another", "wait"),
    "asked again": ("step", "see_nothing", "step", "get_refusal", "see_nothing"),
    "kept": ("step", "get_answer", "see_nothing"),
    "confirmed": ("step", "see_ours", "wait", "step", "see_another"),
    "renewed": ("step", "get_answer", "wait", "step", "get_answer", "wait", "step", "see_ours", "release"),
    "renewed late": ("step", "get_answer", "wait", "step", "wait", "step", "get_refusal", "see_another", "step"),
    "lost while renewing": ("step", "get_answer", "wait", "step", "wait", "wait", "wait", "step"),
    "released while renewing": ("step", "get_answer", "wait", "step", "release"),
}


def test_every_way_of_the_table_is_gone() -> None:
    gone = set()
    for story in STORIES.values():
        life = Life()
        gone |= {move for choice in story for move in life.happen(choice)}
    assert gone == {(state, event, after) for (state, event), after in LEASE.table.items()}


def test_the_documented_table_is_the_table() -> None:
    rows = [line.strip("| ").split("|") for line in (lease_states.__doc__ or "").splitlines() if line.startswith("| ")]
    documented = {tuple(cell.strip() for cell in cells[:3]) for cells in rows[1:]}
    assert documented == {(state, event, after) for (state, event), after in LEASE.table.items()}


@pytest.mark.parametrize("state", LeaseState)
def test_every_state_is_reached_and_can_be_left(state: LeaseState) -> None:
    assert state in {LEASE.start, *LEASE.table.values()}
    assert state in {before for before, _ in LEASE.table}
