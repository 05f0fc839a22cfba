"""What no plan ever breaks, in larger cases than every vector could be looked at."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings

from scaler_core.model.plan import PlanInput
from scaler_core.planning.planner import plan
from scaler_core.ratios.components import components
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import recommend
from tests.core.planning.strategies import passes, steps
from tests.core.planning.test_planner_brute_force import allowed


def invariants(case: PlanInput) -> None:
    result = plan(case)
    vector = dict(result.vector)
    now = {role.name: role.current for role in case.roles}
    for role in case.roles:
        count = vector[role.name]
        down, up = steps(case.behavior, role.current)
        assert role.minimum <= count <= role.maximum
        assert role.current - down <= count <= role.current + up
    assert all(brute_force.holds(band, vector) for band in case.ratios)
    by_name = {role.name: role for role in case.roles}
    for group in components(now, case.ratios):
        changes = [vector[name] - now[name] for name in group]
        assert min(changes) >= 0 or max(changes) <= 0
        for name in group:
            low, high = allowed(case, by_name[name], group)
            assert low <= vector[name] <= high
    for name, role_plan in result.roles.items():
        assert role_plan.replicas == vector[name] == role_plan.stages[-1].replicas
        counts = [role_plan.recommended, *(stage.replicas for stage in role_plan.stages)]
        changed = [before != after for before, after in pairwise(counts)]
        assert changed == [bool(stage.message) for stage in role_plan.stages]
        assert changed == [stage.reason is not None for stage in role_plan.stages]
    if result.blocked is not None:
        assert "\n" not in result.blocked.message

    assert plan(case) == result
    turned = replace(case, roles=tuple(reversed(case.roles)), ratios=tuple(reversed(case.ratios)))
    assert dict(plan(turned).vector) == vector


def stays(case: PlanInput) -> None:
    """A vector that is reached and asked for stays."""
    vector = plan(case).vector
    settled = [
        replace(
            role,
            current=vector[role.name],
            recommendation=recommend(vector[role.name]),
            stabilized_up=vector[role.name],
            stabilized_down=vector[role.name],
        )
        for role in case.roles
    ]
    after = plan(replace(case, roles=tuple(settled)))
    assert after.vector == vector
    assert after.blocked is None


FLEETS = passes(most_roles=8, most_replicas=200)
SMALL_FLEETS = passes(most_roles=5, most_replicas=50)


@settings(max_examples=100)
@given(FLEETS)
def test_invariants_of_every_plan(case: PlanInput) -> None:
    invariants(case)


@settings(max_examples=100)
@given(SMALL_FLEETS)
def test_a_vector_that_is_asked_for_stays(case: PlanInput) -> None:
    stays(case)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=20_000)
@given(FLEETS)
def test_invariants_of_20000_plans(case: PlanInput) -> None:
    invariants(case)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=20_000)
@given(SMALL_FLEETS)
def test_20000_vectors_that_are_asked_for_stay(case: PlanInput) -> None:
    stays(case)
