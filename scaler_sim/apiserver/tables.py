"""Objects as `kubectl get` prints them: Tables with the printer columns of a definition."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.errors import Document
from scaler_sim.apiserver.resources import Column, Resource

_STEP: Final = re.compile(
    r"\.(?P<name>[^.\[\]]+)|\[\?\(@\.(?P<key>[\w.]+)\s*==\s*[\"'](?P<value>[^\"']*)[\"']\)\]"
    r"|\[(?P<index>-?\d+|\*)\]|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
)
_NAME: Final = Column(name="Name", type="string", path=".metadata.name", description="Name of the object")
_AGE: Final = Column(name="Age", type="date", path=".metadata.creationTimestamp", description="Age of the object")
_BUILT_IN: Final = {
    "Pod": (
        Column(name="Status", type="string", path=".status.phase"),
        _AGE,
        Column(name="IP", type="string", path=".status.podIP", priority=1),
        Column(name="Node", type="string", path=".spec.nodeName", priority=1),
    ),
    "Namespace": (Column(name="Status", type="string", path=".status.phase"), _AGE),
    "Lease": (Column(name="Holder", type="string", path=".spec.holderIdentity"), _AGE),
    "Event": (
        Column(name="Last Seen", type="date", path=".metadata.creationTimestamp"),
        Column(name="Type", type="string", path=".type"),
        Column(name="Reason", type="string", path=".reason"),
        Column(name="Object", type="string", path=".involvedObject.name"),
        Column(name="Message", type="string", path=".message"),
    ),
    "CustomResourceDefinition": (Column(name="Created At", type="string", path=".metadata.creationTimestamp"),),
}


def columns(resource: Resource) -> tuple[Column, ...]:
    """The columns of a resource, the name first."""
    return (_NAME, *(resource.columns or _BUILT_IN.get(resource.kind, (_AGE,))))


def table(resource: Resource, documents: Iterable[Document], metadata: Document, clock: Clock) -> Document:
    """A meta.k8s.io/v1 Table of objects.

    Args:
        resource: whose columns are shown.
        documents: the objects, one row each.
        metadata: list metadata (`resourceVersion`, `continue`).
        clock: by which ages are told.
    """
    shown = columns(resource)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in shown],
        "rows": [_row(document, shown, clock) for document in documents],
    }


def _definition(column: Column) -> Document:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column is _NAME else "",
        "description": column.description or f"Custom resource definition column (in JSONPath format): {column.path}",
        "priority": column.priority,
    }


def _row(document: Document, shown: Sequence[Column], clock: Clock) -> Document:
    partial = partial_metadata(document)
    return {"cells": [cell(document, column, clock) for column in shown], "object": partial}


def partial_metadata(document: Document) -> Document:
    """A PartialObjectMetadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": document["metadata"]}


def cell(document: Document, column: Column, clock: Clock) -> Any:
    """The value of one cell; an absent one is null, except that a date is then unknown."""
    found = json_path(document, column.path)
    if not found:
        return "<unknown>" if column.type == "date" else None
    value = found[0]
    if column.type == "date":
        return age(clock.age(str(value)))
    if column.type == "string":
        return value if isinstance(value, str) else json.dumps(value)
    return value


def json_path(document: Any, path: str) -> list[Any]:
    """What a simple JSONPath finds: members, indices, `[*]` and `[?(@.key=="value")]`.

    Raises:
        ValueError: another construct.
    """
    found, position = [document], 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise ValueError(f"JSONPath {path!r} is not understood from {path[position:]!r} on")
        found = [item for value in found for item in _descend(value, step)]
        position = step.end()
    return [item for item in found if item is not None]


def _descend(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["name"] or step["quoted"]
    if name is not None:
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return []
    if step["index"] == "*":
        return value
    if step["index"] is not None:
        index = int(step["index"])
        return value[index : index + 1 or None]
    return [item for item in value if isinstance(item, dict) and str(item.get(step["key"])) == step["value"]]


_UNITS: Final = (("s", 1), ("m", 60), ("h", 3600), ("d", 86_400))
_FORMS: Final = (
    (120, "s", ""),
    (600, "m", "s"),
    (3 * 3600, "m", ""),
    (8 * 3600, "h", "m"),
    (48 * 3600, "h", ""),
    (8 * 86_400, "d", "h"),
)
"""Below so many seconds: the unit, and the smaller one beside it."""


def age(seconds: float) -> str:
    """A duration as kubectl prints it: two units while the larger is small."""
    whole = max(0, int(seconds))
    sizes = dict(_UNITS)
    unit, beside = next(((unit, beside) for limit, unit, beside in _FORMS if whole < limit), ("d", ""))
    small = whole % sizes[unit] // sizes[beside] if beside else 0
    return f"{whole // sizes[unit]}{unit}" + (f"{small}{beside}" if small else "")
