"""What admission asks and what it answers: values only, no HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from pydantic import JsonValue


class Operation(StrEnum):
    """The operations that are judged; others pass."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One write as the API server describes it; the documents are raw JSON."""

    operation: Operation
    user: str
    """The user name that the API server authenticated (an impersonated one where there is impersonation)."""
    is_dry_run: bool = False
    namespace: str
    name: str
    """Empty for a generated name that is not drawn yet."""
    old: Mapping[str, JsonValue] = field(default_factory=dict)
    """The stored object; empty on CREATE."""
    new: Mapping[str, JsonValue]
    """The object as it would be stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One broken rule."""

    field: str
    """Path of the field, list entries by name: `spec.roles[decode].maxReplicas`."""
    value: str
    """The value found, or the change as `old -> new`; empty where a value says nothing."""
    rule: str
    """Identifier in the registry."""
    message: str
    """The whole line for people, the rule in brackets at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The write may be stored."""

    warnings: tuple[str, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    """RFC 6902 operations of a mutating answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The write breaks rules."""

    violations: tuple[Violation, ...]
    """At least one; the first is the one that people are told."""
    warnings: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """The rule of the line for people."""
        return self.violations[0].rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The write cannot be judged now (a read failed); the client may try again."""

    violation: Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsLookup:
    """The verdict depends on an object that must be read afresh."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The object exists."""

    document: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Absent:
    """The API server says by name that the object does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """The read failed, so nothing is known."""

    reason: str
    """A few printable words, for example "timeout after 3 s"."""


Verdict: TypeAlias = Allowed | Denied | Undecided | NeedsLookup
Lookup: TypeAlias = Found | Absent | Unread
