import asyncio
import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scaler_controller.runtime.workqueue import QueueShutDownError, QueueState, WorkQueue
from scaler_core.api.meta import ObjectKey
from scaler_kube.clock import SteadyClock

A, B, C = (ObjectKey("ns", name) for name in "abc")


def test_a_key_is_not_taken_twice_at_once_but_again_afterwards() -> None:
    queue = QueueState()
    queue.add(A, 0)
    assert queue.take(0) == A
    queue.add(A, 1)
    assert queue.take(5) is None
    queue.done(A)
    assert queue.take(5) == A


def test_the_earliest_moment_wins() -> None:
    queue = QueueState()
    queue.add(A, 10)
    queue.add(A, 3)
    queue.add(A, 20)
    assert queue.next_due() == 3
    assert queue.take(2.999) is None
    assert queue.take(3) == A
    queue.done(A)
    assert queue.take(100) is None, "the moments that lost must not come back"


def test_the_earliest_moment_wins_for_a_key_in_work_too() -> None:
    queue = QueueState()
    queue.add(A, 0)
    queue.take(0)
    queue.add(A, 9)
    queue.add(A, 4)
    queue.add(A, 7)
    queue.done(A)
    assert queue.next_due() == 4


def test_a_key_that_is_not_due_does_not_hold_up_another() -> None:
    queue = QueueState()
    queue.add(A, 100)
    queue.add(B, 2)
    queue.add(C, 1)
    assert [queue.take(5), queue.take(5), queue.take(5)] == [C, B, None]


def test_never_is_no_moment() -> None:
    queue = QueueState()
    queue.add(A, math.inf)
    assert len(queue) == 0
    assert queue.next_due() == math.inf


class QueueMachine(RuleBasedStateMachine):
    """Against a model that is a plain dictionary of the earliest moment of each key."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = QueueState()
        self.now = 0.0
        self.wanted: dict[ObjectKey, float] = {}
        self.working: set[ObjectKey] = set()

    @rule(key=st.sampled_from((A, B, C)), delay=st.integers(0, 5))
    def add(self, key: ObjectKey, delay: int) -> None:
        at = self.now + delay
        self.queue.add(key, at)
        self.wanted[key] = min(at, self.wanted.get(key, math.inf))

    @rule(by=st.integers(1, 4))
    def pass_time(self, by: int) -> None:
        self.now += by

    @rule()
    def take(self) -> None:
        due = {key: at for key, at in self.wanted.items() if at <= self.now and key not in self.working}
        key = self.queue.take(self.now)
        if not due:
            assert key is None
            return
        assert key is not None
        assert due[key] == min(due.values())
        del self.wanted[key]
        self.working.add(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.working.discard(key)
        self.queue.done(key)

    @invariant()
    def the_next_moment_is_the_earliest_of_what_can_be_taken(self) -> None:
        free = [at for key, at in self.wanted.items() if key not in self.working]
        assert self.queue.next_due() == min(free, default=math.inf)
        assert self.queue.depth(self.now) == sum(1 for at in free if at <= self.now)
        assert len(self.queue) == len(self.wanted)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def loop_clock(factor: float = 1.0) -> SteadyClock:
    return SteadyClock(source=asyncio.get_running_loop().time, wall_at_start=1_000.0, factor=factor)


@pytest.mark.looptime
async def test_a_worker_waits_exactly_until_a_key_is_due(looptime: float) -> None:
    queue = WorkQueue(loop_clock())
    queue.add_after(A, 300)
    assert await queue.take() == A
    assert looptime == 300


@pytest.mark.looptime
async def test_delays_are_in_clock_seconds(looptime: float) -> None:
    queue = WorkQueue(loop_clock(factor=10))
    queue.add_after(A, 300)
    await queue.take()
    assert looptime == pytest.approx(30)


@pytest.mark.looptime
async def test_a_new_key_wakes_a_waiting_worker(looptime: float) -> None:
    queue = WorkQueue(loop_clock())
    queue.add_after(A, 300)
    asyncio.get_running_loop().call_later(7, queue.add, B)
    assert await queue.take() == B
    assert looptime == 7


@pytest.mark.looptime
async def test_every_due_key_finds_one_of_several_waiting_workers(looptime: float) -> None:
    queue = WorkQueue(loop_clock())
    async with asyncio.TaskGroup() as group:
        takers = [group.create_task(queue.take(), name=f"taker {n}") for n in range(3)]
        await asyncio.sleep(1)
        for key in (A, B, C):
            queue.add(key)
    assert {taker.result() for taker in takers} == {A, B, C}
    assert looptime == 1


@pytest.mark.looptime
async def test_shutting_down_ends_the_wait_and_hands_out_no_more() -> None:
    queue = WorkQueue(loop_clock())
    asyncio.get_running_loop().call_later(1, queue.shut_down)
    with pytest.raises(QueueShutDownError):
        await queue.take()
    queue.add(A)
    with pytest.raises(QueueShutDownError):
        await queue.take()
