"""Objects in memory with their history: one rising version for all of them, and watches that may start in the past.

Stored documents are never changed in place, so they are shared freely between lists, watches and history.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

Document = dict[str, Any]

FIRST_VERSION: Final = 100
"""Versions start above one, as on a server that has a history before its first object."""


class EventType(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Key(NamedTuple):
    """Where an object is."""

    bucket: str
    namespace: str
    name: str


class Stored:
    """One version of one object."""

    def __init__(self, document: Document, version: int) -> None:
        self.document = document
        self.version = version

    @cached_property
    def encoded(self) -> bytes:
        """The JSON text, made once for all lists and watches."""
        return json.dumps(self.document, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history; `before` is the version that it replaced."""

    type: EventType
    stored: Stored
    before: Stored | None


class TooOldError(Exception):
    """The asked version is not in the history any more."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class Store:
    """All objects of a cluster.

    Args:
        window: changes kept for each bucket; a watch from before them is told to list again.
    """

    def __init__(self, window: int = 10_000) -> None:
        self.version = FIRST_VERSION
        self._window = window
        self._objects: dict[str, dict[Key, Stored]] = defaultdict(dict)
        self._history: dict[str, deque[Change]] = defaultdict(deque)
        self._forgotten: dict[str, int] = defaultdict(int)
        self._watches: dict[str, set[asyncio.Queue[Change]]] = defaultdict(set)
        self._compacted = 0

    def get(self, key: Key) -> Stored | None:
        """The current version."""
        return self._objects[key.bucket].get(key)

    def objects(self, bucket: str, namespace: str = "") -> list[Stored]:
        """Current objects of a bucket in the order of their keys; all namespaces when none is named."""
        held = self._objects[bucket]
        return [held[key] for key in sorted(held) if not namespace or key.namespace == namespace]

    def keys(self, namespace: str) -> list[Key]:
        """Every object of a namespace."""
        return [key for objects in self._objects.values() for key in objects if key.namespace == namespace]

    def put(self, key: Key, document: Document) -> Stored:
        """Store a document under the next version, which becomes its `metadata.resourceVersion`."""
        before = self.get(key)
        stored = self._next(document)
        self._objects[key.bucket][key] = stored
        self._record(key.bucket, Change(EventType.MODIFIED if before else EventType.ADDED, stored, before))
        return stored

    def delete(self, key: Key, document: Document | None = None) -> Stored:
        """Remove an object; its last state (or `document`) is what watches see, under the next version.

        Raises:
            KeyError: the object is absent.
        """
        before = self._objects[key.bucket].pop(key)
        stored = self._next(document or before.document)
        self._record(key.bucket, Change(EventType.DELETED, stored, before))
        return stored

    def since(self, bucket: str, version: int) -> list[Change]:
        """Changes after a version.

        Raises:
            TooOldError: some of them are forgotten.
        """
        oldest = max(self._forgotten[bucket], self._compacted, FIRST_VERSION)
        if version < oldest:
            raise TooOldError(version, oldest)
        return [change for change in self._history[bucket] if change.stored.version > version]

    def compact(self) -> None:
        """Forget all history: watches from any earlier version must list again."""
        self._compacted = self.version
        self._history.clear()

    @contextmanager
    def subscribe(self, bucket: str) -> Iterator[asyncio.Queue[Change]]:
        """A queue of the changes that happen from now on."""
        queue: asyncio.Queue[Change] = asyncio.Queue()
        self._watches[bucket].add(queue)
        try:
            yield queue
        finally:
            self._watches[bucket].discard(queue)

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return sum(len(queues) for queues in self._watches.values())

    def _next(self, document: Document) -> Stored:
        self.version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self.version)}
        return Stored({**document, "metadata": metadata}, self.version)

    def _record(self, bucket: str, change: Change) -> None:
        history = self._history[bucket]
        history.append(change)
        if len(history) > self._window:
            self._forgotten[bucket] = history.popleft().stored.version
        for queue in self._watches[bucket]:
            queue.put_nowait(change)
