"""A simulated loop: what is asked for is reached and kept, or a warning said that pacing makes it impossible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from scaler_core.api.scaler_spec import Behavior, Ratio, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.planning.planner import plan
from scaler_core.ratios.feasibility import Feasible, check
from scaler_core.ratios.mobility import immobilities
from scaler_core.ratios.propagation import Lattice
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import given, ratio, role
from tests.core.planning.strategies import ratios as bands_around

MOST_PODS = 64
Vector = dict[str, int]


@dataclass(frozen=True)
class Fleet:
    bounds: Mapping[str, tuple[int, int]]
    ratios: Sequence[Ratio]
    behavior: Behavior

    def run(self, start: Vector, wish: Vector) -> Vector:
        """Passes with complete signals and satisfied windows until nothing moves any more."""
        vector = start
        for _ in range(4 * MOST_PODS * len(vector)):
            after = self.step(vector, wish)
            if after == vector:
                return vector
            vector = after
        raise AssertionError("the vector never comes to rest")

    def step(self, vector: Vector, wish: Vector) -> Vector:
        """One pass."""
        rows = [role(name, count, wish[name], self.bounds[name]) for name, count in vector.items()]
        return dict(plan(given(rows, self.ratios, self.behavior)).vector)

    def goal(self, wish: Vector) -> Vector:
        """The capacity-first vector inside the bounds alone."""
        names = list(self.bounds)
        every = Lattice.of(names, self.ratios)
        low, high = [self.bounds[n][0] for n in names], [self.bounds[n][1] for n in names]
        greatest = every.greatest(low, high)
        assert greatest is not None
        floor = [max(a, min(wish[n], g)) for a, n, g in zip(low, names, greatest, strict=True)]
        least = every.least(floor, high)
        assert least is not None
        return dict(zip(names, least, strict=True))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Fleet, Vector, Vector]:
    """A feasible spec, a legal start and a constant recommendation; steps are never zero."""
    most = draw(st.sampled_from([10, 10, MOST_PODS]))
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    start = {name: draw(st.integers(1, most)) for name in names}
    bands = draw(bands_around(names, list(start.values())))
    bands = [band for band in bands if brute_force.holds(band, start)]
    bounds = {n: (draw(st.integers(1, count)), draw(st.integers(count, most))) for n, count in start.items()}
    policies = st.none() | st.builds(
        StepPolicy, type=st.sampled_from(StepType), value=st.sampled_from([1, 2, 3, 10, 64])
    )
    behavior = Behavior(
        scale_up=ScaleUp(max_step_replicas=draw(st.integers(1, 6)), step_policy=draw(policies)),
        scale_down=ScaleDown(step_policy=draw(policies)),
    )
    wish = draw(st.just(dict.fromkeys(names, 0)) | st.fixed_dictionaries({n: st.integers(0, most) for n in names}))
    return Fleet(bounds, bands, behavior), start, wish


Case = tuple[Fleet, Vector, Vector]


def reaches(case: Case) -> None:
    fleet, start, wish = case
    if not immobilities(fleet.bounds, tuple(fleet.ratios), fleet.behavior):
        assert fleet.run(start, wish) == fleet.goal(wish)
        idle = check(fleet.bounds, fleet.ratios)
        assert isinstance(idle, Feasible)
        assert fleet.run(start, dict.fromkeys(start, 0)) == dict(idle.least)


@settings(max_examples=150)
@drawn(fleets())
def test_what_is_asked_for_is_reached_and_kept_unless_the_spec_was_warned_about(case: Case) -> None:
    reaches(case)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=20_000)
@drawn(fleets())
def test_what_is_asked_for_is_reached_in_20000_fleets(case: Case) -> None:
    reaches(case)


def rests_at_goals_only(fleet: Fleet) -> bool:
    """Whether, for every wish, the goal is the one legal vector that stays; the loop always comes to rest somewhere."""
    names, box = list(fleet.bounds), list(fleet.bounds.values())
    legal = [dict(zip(names, vector, strict=True)) for vector in brute_force.feasible(names, box, fleet.ratios)]
    wishes = [dict(zip(names, vector, strict=True)) for vector in brute_force.feasible(names, box, ())]
    return all((fleet.step(v, wish) == v) is (v == fleet.goal(wish)) for wish in wishes for v in legal)


def policies(most_pods: int) -> st.SearchStrategy[StepPolicy]:
    pods = st.builds(StepPolicy, type=st.just(StepType.PODS), value=st.integers(1, most_pods))
    return pods | st.builds(StepPolicy, type=st.just(StepType.PERCENT), value=st.sampled_from([34, 50, 67, 100, 200]))


@settings(max_examples=40)
@drawn(
    low=st.sampled_from([0.5, 0.6, 0.75, 1, 1.5, 3]),
    width=st.sampled_from([1, 1.1, 1.3]),
    up=policies(4),
    down=policies(3),
)
def test_a_warning_means_that_some_goal_is_never_reached(
    low: float, width: float, up: StepPolicy, down: StepPolicy
) -> None:
    behavior = Behavior(scale_up=ScaleUp(step_policy=up), scale_down=ScaleDown(step_policy=down))
    fleet = Fleet({"a": (1, 6), "b": (1, 6)}, (ratio("a", "b", low, f"{low * width:.4f}"),), behavior)
    warned = bool(immobilities(fleet.bounds, tuple(fleet.ratios), behavior))
    assert warned is not rests_at_goals_only(fleet)
