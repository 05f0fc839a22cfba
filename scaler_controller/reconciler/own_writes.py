"""What we wrote and a cache may not show yet: a pass on an older view would decide the same step twice."""

from dataclasses import dataclass
from typing import Final

from scaler_controller.reconciler.caches import Caches
from scaler_core.api.meta import ObjectKey

PATIENCE_SECONDS: Final = 5.0
"""Real seconds that caches get to catch up; then the API server is asked itself."""
POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Versions that our last writes of a pass returned; empty where nothing was written."""

    scaler: str = ""
    target: str = ""
    at: float
    """Real seconds of the event loop's clock."""


class OwnWrites:
    """The newest writes by scaler."""

    def __init__(self, caches: Caches) -> None:
        self._caches: Final = caches
        self._written: dict[ObjectKey, Written] = {}

    def note_scaler(self, key: ObjectKey, version: str, at: float) -> None:
        """We wrote the scaler or its status."""
        known = self._written.get(key)
        self._written[key] = Written(scaler=version, target=known.target if known else "", at=at)

    def note_target(self, key: ObjectKey, version: str, at: float) -> None:
        """We wrote the target of this scaler."""
        known = self._written.get(key)
        self._written[key] = Written(scaler=known.scaler if known else "", target=version, at=at)

    def forget(self, key: ObjectKey) -> None:
        """The scaler is gone, or its objects were read past the caches."""
        self._written.pop(key, None)

    def unseen(self, key: ObjectKey) -> Written | None:
        """What the caches do not show yet of our writes, or None."""
        written = self._written.get(key)
        if written is None:
            return None
        stores = ((self._caches.scalers, written.scaler), (self._caches.targets, written.target))
        if all(not version or store.has_reached(version) for store, version in stores):
            del self._written[key]
            return None
        return written
