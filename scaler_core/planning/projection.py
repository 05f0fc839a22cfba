"""The last stage: one feasible vector for each component, capacity first."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from scaler_core.api.scaler_spec import Ratio
from scaler_core.planning.chain import Constrained
from scaler_core.ratios.capacity_first import capacity_first
from scaler_core.ratios.components import components
from scaler_core.ratios.propagation import Lattice, lattice_of


class Direction(StrEnum):
    """Which way a component may move in one pass."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Where one component goes; `counts` in the order of `members`."""

    lattice: Lattice
    members: tuple[Constrained, ...]
    direction: Direction
    counts: tuple[int, ...]

    @property
    def current(self) -> tuple[int, ...]:
        """The counts before the pass."""
        return tuple(member.view.role.current for member in self.members)


def project(lattice: Lattice, members: tuple[Constrained, ...]) -> Projection:
    """The component's vector.

    It goes up, with the current counts as its floor, when a member asks for more than it has and can get some of it in
    this pass: bounds, guards, steps and the ratios under them allow it. Otherwise the current counts are its ceiling.
    The current vector must be feasible, so there always is a result.

    Source:
        Design 5.5 (capacity first) and 5.6 (direction).
    """
    current = [member.view.role.current for member in members]
    wish = [member.wish for member in members]
    reachable = lattice.greatest(current, [member.ceiling.replicas for member in members]) or current
    grows = any(min(count, most) > now for count, most, now in zip(wish, reachable, current, strict=True))
    lower = current if grows else [member.floor.replicas for member in members]
    upper = reachable if grows else current
    counts = capacity_first(lattice, wish, lower, upper) or current
    direction = Direction.UP if grows else Direction.DOWN
    return Projection(lattice=lattice, members=members, direction=direction, counts=tuple(counts))


@lru_cache(maxsize=1024)
def lattices(roles: tuple[str, ...], ratios: tuple[Ratio, ...]) -> tuple[Lattice, ...]:
    """One lattice for each component, in the order of `roles`."""
    return tuple(lattice_of(group, ratios) for group in components(roles, ratios))
