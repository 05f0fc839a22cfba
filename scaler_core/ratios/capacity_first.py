"""The capacity-first vector: loaded roles get what they ask for, the others what the bands then demand."""

from collections.abc import Mapping, Sequence

from scaler_core.api.scaler_spec import Ratio
from scaler_core.ratios.propagation import Lattice, lattice_of


def capacity_first(
    lattice: Lattice, wish: Sequence[int], lower: Sequence[int], upper: Sequence[int]
) -> list[int] | None:
    """The least feasible vector in `[lower, upper]` that is at least `min(wish, G)` in every role.

    G is the greatest feasible vector of the box, so the result exists whenever anything in the box is feasible; it is
    unique, monotone in `wish`, and stays as it is when it is wished for. None where nothing in the box is feasible.
    """
    greatest = lattice.greatest(lower, upper)
    if greatest is None:
        return None
    floor = [max(low, min(count, most)) for low, count, most in zip(lower, wish, greatest, strict=True)]
    return lattice.least(floor, greatest)


def nearest_feasible(
    baseline: Mapping[str, int],
    current: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
    ratios: tuple[Ratio, ...],
) -> dict[str, int] | None:
    """The legal vector nearest to `baseline` on the way back from `current`, for a rollback or a restore.

    Between the two means role by role. Where the baseline is legal it is the result; where one of the two is the
    greater in every role, the result is nearest in every role at once. `bounds` holds (minReplicas, maxReplicas) of
    every role. None where no legal vector lies between them.
    """
    roles = tuple(bounds)
    low = [max(bounds[role][0], min(baseline[role], current[role])) for role in roles]
    high = [min(bounds[role][1], max(baseline[role], current[role])) for role in roles]
    nearest = capacity_first(lattice_of(roles, ratios), [baseline[role] for role in roles], low, high)
    return None if nearest is None else dict(zip(roles, nearest, strict=True))
