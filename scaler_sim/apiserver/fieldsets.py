"""Sets of field paths: what a field manager owns, in the `FieldsV1` form of `metadata.managedFields`.

A path is a tuple of elements in their wire spelling: `f:NAME` for a member, `k:{...}` for an item of a list that is
keyed, `v:...` for an item of a set. Source: the structured-merge-diff library's field path package.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

Path = tuple[str, ...]
FieldSet = frozenset[Path]


def member(name: str) -> str:
    """The element of an object's member."""
    return f"f:{name}"


def keyed(item: Mapping[str, Any], keys: Iterable[str]) -> str:
    """The element of a keyed list's item."""
    return "k:" + json.dumps({key: item.get(key) for key in sorted(keys)}, separators=(",", ":"))


def valued(item: Any) -> str:
    """The element of a set's item."""
    return "v:" + json.dumps(item, separators=(",", ":"))


def to_wire(paths: FieldSet) -> dict[str, Any]:
    """The `fieldsV1` tree; a path that is owned itself and has owned children carries `.`."""
    tree: dict[str, Any] = {}
    for path in sorted(paths):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return {element: _without_lone_dots(child) for element, child in tree.items()}


def _without_lone_dots(node: dict[str, Any]) -> dict[str, Any]:
    if set(node) == {"."}:
        return {}
    return {element: child if element == "." else _without_lone_dots(child) for element, child in node.items()}


def from_wire(tree: Mapping[str, Any]) -> FieldSet:
    """The set of a `fieldsV1` tree."""
    return frozenset(_paths(tree, ()))


def _paths(tree: Mapping[str, Any], prefix: Path) -> Iterable[Path]:
    for element, child in tree.items():
        if element == ".":
            yield prefix
        elif not child:
            yield (*prefix, element)
        else:
            yield from _paths(child, (*prefix, element))


def with_named_parents(paths: FieldSet) -> FieldSet:
    """The set with the objects that hold its members: owning `a.b` counts as owning `a`, but not a list's item."""
    parents = {path[:end] for path in paths for end in range(1, len(path)) if path[end - 1].startswith("f:")}
    return paths | parents


def text(path: Path) -> str:
    """As conflicts name it: `.spec.roles[name="decode"].replicas`."""
    parts = []
    for element in path:
        kind, _, content = element.partition(":")
        if kind == "f":
            parts.append(f".{content}")
        elif kind == "k":
            pairs = ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(content).items())
            parts.append(f"[{pairs}]")
        else:
            parts.append(f"[={content}]")
    return "".join(parts)
