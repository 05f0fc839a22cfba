"""Deadlines of many requests behind one timer."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from scaler_controller.sampling.deadlines import Deadlines

pytestmark = pytest.mark.looptime


async def ended(deadlines: Deadlines, begin: float, length: float) -> tuple[str, float]:
    """How and when something of that length ends that begins then."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(begin)
    try:
        with deadlines:
            await asyncio.sleep(length)
    except TimeoutError:
        return "late", loop.time()
    return "done", loop.time()


async def test_each_ends_at_its_own_time() -> None:
    deadlines = Deadlines(2)
    pairs = [(0, 1), (0, 5), (1, 1), (1, 5), (1.5, 5), (9, 1), (9, 3), (20, 3)]
    assert await asyncio.gather(*(ended(deadlines, *pair) for pair in pairs)) == [
        ("done", 1),
        ("late", 2),
        ("done", 2),
        ("late", 3),
        ("late", 3.5),
        ("done", 10),
        ("late", 11),
        ("late", 22),
    ]


async def test_one_task_has_its_time_anew_for_each_thing() -> None:
    deadlines = Deadlines(2)
    found = [await ended(deadlines, 0, length) for length in (1.5, 1.5, 3, 1.5, 3)]
    assert found == [("done", 1.5), ("done", 3), ("late", 5), ("done", 6.5), ("late", 8.5)]


async def test_one_timer_serves_all(monkeypatch: pytest.MonkeyPatch) -> None:
    deadlines, loop = Deadlines(2), asyncio.get_running_loop()
    call_at, timers = loop.call_at, []

    def count(when: float, callback: Callable[..., object], *rest: object, **names: Any) -> asyncio.TimerHandle:
        if callback == deadlines._end_overdue:
            timers.append(when)
        return call_at(when, callback, *rest, **names)

    async def ask() -> None:
        for _ in range(25):
            await ended(deadlines, 0, 0.125)

    monkeypatch.setattr(loop, "call_at", count)
    await asyncio.gather(*(ask() for _ in range(5)))
    assert timers == [2, 3.875]


async def test_a_cancelled_task_is_cancelled() -> None:
    deadlines = Deadlines(2)
    task = asyncio.create_task(ended(deadlines, 0, 5))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ended(deadlines, 0, 5) == ("late", 3)


async def test_a_task_that_is_cancelled_when_its_time_is_up_is_cancelled() -> None:
    deadlines = Deadlines(2)
    task = asyncio.create_task(ended(deadlines, 0, 5))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(2, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_outer_timeout_stays_one() -> None:
    deadlines = Deadlines(2)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await ended(deadlines, 0, 5)
    assert await ended(deadlines, 0, 5) == ("late", 3)


async def test_other_errors_pass() -> None:
    with pytest.raises(ValueError, match="bug"), Deadlines(2):
        raise ValueError("bug")


async def test_nothing_within_another_of_the_same_task() -> None:
    deadlines = Deadlines(2)
    with deadlines, pytest.raises(RuntimeError, match="one thing at a time"), deadlines:
        pass
