"""What the cross-field rules look at, and how they are declared."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue

from scaler_core.admission.rules import Rule, Subject
from scaler_core.admission.verdict import Violation
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import ScalerSpec

_KINDS: Final = {kind.lower(): kind for kind in RoleKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRole:
    """A role of the target as far as rules look."""

    name: str
    kind: RoleKind | None
    """None is a kind that this release does not know."""
    replicas: int
    size: int
    has_command: bool
    is_elastic: bool
    answering: int
    """Pods of one replica that answer with metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a scaler."""

    name: str
    roles: tuple[TargetRole, ...]

    def role(self, name: str) -> TargetRole | None:
        """The role of that name."""
        return next((role for role in self.roles if role.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A scaler whose spec has the right shape, with its target where there is one."""

    spec: ScalerSpec
    target: Target | None = None


Check: TypeAlias = Callable[[Judged], Iterator[Violation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerRule:
    """A rule and the function that finds where it is broken."""

    rule: Rule
    check: Check


def scaler_rule(
    id_: str, *, section: str, cause: str, remedy: str
) -> Callable[[Callable[[Rule, Judged], Iterator[Violation]]], ScalerRule]:
    """Declare a rule by the function that enforces it; the function gets its own rule to break."""
    rule = Rule(id=id_, subject=Subject.SCALER, section=section, cause=cause, remedy=remedy)

    def declare(function: Callable[[Rule, Judged], Iterator[Violation]]) -> ScalerRule:
        return ScalerRule(rule=rule, check=lambda judged: function(rule, judged))

    return declare


def read_target(name: str, document: Mapping[str, JsonValue]) -> Target:
    """A target from its raw document; malformed parts are left out, since its own admission judges them."""
    spec, status = _mapping(document.get("spec")), _mapping(document.get("status"))
    external = {
        entry.get("name")
        for entry in map(_mapping, _sequence(status.get("roles")))
        if _mapping(entry.get("parallelism")).get("loadBalance") == "External"
    }
    roles = tuple(
        _role(entry, is_external=entry["name"] in external)
        for entry in map(_mapping, _sequence(spec.get("roles")))
        if isinstance(entry.get("name"), str)
    )
    return Target(name=name, roles=roles)


def _role(entry: Mapping[str, JsonValue], *, is_external: bool) -> TargetRole:
    size = _integer(entry.get("size"))
    return TargetRole(
        name=str(entry["name"]),
        kind=_KINDS.get(str(entry.get("kind") or RoleKind.SERVER).lower()),
        replicas=_integer(entry.get("replicas")),
        size=size,
        has_command=bool(entry.get("command")),
        is_elastic=entry.get("elasticEp") is not None,
        answering=size if is_external else 1,
    )


def _integer(value: JsonValue) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 else 1


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _sequence(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
