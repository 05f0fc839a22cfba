"""Ends what takes too long, with one timer for all that is going on.

A timer for each request costs a tenth of the request, and hardly any of them ever fires.
"""

import asyncio
from itertools import takewhile
from types import TracebackType
from typing import Any


class Deadlines:
    """Everything within `with` may take so many real seconds; any number of tasks may be within at a time.

    A task that takes longer is cancelled, and its `with` raises TimeoutError, as `asyncio.timeout` does.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # In the order of their beginnings, which is that of their ends: all may take equally long.
        self._began: dict[asyncio.Task[Any], float] = {}
        self._overdue: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None or task in self._began or task in self._overdue:
            raise RuntimeError("a deadline is for one thing at a time of one task")
        self._began[task] = asyncio.get_running_loop().time()
        if self._timer is None:
            self._set_timer()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        assert task is not None  # it entered
        if self._began.pop(task, None) is None:
            self._overdue.remove(task)
            if task.uncancel() == 0 and kind is asyncio.CancelledError:  # otherwise somebody else cancelled it, too
                raise TimeoutError from error

    def _set_timer(self) -> None:
        """For the one that ends first, if any; it stays when that one is done before, as another will follow."""
        began = next(iter(self._began.values()), None)
        loop = asyncio.get_running_loop()
        self._timer = None if began is None else loop.call_at(began + self._seconds, self._end_overdue)

    def _end_overdue(self) -> None:
        now = asyncio.get_running_loop().time()
        for task, _ in list(takewhile(lambda item: item[1] + self._seconds <= now, self._began.items())):
            del self._began[task]
            self._overdue.add(task)
            task.cancel()
        self._set_timer()
