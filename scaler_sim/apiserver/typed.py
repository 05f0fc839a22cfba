"""Documents as server-side apply sees them: which lists merge by key, and what differs between two versions.

Source: the walkers of the structured-merge-diff library (typed package): field set of a value, merge, comparison and
removal of items.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scaler_sim.apiserver import fieldsets
from scaler_sim.apiserver.fieldsets import FieldSet, Path
from scaler_sim.apiserver.structural import Schema, member_schema

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one document to another."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet


def children(value: Any, schema: Schema) -> dict[str, tuple[Any, Schema]] | None:
    """The parts of a value by path element, or None for a scalar or an atomic value."""
    if isinstance(value, dict):
        if schema.get("x-kubernetes-map-type") == "atomic":
            return None
        return {fieldsets.member(name): (member, member_schema(schema, name) or {}) for name, member in value.items()}
    if isinstance(value, list):
        return _items(value, schema)
    return None


def _items(value: list[Any], schema: Schema) -> dict[str, tuple[Any, Schema]] | None:
    kind = schema.get("x-kubernetes-list-type", "atomic")
    item_schema = schema.get("items") or {}
    if kind == "map":
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        defaulted = ({**_key_defaults(item_schema, keys), **item} for item in value if isinstance(item, Mapping))
        named = (fieldsets.keyed(item, keys) for item in defaulted)
        return {element: (item, item_schema) for element, item in zip(named, value, strict=False)}
    if kind == "set":
        return {fieldsets.valued(item): (item, item_schema) for item in value}
    return None


def _key_defaults(item_schema: Schema, keys: Iterable[str]) -> dict[str, Any]:
    properties = item_schema.get("properties") or {}
    return {key: properties[key]["default"] for key in keys if "default" in (properties.get(key) or {})}


def field_set(value: Any, schema: Schema, path: Path = ()) -> FieldSet:
    """The leaves of an applied configuration, items of lists and entries of maps included."""
    return frozenset(_leaves(value, schema, path))


def _leaves(value: Any, schema: Schema, path: Path) -> Iterator[Path]:
    parts = children(value, schema)
    if parts is None:
        yield path
        return
    for element, (part, part_schema) in parts.items():
        below = (*path, element)
        is_entry = element.startswith("f:") and element[2:] not in (schema.get("properties") or {})
        if not element.startswith("f:") or is_entry or part is None or part == {}:
            yield below
        yield from _leaves(part, part_schema, below)


def compare(old: Any, new: Any, schema: Schema) -> Comparison:
    """What changed, leaf by leaf, with the containers that came or went as a whole."""
    found: dict[str, set[Path]] = {"added": set(), "modified": set(), "removed": set()}
    for kind, path in _differences(old, new, schema, ()):
        found[kind].add(path)
    return Comparison(frozenset(found["added"]), frozenset(found["modified"]), frozenset(found["removed"]))


def _differences(old: Any, new: Any, schema: Schema, path: Path) -> Iterator[tuple[str, Path]]:
    if old is not _ABSENT and new is not _ABSENT and old == new:
        return
    before = children(old, schema)
    after = children(new, schema)
    if path and (old is _ABSENT or new is _ABSENT):
        yield ("added" if old is _ABSENT else "removed"), path
    elif before is None or after is None or (not before and not after):
        if path:
            yield "modified", path
        if before is None and after is None:
            return
    nothing: tuple[Any, Schema] = (_ABSENT, {})
    for element in dict.fromkeys([*(before or {}), *(after or {})]):
        old_part, old_schema = (before or {}).get(element, nothing)
        new_part, new_schema = (after or {}).get(element, nothing)
        yield from _differences(old_part, new_part, new_schema or old_schema, (*path, element))


def merge(live: Any, config: Any, schema: Schema) -> Any:
    """The live value with an applied configuration laid over it, keyed items merged in place."""
    mine = children(config, schema)
    theirs = children(live, schema)
    if mine is None or theirs is None:
        return config
    merged = dict(theirs)
    for element, (part, part_schema) in mine.items():
        held = theirs.get(element)
        merged[element] = (merge(held[0], part, part_schema) if held else part, part_schema)
    return rebuild(live, merged)


def rebuild(like: Any, parts: Mapping[str, tuple[Any, Schema]]) -> Any:
    """An object or a list, as `like` is, of the given parts."""
    if isinstance(like, dict):
        return {element[2:]: part for element, (part, _) in parts.items()}
    return [part for part, _ in parts.values()]


def remove(value: Any, paths: FieldSet, schema: Schema, path: Path = ()) -> Any:
    """The value without the items at these paths and everything below them."""
    parts = children(value, schema)
    if parts is None:
        return value
    kept = {
        element: (remove(part, paths, part_schema, (*path, element)), part_schema)
        for element, (part, part_schema) in parts.items()
        if (*path, element) not in paths
    }
    return rebuild(value, kept)
