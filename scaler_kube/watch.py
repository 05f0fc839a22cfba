"""Bytes of a watch -> events; no I/O of its own."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from scaler_kube import errors

MAX_LINE_BYTES: Final = 32 * 2**20
"""Twenty times the largest object that etcd stores by default; beyond it the stream is broken."""


class EventType(StrEnum):
    """What happened to the object of an event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing but time: the document holds a resourceVersion to watch from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """One change of a collection."""

    type: EventType
    document: dict[str, Any]

    @property
    def resource_version(self) -> str:
        """Where to watch from after this event."""
        return str(self.document.get("metadata", {}).get("resourceVersion", ""))


async def read_events(request: errors.Request, pieces: AsyncIterator[bytes]) -> AsyncIterator[WatchEvent]:
    """Events of a stream of JSON lines, cut anywhere.

    Raises:
        GoneError: the server has forgotten the moment that was asked for.
        KubeError: the server ended the watch with an error, or sent what is no event.
    """
    async for line in _lines(request, pieces):
        yield parse_event(request, line)


async def _lines(request: errors.Request, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    held: list[bytes] = []  # parts of one line; joined once, so that a huge object costs linear time
    size = 0
    async for piece in pieces:
        *complete, rest = piece.split(b"\n")
        for part in complete:
            line = b"".join([*held, part])
            held, size = [], 0
            if line.strip():
                yield line
        if rest:
            held.append(rest)
            size += len(rest)
        if size > MAX_LINE_BYTES:
            raise errors.UnavailableError(request, "an event is longer than 32 MiB", may_have_happened=False)
    # What is left is half an event of a connection that ended early; the next watch brings it whole.


def parse_event(request: errors.Request, line: bytes) -> WatchEvent:
    """One line of a watch.

    Raises:
        KubeError: the line tells of an error, or is no event.
    """
    try:
        event = json.loads(line)
        kind, document = event["type"], event["object"]
        if kind == "ERROR":
            raise errors.from_answer(request, int(document.get("code", 500)), errors.read_status(document))
        if not isinstance(document, dict):
            raise TypeError(kind)
        return WatchEvent(type=EventType(kind), document=document)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise errors.UnavailableError(request, "a line of the watch is no event", may_have_happened=False) from error
