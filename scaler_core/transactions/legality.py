"""Vectors that transactions may write: inside the bounds and bands of the spec as it stands now."""

from collections.abc import Iterable

from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import Vector
from scaler_core.ratios.bands import broken_caps
from scaler_core.ratios.capacity_first import nearest_feasible
from scaler_core.ratios.components import components


def is_legal(vector: Vector, spec: ScalerSpec) -> bool:
    """Whether every role has bounds and keeps them, and every band holds."""
    bounds = {role.name: (role.min_replicas, role.max_replicas) for role in spec.roles}
    if any(role not in bounds or not bounds[role][0] <= count <= bounds[role][1] for role, count in vector.items()):
        return False
    return all(role in vector for role in bounds) and not broken_caps(spec.ratios, vector)


def component_roles(seeds: Iterable[str], vector: Vector, spec: ScalerSpec) -> frozenset[str]:
    """Every role that a ratio ties to one of the seeds, the seeds included."""
    wanted = set(seeds)
    groups = components(vector, spec.ratios)
    return frozenset(role for group in groups if wanted & set(group) for role in group)


def step_back(baseline: Vector, current: Vector, roles: Iterable[str], spec: ScalerSpec) -> dict[str, int]:
    """`current` with these whole components back at `baseline`, or as near to it as is legal.

    Nearest means between both vectors, role by role. A component with nothing legal in between stays as it is: nothing
    is forced.
    """
    result = dict(current)
    wanted = set(roles)
    bounds = {role.name: (role.min_replicas, role.max_replicas) for role in spec.roles}
    for group in components(current, spec.ratios):
        if not wanted.intersection(group) or not all(role in baseline and role in bounds for role in group):
            continue
        inside = tuple(r for r in spec.ratios if r.numerator_role in group and r.denominator_role in group)
        nearest = nearest_feasible(
            {role: baseline[role] for role in group},
            {role: current[role] for role in group},
            {role: bounds[role] for role in group},
            inside,
        )
        result.update(nearest or {})
    return result
