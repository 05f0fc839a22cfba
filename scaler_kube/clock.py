"""The only place that reads time; everything else is handed a clock, or `now`.

Two kinds of seconds meet here. *Clock seconds* (`now`, `sleep`) are steady Unix seconds that never jump while the
process lives, and may run faster than real ones in a demonstration. *Monotonic seconds* (`monotonic`) are real and
have no meaning outside the process: deadlines of I/O are in them, whatever the factor.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Clock(Protocol):
    """What the processes need of time; tests bring their own."""

    def now(self) -> float:
        """Steady Unix seconds of this clock."""
        ...

    def monotonic(self) -> float:
        """Real seconds since an arbitrary moment, as the event loop counts them; for deadlines of I/O."""
        ...

    def real_seconds(self, seconds: float) -> float:
        """How long so many seconds of this clock take; for timeouts of asyncio."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds of this clock."""
        ...


def _wall() -> float:
    return time.time()  # noqa: TID251 -- read once, when a process starts


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyClock:
    """Wall time at the start plus monotonic time since, stretched around an epoch.

    With factor f and epoch E it shows `E + f * (real - E)`, so that all processes that were started with the same two
    values agree, however far apart they were started.
    """

    factor: float = 1.0
    """Clock seconds per real second, above 0."""
    epoch: float = 0.0
    """Unix seconds at which clock time and real time are equal; matters only where the factor is not 1."""
    source: Callable[[], float] = time.monotonic
    """Monotonic seconds; the running loop's `time` where a test drives the loop."""
    wall_at_start: float = field(default_factory=_wall)
    monotonic_at_start: float = field(init=False)

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ValueError(f"clock factor {self.factor} is not above 0; use 1 for real time")
        object.__setattr__(self, "monotonic_at_start", self.source())

    def now(self) -> float:
        """Steady Unix seconds of this clock."""
        real = self.wall_at_start + (self.source() - self.monotonic_at_start)
        return self.epoch + self.factor * (real - self.epoch)

    def monotonic(self) -> float:
        """Real seconds since an arbitrary moment, as the event loop counts them; for deadlines of I/O."""
        return self.source()

    def real_seconds(self, seconds: float) -> float:
        """How long so many seconds of this clock take; 0 when they are not above 0."""
        return max(0.0, seconds) / self.factor

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds of this clock; at once when they are not above 0."""
        await asyncio.sleep(self.real_seconds(seconds))
