"""Whether steps are large enough for ratios: a fixed 3:2 pair cannot move by one replica a pass.

Take the least feasible vectors that have one more and one more replica of some role. Between two neighbours v < w of
that chain the role can have no count.

- That role can grow from everywhere exactly if on the chain each `w - v` fits into the growth steps from v: v is the
  least vector with that count, so it has the smallest steps and the longest way.
- Shrinkage of the component never stops early exactly if no role's gap `w - v` exceeds its shrink step from w. (A
  vector that the steps hold at v although the wish is lower is held round a cycle of roles, each at the upper end of
  such a gap.)
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scaler_core.api.scaler_spec import Behavior, Ratio
from scaler_core.ratios.components import components
from scaler_core.ratios.propagation import Lattice

Step = Callable[[int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Immobility:
    """A step policy under which some legal counts can never be left in one direction."""

    field: str
    """`spec.behavior.scaleUp` or `spec.behavior.scaleDown`."""
    role: str
    """The role whose step is too small."""
    step: int
    """Its step from there."""
    at: Mapping[str, int]
    """Counts at which its component is stuck."""
    following: Mapping[str, int]
    """The nearest counts in that direction."""
    needed: int
    """The `Pods` step with which nothing is stuck."""

    @property
    def message(self) -> str:
        """One line: the field, what does not fit, and the remedy."""
        verb = "adds" if self.field.endswith("Up") else "removes"
        if self.step == 0:
            return f"{self.field}.stepPolicy: a step of zero never {verb} a replica; set value {self.needed} or more"
        changes = ", ".join(
            f"{role} {count - self.at[role]:+d}" for role, count in self.following.items() if count != self.at[role]
        )
        start = ", ".join(f"{role}={self.at[role]}" for role in self.at if self.following[role] != self.at[role])
        return (
            f"{self.field}: one pass {verb} at most {self.step} {self.role}, but from {start} the ratios need "
            f"{changes} at once; set stepPolicy type Pods, value {self.needed}"
        )


def immobilities(
    bounds: Mapping[str, tuple[int, int]], ratios: tuple[Ratio, ...], behavior: Behavior
) -> tuple[Immobility, ...]:
    """Where pacing keeps the counts of a feasible spec from ever reaching what is asked for.

    Exact: with complete signals, no abort and a constant recommendation, a spec without any reaches its capacity-first
    vector from every legal vector, and its smallest feasible counts without load. At most one for each component and
    direction. An infeasible component has none; that is told elsewhere.
    """
    found: list[Immobility] = []
    for group in components(bounds, ratios):
        lattice = Lattice.of(group, ratios)
        low, high = [bounds[role][0] for role in group], [bounds[role][1] for role in group]
        least, greatest = lattice.least(low, high), lattice.greatest(low, high)
        if least is None or greatest is None:
            continue
        moves = list(_moves(lattice, least, greatest))
        found.extend(_stuck_upwards(lattice, moves, behavior.scale_up.step))
        found.extend(_stuck_downwards(lattice, moves, behavior.scale_down.step))
    return tuple({immobility.message: immobility for immobility in reversed(found)}.values())[::-1]


@dataclass(frozen=True, slots=True)
class _Move:
    position: int
    """The role that has one more attainable count."""
    start: list[int]
    end: list[int]


def _moves(lattice: Lattice, least: list[int], greatest: list[int]) -> Iterator[_Move]:
    """For each role, the chain of least vectors from its smallest to its largest feasible count."""
    for position in range(len(least)):
        start = least
        while start[position] < greatest[position]:
            end = lattice.raised(start, position, greatest)
            if end is None:
                break
            yield _Move(position, start, end)
            if not lattice.caps:
                break  # one replica at a time, everywhere
            start = end


def _stuck_upwards(lattice: Lattice, moves: list[_Move], step: Step) -> list[Immobility]:
    tight = [
        (move, position)
        for move in moves
        for position, (now, then) in enumerate(zip(move.start, move.end, strict=True))
        if then - now > step(now)
    ]
    if not tight:
        return []
    move, position = tight[0]
    needed = max(then - now for m in moves for now, then in zip(m.start, m.end, strict=True))
    return [
        Immobility(
            field="spec.behavior.scaleUp",
            role=lattice.roles[position],
            step=step(move.start[position]),
            at=dict(zip(lattice.roles, move.start, strict=True)),
            following=dict(zip(lattice.roles, move.end, strict=True)),
            needed=needed,
        )
    ]


def _stuck_downwards(lattice: Lattice, moves: list[_Move], step: Step) -> list[Immobility]:
    gaps = [(move, move.end[move.position] - move.start[move.position]) for move in moves]
    tight = [move for move, gap in gaps if gap > step(move.end[move.position])]
    if not tight:
        return []
    move = tight[0]
    return [
        Immobility(
            field="spec.behavior.scaleDown",
            role=lattice.roles[move.position],
            step=step(move.end[move.position]),
            at=dict(zip(lattice.roles, move.end, strict=True)),
            following=dict(zip(lattice.roles, move.start, strict=True)),
            needed=max(gap for _, gap in gaps),
        )
    ]
