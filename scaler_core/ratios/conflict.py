"""Which caps cannot hold together: a core from which no cap can be left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Final

from scaler_core.ratios.bands import Cap
from scaler_core.ratios.propagation import Lattice

Bounds = Mapping[str, tuple[int, int]]
"""Role to (minReplicas, maxReplicas)."""
ONE: Final = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Bounds and caps; `lower` and `upper` in the order of `roles`."""

    roles: tuple[str, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    caps: tuple[Cap, ...]

    @classmethod
    def of(cls, bounds: Bounds, caps: Sequence[Cap]) -> "Problem":
        """The problem of a spec; caps among roles without bounds are left to other rules."""
        return cls(
            roles=tuple(bounds),
            lower=tuple(low for low, _ in bounds.values()),
            upper=tuple(high for _, high in bounds.values()),
            caps=tuple(cap for cap in caps if cap.role in bounds and cap.other in bounds),
        )

    def least(self, caps: Sequence[Cap]) -> dict[str, int] | None:
        """The least feasible vector under some caps; None where there is none."""
        found = Lattice(self.roles, tuple(caps)).least(self.lower, self.upper)
        return None if found is None else dict(zip(self.roles, found, strict=True))


def conflict_core(problem: Problem, caps: Sequence[Cap]) -> tuple[Cap, ...]:
    """An irreducible part of infeasible caps: infeasible itself, feasible without any one of its caps.

    Leaving out caps one by one decides each exactly once, so the result needs no search.
    """
    core = list(caps)
    for cap in caps:
        without = [kept for kept in core if kept is not cap]
        if problem.least(without) is None:
            core = without
    return tuple(core)


def as_chain(core: Sequence[Cap]) -> tuple[Cap, ...] | None:
    """The caps in order from the role that is capped first, where they form one chain without a cycle."""
    by_role = {cap.role: cap for cap in core}
    heads = [cap for cap in core if cap.role not in {other.other for other in core}]
    if len(heads) != 1 or len(by_role) != len(core):
        return None
    return _followed(heads[0], by_role, len(core))


def as_shrinking_cycle(core: Sequence[Cap]) -> tuple[Cap, ...] | None:
    """The caps in order round, where they form one cycle whose factors multiply to less than one."""
    by_role = {cap.role: cap for cap in core}
    if len(by_role) != len(core) or prod((cap.factor for cap in core), start=ONE) >= ONE:
        return None
    ordered = _followed(core[0], by_role, len(core))
    return ordered if ordered is not None and ordered[-1].other == core[0].role else None


def _followed(first: Cap, by_role: Mapping[str, Cap], length: int) -> tuple[Cap, ...] | None:
    ordered = [first]
    while len(ordered) < length:
        following = by_role.get(ordered[-1].other)
        if following is None:
            return None
        ordered.append(following)
    return tuple(ordered) if len(set(ordered)) == length else None
