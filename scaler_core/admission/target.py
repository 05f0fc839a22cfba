"""A `ModelDeployment` as the fence reads it: raw JSON, so that no field unknown to this release is lost or misread."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue

from scaler_core.api import ownership

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
DEFAULT_REPLICAS: Final = 1  # what the target's API stores for an omitted or null count


@dataclass(frozen=True, slots=True)
class OddCount:
    """A count that is no integer; equal only to the same JSON text."""

    text: str


Count: TypeAlias = int | OddCount


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFacts:
    """What the fence protects of one role."""

    name: str
    count: Count
    has_instance_type: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """One version of a target."""

    roles: tuple[RoleFacts, ...]
    """In the document's order; a name may appear twice in a malformed document."""
    binding: JsonValue
    """Raw annotation; None is absent."""
    decision: JsonValue
    """Raw annotation; None is absent."""
    is_terminating: bool
    is_poisoned: bool
    """kubectl's record of the last apply contains a scaler annotation."""

    @property
    def counts(self) -> dict[str, Count]:
        """Role name to count."""
        return {role.name: role.count for role in self.roles}


def read(document: Mapping[str, JsonValue]) -> TargetFacts:
    """The facts of a document, however malformed."""
    metadata = _mapping(document.get("metadata"))
    annotations = _mapping(metadata.get("annotations"))
    last_applied = annotations.get(LAST_APPLIED)
    return TargetFacts(
        roles=tuple(_role(entry) for entry in _entries(document)),
        binding=annotations.get(ownership.BINDING),
        decision=annotations.get(ownership.DECISION),
        is_terminating=metadata.get("deletionTimestamp") is not None,
        is_poisoned=isinstance(last_applied, str)
        and (ownership.BINDING in last_applied or ownership.DECISION in last_applied),
    )


def readable_binding(text: JsonValue) -> ownership.Binding | None:
    """The binding, or None where there is none that can be read."""
    try:
        return ownership.parse_binding(text) if isinstance(text, str) else None
    except ownership.UnreadableError:
        return None


def readable_decision(text: JsonValue) -> ownership.DecisionRecord | None:
    """The decision, or None where there is none that can be read."""
    try:
        return ownership.parse_decision(text) if isinstance(text, str) else None
    except ownership.UnreadableError:
        return None


def changed_spec_members(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> list[str]:
    """Names of the members of `spec` that differ when the counts are left out; "roles" for anything in a role."""
    before, after = _without_counts(old), _without_counts(new)
    names = sorted({*before, *after})
    return [name for name in names if _canonical(before.get(name)) != _canonical(after.get(name))]


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _entries(document: Mapping[str, JsonValue]) -> list[JsonValue]:
    roles = _mapping(document.get("spec")).get("roles")
    return roles if isinstance(roles, list) else []


def _role(entry: JsonValue) -> RoleFacts:
    role = _mapping(entry)
    name = role.get("name")
    return RoleFacts(
        name=name if isinstance(name, str) else _canonical(entry),
        count=_count(role.get("replicas")),
        has_instance_type=bool(role.get("instanceType")),
    )


def _count(value: JsonValue) -> Count:
    match value:
        case None:
            return DEFAULT_REPLICAS
        case bool():
            return OddCount(_canonical(value))
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case _:
            return OddCount(_canonical(value))


def _without_counts(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    spec = dict(_mapping(document.get("spec")))
    if isinstance(spec.get("roles"), list):
        spec["roles"] = [
            {key: value for key, value in entry.items() if key != "replicas"} if isinstance(entry, dict) else entry
            for entry in _entries(document)
        ]
    return spec


def _canonical(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)
