"""The cache of one kind: frozen values by key, with secondary indexes.

It shows the collection as it was at one resourceVersion, so our own writes can be awaited: once `has_reached` the
version that a write returned, whatever the store says already includes it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from scaler_core.api.meta import ObjectKey

T = TypeVar("T")
_VERSION: Final = re.compile(r"[0-9]{1,39}")  # etcd has 64 bits, and no server more than 128

IndexFunction = Callable[[T], Iterable[Hashable]]
"""The values under which an object is found; none leaves it out of that index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[T]):
    """An object and what its metadata says of its age."""

    value: T
    uid: str
    resource_version: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[T]):
    """What a handler hears: an object before and after; None where there was or is none."""

    key: ObjectKey
    old: T | None
    new: T | None


class Store(Generic[T]):
    """Objects of one kind as of one moment; changed only by its reflector."""

    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._entries: dict[ObjectKey, Entry[T]] = {}
        self._functions = dict(indexes or {})
        self._indexes: dict[str, dict[Hashable, set[ObjectKey]]] = {name: defaultdict(set) for name in self._functions}
        self._version = ""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def resource_version(self) -> str:
        """The moment that the store shows; empty before the first list."""
        return self._version

    def get(self, key: ObjectKey) -> T | None:
        """The object, or None."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def entry(self, key: ObjectKey) -> Entry[T] | None:
        """The object with its uid, resourceVersion and generation, or None."""
        return self._entries.get(key)

    def keys(self) -> tuple[ObjectKey, ...]:
        """All keys in order."""
        return tuple(sorted(self._entries))

    def values(self) -> tuple[T, ...]:
        """All objects in order of their keys."""
        return tuple(self._entries[key].value for key in self.keys())

    def by_index(self, name: str, value: Hashable) -> tuple[T, ...]:
        """Objects that an index function gave this value, in order of their keys."""
        return tuple(self._entries[key].value for key in sorted(self._indexes[name].get(value, ())))

    def has_reached(self, resource_version: str) -> bool:
        """Whether the store includes a write of this kind that returned that resourceVersion.

        Versions of one server grow with every write and are compared as numbers; where one is no number only the
        very same version counts, and the caller's deadline has to end the wait.
        """
        return compare_versions(self._version, resource_version) >= 0

    def has_reached_generation(self, key: ObjectKey, generation: int) -> bool:
        """Whether the object is there with at least that generation."""
        entry = self._entries.get(key)
        return entry is not None and entry.generation >= generation

    def replace(self, entries: Mapping[ObjectKey, Entry[T]], resource_version: str) -> tuple[Change[T], ...]:
        """Take a whole list; the result tells what differs from before, removals first."""
        gone = [self._remove(key) for key in self.keys() if key not in entries]
        changed = [self._put(key, entries[key]) for key in sorted(entries) if self._entries.get(key) != entries[key]]
        self._version = resource_version  # may go back after a restore of the server's storage: the list is the truth
        return (*gone, *changed)

    def put(self, key: ObjectKey, entry: Entry[T]) -> Change[T]:
        """Take one object from a watch."""
        self.advance(entry.resource_version)
        return self._put(key, entry)

    def remove(self, key: ObjectKey, resource_version: str) -> Change[T] | None:
        """Drop one object; None when it was not there."""
        self.advance(resource_version)
        return self._remove(key) if key in self._entries else None

    def advance(self, resource_version: str) -> None:
        """Note that nothing else happened up to that version."""
        if resource_version:
            self._version = resource_version

    def _put(self, key: ObjectKey, entry: Entry[T]) -> Change[T]:
        old = self._entries.get(key)
        if old is not None:
            self._unindex(key, old.value)
        self._entries[key] = entry
        for name, function in self._functions.items():
            for value in function(entry.value):
                self._indexes[name][value].add(key)
        return Change(key=key, old=None if old is None else old.value, new=entry.value)

    def _remove(self, key: ObjectKey) -> Change[T]:
        old = self._entries.pop(key).value
        self._unindex(key, old)
        return Change(key=key, old=old, new=None)

    def _unindex(self, key: ObjectKey, value: T) -> None:
        for name, function in self._functions.items():
            index = self._indexes[name]
            for indexed in function(value):
                index[indexed].discard(key)
                if not index[indexed]:
                    del index[indexed]


def compare_versions(ours: str, theirs: str) -> int:
    """Below, at or above 0 as ours is older than, the same as or newer than theirs; below 0 when unknown."""
    if ours == theirs:
        return 0
    if _is_number(ours) and _is_number(theirs):
        return int(ours) - int(theirs)
    return -1


def _is_number(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None
