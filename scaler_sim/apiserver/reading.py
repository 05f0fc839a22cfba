"""Reads: one object, pages of a list, and the stream of a watch."""

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from scaler_sim.apiserver import eventkinds, selectors
from scaler_sim.apiserver.calls import Call, is_true
from scaler_sim.apiserver.errors import Document, bad_request, expired, not_found
from scaler_sim.apiserver.resources import Resource
from scaler_sim.apiserver.selectors import Predicate
from scaler_sim.apiserver.storage import Change, EventType, Store, Stored, TooOldError

BOOKMARK_SECONDS: Final = 60.0
"""A real server sends bookmarks once a minute, and one shortly before a watch ends."""
LAST_BOOKMARK_SECONDS: Final = 2.0
WATCH_SECONDS: Final = 1800
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends the list which a watch with `sendInitialEvents` begins with."""
_SNAPSHOTS: Final = 64


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list."""

    items: list[Stored]
    version: int
    token: str
    remaining: int


class Reader:
    """All reads of a cluster."""

    def __init__(self, store: Store, bookmark_seconds: float = BOOKMARK_SECONDS) -> None:
        self._store = store
        self._bookmark_seconds = bookmark_seconds
        self._snapshots: OrderedDict[str, tuple[int, list[Stored]]] = OrderedDict()
        self._next_snapshot = 0

    def get(self, call: Call) -> Stored:
        """One object.

        Raises:
            StatusError: 404.
        """
        stored = self._store.get(call.key)
        if stored is None:
            raise not_found(call.resource, call.name)
        return stored

    def exists(self, call: Call) -> bool:
        """Whether the named object is there."""
        return self._store.get(call.key) is not None

    def page(self, call: Call) -> Page:
        """The objects that a request selects, at most `limit` of them; later pages show the moment of the first.

        Raises:
            StatusError: 400 for a selector, 410 for a `continue` token from before a compaction.
        """
        token = call.query.get("continue", "")
        if token:
            version, items = self._resume(token)
        else:
            matches = selectors.select(call.resource, call.query)
            stored = self._store.objects(call.resource.bucket, call.namespace)
            version, items = self._store.version, [item for item in stored if matches(item.document)]
        limit = int(call.query.get("limit") or 0) or len(items)
        rest = items[limit:]
        return Page(items[:limit], version, self._keep(version, rest) if rest else "", len(rest))

    @staticmethod
    def naming(call: Call, stored: Stored) -> Call:
        """The call that deletes one object of a collection."""
        metadata = stored.document["metadata"]
        named = {"namespace": metadata.get("namespace", ""), "name": metadata["name"], "query": _options(call.query)}
        return replace(call, verb="delete", **named)

    def forget_pages(self) -> None:
        """Expire every `continue` token."""
        self._snapshots.clear()

    def _keep(self, version: int, rest: list[Stored]) -> str:
        self._next_snapshot += 1
        name = str(self._next_snapshot)
        self._snapshots[name] = (version, rest)
        if len(self._snapshots) > _SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return base64.urlsafe_b64encode(json.dumps({"rv": version, "rest": name}).encode()).decode()

    def _resume(self, token: str) -> tuple[int, list[Stored]]:
        try:
            name = json.loads(base64.urlsafe_b64decode(token))["rest"]
        except (ValueError, KeyError, TypeError):
            raise bad_request("continue key is not valid") from None
        if name not in self._snapshots:
            raise expired("The provided continue parameter is too old to display a consistent list result.")
        return self._snapshots[name]

    def watch(self, call: Call) -> AsyncIterator[Document]:
        """Events of the objects that a request selects, until its `timeoutSeconds` are over.

        A version that is forgotten gives one ERROR event with a 410 `Status`, as a real server does.

        Raises:
            StatusError: 400 for a selector or a version that cannot be read.
        """
        matches = selectors.select(call.resource, call.query)
        asked = call.query.get("resourceVersion", "")
        if asked and not asked.isdigit():
            raise bad_request(f'invalid resource version "{asked}"')
        return self._watch(call, int(asked or 0), matches)

    async def _watch(self, call: Call, version: int, matches: Predicate) -> AsyncIterator[Document]:
        streams_list = is_true(call.query.get("sendInitialEvents"))
        with self._store.subscribe(call.resource.bucket) as queue:
            try:
                from_now = streams_list or not version
                past = self._present(call) if from_now else self._store.since(call.resource.bucket, version)
            except TooOldError as error:
                yield {"type": "ERROR", "object": expired(str(error)).to_wire()}
                return
            for change in past:
                for event in _events(call, change, matches):
                    yield event
            if streams_list:
                yield _bookmark(call, self._store.version, {"annotations": {INITIAL_EVENTS_END: "true"}})
            async for event in self._live(call, queue, matches):
                yield event

    def _present(self, call: Call) -> list[Change]:
        stored = self._store.objects(call.resource.bucket, call.namespace)
        return [Change(EventType.ADDED, item, None) for item in stored]

    async def _live(self, call: Call, queue: asyncio.Queue[Change], matches: Predicate) -> AsyncIterator[Document]:
        loop = asyncio.get_running_loop()
        end = loop.time() + int(call.query.get("timeoutSeconds") or WATCH_SECONDS)
        wants_bookmarks = is_true(call.query.get("allowWatchBookmarks"))
        alarm = self._next_alarm(loop.time(), end)
        while loop.time() < end:
            try:
                async with asyncio.timeout_at(alarm):
                    change = await queue.get()
            except TimeoutError:
                if wants_bookmarks and alarm < end:
                    yield _bookmark(call, self._store.version)
                alarm = self._next_alarm(loop.time(), end)
                continue
            for event in _events(call, change, matches):
                yield event

    def _next_alarm(self, now: float, end: float) -> float:
        """When to send a bookmark next; the end of the watch when there is none to send any more."""
        last = end - LAST_BOOKMARK_SECONDS
        return min(now + self._bookmark_seconds, last) if now < last else end


def _options(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name in ("dryRun", "gracePeriodSeconds")}


def _bookmark(call: Call, version: int, extra: Document | None = None) -> Document:
    header = {"kind": call.resource.kind, "apiVersion": call.resource.api_version}
    return {"type": "BOOKMARK", "object": {**header, "metadata": {"resourceVersion": str(version), **(extra or {})}}}


def _events(call: Call, change: Change, matches: Predicate) -> list[Document]:
    """The event of a change as this watch sees it: an object that begins or ceases to match is added or deleted."""
    document = change.stored.document
    if call.namespace and document["metadata"].get("namespace") != call.namespace:
        return []
    is_in = change.type is not EventType.DELETED and matches(document)
    was_in = change.before is not None and matches(change.before.document)
    kind = {(True, False): EventType.ADDED, (True, True): EventType.MODIFIED, (False, True): EventType.DELETED}
    seen = kind.get((is_in, was_in))
    return [{"type": seen.value, "object": present(call.resource, document)}] if seen else []


def present(resource: Resource, document: Document) -> Document:
    """A stored document in the version and spelling of a resource."""
    if eventkinds.is_renamed(resource):
        return eventkinds.from_core(document)
    if document["apiVersion"] == resource.api_version:
        return document
    return {**document, "apiVersion": resource.api_version}
