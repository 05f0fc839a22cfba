"""The lattice of feasible vectors: its greatest and its least member inside a box of counts.

Each cap `x <= a y` has one positive and one negative coefficient, so the greater and the lesser of two feasible
vectors, role by role, are feasible too. Lowering every upper end as far as the caps demand therefore ends at the
greatest feasible vector, raising every lower end at the least, or one end passes the other and nothing is feasible.
There is no search and no limit to it.

Counts are at most 1024, so a factor may be replaced by the largest fraction below it with a denominator of at most
1024: `m <= a y` means `m / y <= a`, and that fraction decides the same for every such `m / y`. Small numbers are fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, Self

from scaler_core.api.scaler_spec import MAX_REPLICAS, Ratio
from scaler_core.ratios.bands import Cap, caps_of

Edge = tuple[int, int, int]
"""(role that is lowered, multiplier, divisor)."""
Edges = tuple[tuple[Edge, ...], ...]
"""Edges by the role whose change they carry on."""

_LAPS_BEFORE_JUMP: Final = 8  # a role lowered that often is being carried round a cycle


@dataclass(frozen=True, slots=True)
class Lattice:
    """The caps among some roles; vectors are sequences of counts in the order of `roles`, each from 0 to 1024."""

    roles: tuple[str, ...]
    caps: tuple[Cap, ...]
    _down: Edges = field(init=False, repr=False, compare=False)
    _up: Edges = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {role: position for position, role in enumerate(self.roles)}
        down: list[list[Edge]] = [[] for _ in self.roles]
        up: list[list[Edge]] = [[] for _ in self.roles]
        for cap in self.caps:
            low, high = index[cap.role], index[cap.other]
            factor = floor_fraction(cap.factor)
            down[high].append((low, factor.numerator, factor.denominator))
            # Raising is lowering of negated counts. A factor of zero lets no count of the capped role exist.
            inverse = 1 / factor if factor else Fraction(2 * MAX_REPLICAS)
            up[low].append((high, inverse.numerator, inverse.denominator))
        object.__setattr__(self, "_down", tuple(map(tuple, down)))
        object.__setattr__(self, "_up", tuple(map(tuple, up)))

    @classmethod
    def of(cls, roles: Sequence[str], ratios: Sequence[Ratio]) -> Self:
        """The lattice of the ratios whose roles are both among `roles`."""
        known = set(roles)
        inside = (r for r in ratios if r.numerator_role in known and r.denominator_role in known)
        return cls(tuple(roles), caps_of(inside))

    def greatest(self, lower: Sequence[int], upper: Sequence[int]) -> list[int] | None:
        """The feasible vector in `[lower, upper]` that is greatest in every role; None where there is none."""
        values = list(upper)
        return values if _tighten(values, lower, self._down) else None

    def least(self, lower: Sequence[int], upper: Sequence[int]) -> list[int] | None:
        """The feasible vector in `[lower, upper]` that is least in every role; None where there is none."""
        values = [-count for count in lower]
        return [-value for value in values] if _tighten(values, [-count for count in upper], self._up) else None

    def raised(self, vector: Sequence[int], position: int, upper: Sequence[int]) -> list[int] | None:
        """The least feasible vector up to `upper` above a feasible one with one more replica of one role."""
        values = [-count for count in vector]
        values[position] -= 1
        found = _tighten(values, [-count for count in upper], self._up, start=(position,))
        return [-value for value in values] if found else None

    def admits(self, vector: Sequence[int]) -> bool:
        """Whether a vector respects every cap."""
        return self.greatest(vector, vector) is not None


@lru_cache(maxsize=1024)
def lattice_of(roles: tuple[str, ...], ratios: tuple[Ratio, ...]) -> Lattice:
    """`Lattice.of`, remembered: a scaler asks for the same one in every pass."""
    return Lattice.of(roles, ratios)


@lru_cache(maxsize=4096)
def floor_fraction(value: Fraction) -> Fraction:
    """The largest fraction not above `value` with a denominator of at most 1024 (a Farey neighbour); value >= 0."""
    if value.denominator <= MAX_REPLICAS:
        return value
    near = value.limit_denominator(MAX_REPLICAS)
    if near <= value:
        return near
    # The left neighbour of p/q among fractions with denominators up to N is (p s - 1) / (q s) reduced: the largest s
    # with q s' - p r' = 1, which the extended Euclidean algorithm finds as the inverse of p modulo q.
    p, q = near.numerator, near.denominator
    inverse = pow(p, -1, q) if q > 1 else 0
    denominator = inverse + (MAX_REPLICAS - inverse) // q * q
    return Fraction((p * denominator - 1) // q, denominator)


def _tighten(values: list[int], floors: Sequence[int], edges: Edges, start: Sequence[int] | None = None) -> bool:
    """Lower `values` in place to their greatest fixed point; False as soon as one falls below its floor.

    `start` names the roles whose values changed since the last fixed point; None means that nothing is known.
    """
    if any(value < floor for value, floor in zip(values, floors, strict=True)):
        return False
    size = len(values)
    causes: list[tuple[int, int, int] | None] = [None] * size
    lowered = [0] * size
    waiting = list(range(size) if start is None else start)
    is_waiting = [role in waiting for role in range(size)]
    while waiting:
        source = waiting.pop()
        is_waiting[source] = False
        for role, multiplier, divisor in edges[source]:
            allowed = values[source] * multiplier // divisor
            if allowed >= values[role]:
                continue
            causes[role] = (source, multiplier, divisor)
            lowered[role] += 1
            if lowered[role] % _LAPS_BEFORE_JUMP == 0:
                allowed = _follow_cycle(role, allowed, floors[role], causes)
            if allowed < floors[role]:
                return False
            values[role] = allowed
            if not is_waiting[role]:
                is_waiting[role] = True
                waiting.append(role)
    return True


def _follow_cycle(role: int, value: int, floor: int, causes: Sequence[tuple[int, int, int] | None]) -> int:
    """Where `value` comes to rest when only the cycle that keeps lowering `role` is followed, round after round.

    The result is never below the fixed point: every lap applies caps that hold. It spares the work on all other edges
    while a nearly neutral cycle (1023/1024) walks down one by one.
    """
    cycle: list[tuple[int, int]] = []
    at = role
    for _ in causes:
        cause = causes[at]
        if cause is None:
            return value
        at, multiplier, divisor = cause
        cycle.append((multiplier, divisor))
        if at == role:
            break
    else:
        return value
    cycle.reverse()
    while value >= floor:
        after = value
        for multiplier, divisor in cycle:
            after = after * multiplier // divisor
        if after >= value:
            break
        value = after
    return value
