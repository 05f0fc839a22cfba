"""Structural schemas: pruning of unknown members, and defaults.

Source: the Kubernetes documentation of structural schemas, field pruning and defaulting.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
_ROOT_MEMBERS: Final = ("apiVersion", "kind", "metadata")


def prune(value: Any, schema: Schema) -> Any:
    """The object without the members that its schema does not know; `apiVersion`, `kind` and `metadata` stay."""
    if not isinstance(value, dict):
        return value
    kept = {name: value[name] for name in _ROOT_MEMBERS if name in value}
    body = {name: member for name, member in value.items() if name not in _ROOT_MEMBERS}
    return {**kept, **_prune(body, schema)}


def _prune(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        return [_prune(item, items) for item in value] if items is not None else value
    if not isinstance(value, dict):
        return value
    if schema.get(EMBEDDED):
        return prune(value, {**schema, EMBEDDED: False})
    pruned = {}
    for name, member in value.items():
        child = member_schema(schema, name)
        if child is not None:
            pruned[name] = _prune(member, child)
        elif schema.get(PRESERVE):
            pruned[name] = member
    return pruned


def member_schema(schema: Schema, name: str) -> Schema | None:
    """The schema of one member of an object, or None when the schema does not declare it."""
    properties = schema.get("properties") or {}
    if name in properties:
        child: Schema = properties[name]
        return child
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return additional
    return {PRESERVE: True} if additional is True else None


def default(value: Any, schema: Schema) -> Any:
    """The value with the defaults of absent members, and of nulls that the schema does not allow."""
    if isinstance(value, list):
        items = schema.get("items")
        return [default(item, items) for item in value] if items else value
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for name, child in (schema.get("properties") or {}).items():
        absent = name not in filled or (filled[name] is None and not child.get("nullable"))
        if absent and "default" in child:
            filled[name] = copy.deepcopy(child["default"])
    for name, member in filled.items():
        known = member_schema(schema, name)
        if known is not None:
            filled[name] = default(member, known)
    return filled
