"""Failures in a row by key -> how long to wait; pure, the chance is passed in."""

from typing import Final

from scaler_core.api.meta import ObjectKey
from scaler_kube.backoff import Exponential

RETRY: Final = Exponential(base_seconds=1.0, cap_seconds=300.0)


class KeyBackoff:
    """Counts failures of each key; a success forgets the key, so that the memory is bounded by what fails."""

    def __init__(self, delays: Exponential = RETRY) -> None:
        self._delays: Final = delays
        self._failures: dict[ObjectKey, int] = {}

    def failures(self, key: ObjectKey) -> int:
        """Failures of a key since its last success."""
        return self._failures.get(key, 0)

    def failed(self, key: ObjectKey, jitter: float) -> float:
        """Count a failure; returns the clock seconds to wait.

        Args:
            key: whose pass failed.
            jitter: uniform in [0, 1).
        """
        self._failures[key] = self.failures(key) + 1
        return self._delays.delay_seconds(self._failures[key], jitter)

    def succeeded(self, key: ObjectKey) -> None:
        """Forget a key's failures."""
        self._failures.pop(key, None)
