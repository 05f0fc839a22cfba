"""Future events in the order of their times: the clockwork of the simulation."""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

Action = Callable[[float], None]
"""What happens; it is given the time at which it happens."""


@dataclass(slots=True, order=True)
class Timer:
    """One scheduled action, until it ran or was cancelled."""

    at: float
    """Seconds on the timeline."""
    order: int
    action: Action | None = field(compare=False)

    def cancel(self) -> None:
        """Make sure that the action does not run any more."""
        self.action = None


class Timeline:
    """Runs actions at their times; time moves only by `advance`."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._order = itertools.count()
        self._pending: list[Timer] = []

    @property
    def now(self) -> float:
        """Seconds; during an action, the time for which it was scheduled."""
        return self._now

    def at(self, when: float, action: Action) -> Timer:
        """Run an action at that time, or at once in the next `advance` when the time has passed already."""
        timer = Timer(max(when, self._now), next(self._order), action)
        heapq.heappush(self._pending, timer)
        return timer

    def after(self, seconds: float, action: Action) -> Timer:
        """Run an action that many seconds from now."""
        return self.at(self._now + seconds, action)

    def next_at(self) -> float | None:
        """When the next action is due; None when nothing is scheduled."""
        while self._pending and self._pending[0].action is None:
            heapq.heappop(self._pending)
        return self._pending[0].at if self._pending else None

    def advance(self, to: float) -> None:
        """Run everything that is due until then, in order, and set the time; a time in the past changes nothing."""
        while self._pending and self._pending[0].at <= to:
            timer = heapq.heappop(self._pending)
            action, timer.action = timer.action, None
            if action is not None:
                self._now = timer.at
                action(timer.at)
        self._now = max(self._now, to)
