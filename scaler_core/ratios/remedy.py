"""The nearest change that makes an infeasible spec feasible; each is computed to work, not guessed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor
from typing import Final

from scaler_core.api.scaler_spec import MAX_REPLICAS
from scaler_core.ratios.bands import TOLERANCE, Bound, Cap
from scaler_core.ratios.conflict import Problem, conflict_core
from scaler_core.ratios.propagation import Lattice, floor_fraction

_LISTED: Final = 3  # more changes than this do not fit into one line beside an alternative
_DECIMALS: Final = 10**4
_NEIGHBOUR: Final = Fraction(1, 2 * MAX_REPLICAS**2)  # less than the distance of any two ratios of counts


class Field(StrEnum):
    """What a change edits, spelled as in the spec."""

    MIN_REPLICAS = "minReplicas"
    MAX_REPLICAS = "maxReplicas"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit: of a role's bound, or of a ratio's bound (`value` None removes it)."""

    subject: str
    """The role, or the ratio as `numerator/denominator`."""
    field: Field
    value: str | None

    @property
    def text(self) -> str:
        """The edit in imperative words."""
        if self.value is None:
            return f"remove {self.subject} {self.field}"
        verb = "raise" if self.field in {Field.MAX_REPLICAS, Field.MAX} else "lower"
        return f"{verb} {self.subject} {self.field} to {self.value}"


Option = tuple[Change, ...]
"""Edits that work together."""


def options(problem: Problem) -> tuple[Option, ...]:
    """Ways out of an infeasible problem, the one with the fewest edits first; each alone makes it feasible.

    With the floors as they are, a spec is feasible exactly if the least feasible vector above them fits under the
    ceilings, so raising the ceilings to that vector is the smallest change of ceilings; and the other way round. Where
    the ratios leave no counts from 1 to 1024 at all, ratios are loosened.
    """
    found = [option for option in (_raised(problem), _lowered(problem)) if option is not None]
    if not found:
        return (_loosened(problem),)
    found.sort(key=len)
    return tuple(found) if sum(map(len, found)) <= _LISTED else (found[0],)


def _raised(problem: Problem) -> Option | None:
    lattice = Lattice(problem.roles, problem.caps)
    needed = lattice.least(problem.lower, [MAX_REPLICAS] * len(problem.roles))
    if needed is None:
        return None
    rows = zip(problem.roles, problem.upper, needed, strict=True)
    return tuple(
        Change(subject=role, field=Field.MAX_REPLICAS, value=str(count)) for role, high, count in rows if count > high
    )


def _lowered(problem: Problem) -> Option | None:
    most = Lattice(problem.roles, problem.caps).greatest([1] * len(problem.roles), problem.upper)
    if most is None:
        return None
    rows = zip(problem.roles, problem.lower, most, strict=True)
    return tuple(
        Change(subject=role, field=Field.MIN_REPLICAS, value=str(count)) for role, low, count in rows if count < low
    )


def _loosened(problem: Problem) -> Option:
    """Loosen the cap that needs the least of it; where several conflicts overlap, drop caps until one is left."""
    dropped: list[Cap] = []
    kept = list(problem.caps)
    while True:
        core = conflict_core(problem, kept)
        single = [cap for cap in core if problem.least([other for other in kept if other is not cap]) is not None]
        if single:
            best = min((_tightest(problem, kept, cap) for cap in single), key=lambda pair: pair[0])
            return (*(_removal(cap) for cap in dropped), best[1])
        dropped.append(core[0])
        kept.remove(core[0])


def _tightest(problem: Problem, caps: Sequence[Cap], cap: Cap) -> tuple[Fraction, Change]:
    """By which factor a cap must be loosened at least, and the edit: bisection over the ratios that counts can have."""
    others = [other for other in caps if other is not cap]
    low, high = cap.factor, _attained(problem, others, cap)
    while high is not None and floor_fraction(high - _NEIGHBOUR) > low:
        middle = floor_fraction((low + high) / 2)
        middle = middle if middle > low else floor_fraction(high - _NEIGHBOUR)
        nearer = _attained(problem, [*others, replace(cap, factor=middle)], cap)
        if nearer is None:
            low = middle
        else:
            high = nearer
    assert high is not None  # the caller knows that the problem is feasible without the cap
    return high / cap.factor, _loosening(cap, high)


def _attained(problem: Problem, caps: Sequence[Cap], cap: Cap) -> Fraction | None:
    vector = problem.least(caps)
    return None if vector is None else Fraction(vector[cap.role], vector[cap.other])


def _loosening(cap: Cap, factor: Fraction) -> Change:
    """The edit that lets `role / other` reach `factor`, rounded outwards to four decimals."""
    if cap.bound is Bound.MAX:
        return Change(subject=cap.pair, field=Field.MAX, value=_decimal(ceil(factor / (1 + TOLERANCE) * _DECIMALS)))
    lowest = floor(1 / factor * _DECIMALS)
    return Change(subject=cap.pair, field=Field.MIN, value=_decimal(lowest)) if lowest else _removal(cap)


def _removal(cap: Cap) -> Change:
    return Change(subject=cap.pair, field=Field(cap.bound), value=None)


def _decimal(ten_thousandths: int) -> str:
    return f"{ten_thousandths / _DECIMALS:.4f}".rstrip("0").rstrip(".")
