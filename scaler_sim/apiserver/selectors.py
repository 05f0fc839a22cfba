"""Label and field selectors."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from scaler_sim.apiserver.errors import bad_request
from scaler_sim.apiserver.resources import Resource

Document = dict[str, Any]
Predicate = Callable[[Document], bool]
LabelRule = Callable[[Mapping[str, str]], bool]

_SET: Final = re.compile(r"(?P<key>[^\s!=,()]+)\s+(?P<word>in|notin)\s*\((?P<values>[^)]*)\)")
_PAIR: Final = re.compile(r"(?P<key>[^\s!=,()]+)\s*(?P<sign>==|!=|=)\s*(?P<value>[^\s,()]*)")
_KEY: Final = re.compile(r"(?P<absent>!?)\s*(?P<key>[^\s!=,()]+)")


def select(resource: Resource, query: Mapping[str, str]) -> Predicate:
    """The predicate of a request's `labelSelector` and `fieldSelector`.

    Raises:
        StatusError: 400 for a selector that cannot be read or a field that the resource does not offer.
    """
    labels = label_rules(query.get("labelSelector", ""))
    fields = _field_rules(resource, query.get("fieldSelector", ""))

    def matches(document: Document) -> bool:
        carried = document["metadata"].get("labels") or {}
        return all(rule(carried) for rule in labels) and all(rule(document) for rule in fields)

    return matches


def label_rules(text: str) -> list[LabelRule]:
    """The requirements of a label selector, all of which must hold."""
    return [_label_rule(part.strip()) for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _label_rule(part: str) -> LabelRule:
    if found := _SET.fullmatch(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["word"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _PAIR.fullmatch(part):
        key, value = found["key"], found["value"]
        if found["sign"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _KEY.fullmatch(part):
        key, absent = found["key"], bool(found["absent"])
        return lambda labels: (key in labels) is not absent
    raise bad_request(f"unable to parse requirement: {part}")


def _field_rules(resource: Resource, text: str) -> list[Predicate]:
    return [_field_rule(resource, part.strip()) for part in text.split(",") if part.strip()]


def _field_rule(resource: Resource, part: str) -> Predicate:
    found = _PAIR.fullmatch(part)
    if found is None:
        raise bad_request(f'invalid field selector "{part}"')
    path, value = found["key"], found["value"]
    if path not in {"metadata.name", "metadata.namespace", *resource.selectable}:
        raise bad_request(f"field label not supported: {path}")
    wanted = found["sign"] != "!="
    return lambda document: (_field(document, path) == value) is wanted


def _field(document: Document, path: str) -> str:
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)
