"""Events of the core group and of events.k8s.io: one stored object, two spellings."""

from typing import Final

from scaler_sim.apiserver.errors import Document
from scaler_sim.apiserver.resources import Resource

_RENAMED: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_BACK: Final = {core: new for new, core in _RENAMED.items()}


def to_core(document: Document) -> Document:
    """The stored spelling of an events.k8s.io/v1 Event."""
    renamed = {_RENAMED.get(name, name): value for name, value in document.items()}
    return renamed | {"apiVersion": "v1"}


def from_core(document: Document) -> Document:
    """The events.k8s.io/v1 spelling of a stored Event."""
    renamed = {_BACK.get(name, name): value for name, value in document.items()}
    return renamed | {"apiVersion": "events.k8s.io/v1"}


def is_renamed(resource: Resource) -> bool:
    """Whether clients of a resource see the newer spelling."""
    return resource.kind == "Event" and resource.group != ""
