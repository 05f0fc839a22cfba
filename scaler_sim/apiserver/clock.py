"""The server's time, as it stamps objects."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

Seconds = Callable[[], float]
"""Unix time in seconds; the demo passes a faster one."""


class Clock:
    """Stamps in RFC 3339, whole seconds, UTC."""

    def __init__(self, seconds: Seconds = time.time) -> None:  # noqa: TID251 - the one clock of the embedded cluster
        self._seconds = seconds

    def now(self) -> str:
        """The present."""
        return self.after(0)

    def after(self, seconds: float) -> str:
        """The present and some seconds more."""
        moment = datetime.fromtimestamp(self._seconds() + seconds, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def age(self, stamp: str) -> float:
        """Seconds since a stamp."""
        return self._seconds() - datetime.fromisoformat(stamp).timestamp()
