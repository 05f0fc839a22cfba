"""List and watch as a state machine without I/O: what happened goes in, what to do next comes out.

```
            Listed                    Failed(EXPIRED)
  Relisting ------> Watching(version) ---------------> Relisting
     ^   |             | ^   Observed, Ended, Failed(TRANSIENT): watch on from the last version
     |   | Failed(UNSERVED)
     |   v             v
     +-- Unserved <----+       Discovered: relist when the kind is served, else ask again later
```

The library's own watch is not used: it repeats a 410 with the same version.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.backoff import Exponential
from scaler_kube.store import Change, Entry, Store
from scaler_kube.watch import EventType, WatchEvent

T = TypeVar("T")

BACKOFF: Final = Exponential(base_seconds=0.5, cap_seconds=30.0)
REDISCOVERY_SECONDS: Final = 30.0
SHORTEST_HEALTHY_WATCH_SECONDS: Final = 1.0
_UNREADABLE: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


class Failure(Enum):
    """Why a list or a watch did not succeed, as far as the machine must know."""

    EXPIRED = "expired"
    UNSERVED = "unserved"
    TRANSIENT = "transient"


def classify(error: errors.KubeError) -> Failure:
    """The failure that an error means here; what permissions or a server's faults cause may end by itself."""
    match error:
        case errors.GoneError():
            return Failure.EXPIRED
        case errors.NotFoundError():
            return Failure.UNSERVED
        case _:
            return Failure.TRANSIENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Relisting:
    """The store may be behind by more than a watch can bring."""

    failures: int = 0
    at_least_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """The store shows this version; a watch brings the rest."""

    resource_version: str
    failures: int = 0
    at_least_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """The server does not know the kind; what was known of it is kept."""

    asked: int = 0


State = Relisting | Watching | Unserved


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """Read the whole collection after a wait."""

    after_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Follow the collection from a version after a wait."""

    after_seconds: float
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Discover:
    """Ask whether the kind is served after a wait."""

    after_seconds: float


Step = List | Watch | Discover


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable:
    """An object that our models cannot read; the store does not have it."""

    key: ObjectKey
    why: str


Read = tuple[ObjectKey, Entry[T] | Undecodable]
"""What became of a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Generic[T]):
    """What handlers are told."""

    changes: tuple[Change[T], ...] = ()
    undecodable: tuple[Undecodable, ...] = ()


class Reflector(Generic[T]):
    """Keeps a store equal to a collection of the API server, given what lists and watches bring."""

    def __init__(self, store: Store[T], decode: Callable[[dict[str, Any]], T]) -> None:
        self.store: Final = store
        self._decode = decode
        self.state: State = Relisting()

    def next_step(self, jitter: float) -> Step:
        """What to do now.

        Args:
            jitter: uniform in [0, 1).
        """
        match self.state:
            case Relisting(failures=failures, at_least_seconds=floor):
                return List(after_seconds=max(floor, BACKOFF.delay_seconds(failures, jitter)))
            case Watching(resource_version=version, failures=failures, at_least_seconds=floor):
                wait = max(floor, BACKOFF.delay_seconds(failures, jitter))
                return Watch(after_seconds=wait, resource_version=version)
            case Unserved(asked=asked):
                return Discover(after_seconds=REDISCOVERY_SECONDS * (1 - jitter / 2) if asked else 0.0)

    def on_listed(self, objects: Iterable[Read[T]], resource_version: str) -> News[T]:
        """Take a whole list, each object already `read`, so that no more than a page of documents is held.

        The count of failures stays, since a list followed by a failing watch is no progress.
        """
        entries: dict[ObjectKey, Entry[T]] = {}
        unread: list[Undecodable] = []
        for key, read in objects:
            if isinstance(read, Undecodable):
                unread.append(read)
            else:
                entries[key] = read
        failures = self.state.failures if isinstance(self.state, Relisting) else 0
        self.state = Watching(resource_version=resource_version, failures=failures)
        return News(changes=self.store.replace(entries, resource_version), undecodable=tuple(unread))

    def on_event(self, event: WatchEvent) -> News[T]:
        """Take one event of a watch."""
        version = event.resource_version
        if isinstance(self.state, Watching) and version:
            self.state = Watching(resource_version=version)
        if event.type is EventType.BOOKMARK:
            self.store.advance(version)
            return News()
        key, read = self.read(event.document)
        if event.type is EventType.DELETED:
            return self._removed(key, version)
        if isinstance(read, Undecodable):
            return replace(self._removed(key, version), undecodable=(read,))
        return News(changes=(self.store.put(key, read),))

    def on_ended(self, lasted_seconds: float) -> None:
        """The server ended a watch in good order."""
        if isinstance(self.state, Watching):
            # A server that ends every watch at once must not be asked in a tight loop.
            failures = 0 if lasted_seconds >= SHORTEST_HEALTHY_WATCH_SECONDS else self.state.failures + 1
            self.state = replace(self.state, failures=failures, at_least_seconds=0.0)

    def on_failure(self, failure: Failure, at_least_seconds: float = 0.0) -> None:
        """A list, watch or discovery failed.

        Args:
            failure: its kind.
            at_least_seconds: the server's own wish for a wait.
        """
        failures = self.state.asked if isinstance(self.state, Unserved) else self.state.failures
        match failure:
            case Failure.UNSERVED:
                self.state = Unserved()
            case Failure.EXPIRED:
                # Only an event ends the count, so a server that forgets every version again is given ever more time.
                self.state = Relisting(failures=failures + 1)
            case Failure.TRANSIENT if isinstance(self.state, Unserved):
                self.state = Unserved(asked=self.state.asked + 1)
            case Failure.TRANSIENT:
                self.state = replace(self.state, failures=failures + 1, at_least_seconds=at_least_seconds)

    def on_discovered(self, *, count: int) -> None:
        """Discovery answered with that many kinds that we can read."""
        if isinstance(self.state, Unserved):
            self.state = Relisting() if count else Unserved(asked=self.state.asked + 1)

    def _removed(self, key: ObjectKey, version: str) -> News[T]:
        change = self.store.remove(key, version)
        return News(changes=() if change is None else (change,))

    def read(self, document: dict[str, Any]) -> Read[T]:
        """Read one document of a list or an event."""
        metadata = document.get("metadata") or {}
        key = ObjectKey(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        try:
            entry = Entry(
                value=self._decode(document),
                uid=str(metadata.get("uid") or ""),
                resource_version=str(metadata.get("resourceVersion") or ""),
                generation=int(metadata.get("generation") or 0),
            )
        except _UNREADABLE as error:
            return key, Undecodable(key=key, why=" ".join(str(error).split())[:512])
        return key, entry
