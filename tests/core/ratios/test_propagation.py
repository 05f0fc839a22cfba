"""The greatest and the least feasible vector of a box, and that both come fast."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler_core.api.scaler_spec import Ratio
from scaler_core.ratios.bands import broken_caps
from scaler_core.ratios.propagation import Lattice, floor_fraction
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import ratio

NAMES = ("a", "b", "c", "d")


@st.composite
def bands(draw: st.DrawFn) -> Ratio:
    """Bands anywhere, many of them without any whole-number solution."""
    numerator, denominator = draw(st.permutations(NAMES))[:2]
    middle = draw(st.sampled_from([Fraction(n, d) for n in range(1, 7) for d in range(1, 7)]))
    width = draw(st.sampled_from([Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(3)]))
    return ratio(numerator, denominator, f"{float(middle):.10f}", f"{float(middle * width):.10f}")


@settings(max_examples=300)
@given(st.lists(bands(), max_size=3), st.lists(st.integers(1, 8), min_size=4, max_size=4), st.integers(0, 4))
def test_both_ends_are_what_a_look_at_every_vector_finds(spec: list[Ratio], low: list[int], width: int) -> None:
    lattice = Lattice.of(NAMES, spec)
    high = [count + width for count in low]
    every = brute_force.feasible(NAMES, list(zip(low, high, strict=True)), spec)
    greatest, least = lattice.greatest(low, high), lattice.least(low, high)
    assert greatest == (list(brute_force.join(every)) if every else None)
    assert least == (list(brute_force.meet(every)) if every else None)


def lowered_one_by_one(spec: list[Ratio], upper: list[int]) -> list[int]:
    """The greatest vector as the definition has it: lower whatever breaks a band by one, until nothing does."""
    counts = dict(zip(NAMES, upper, strict=True))
    while broken := broken_caps(spec, counts):
        counts[broken[0].role] -= 1
        if counts[broken[0].role] == 0:
            return [0] * len(NAMES)
    return list(counts.values())


@settings(max_examples=40)
@given(
    st.permutations(NAMES),
    st.integers(0, 3),
    st.sampled_from([(0.97, 0.97), (1.03, 1.03), (0.9, 0.9005), (0.95, 0.9501), (1.04, 1.0401)]),
    st.lists(st.integers(60, 250), min_size=4, max_size=4),
)
def test_long_ways_round_a_cycle_end_where_single_steps_end(
    order: list[str], plain: int, narrow: tuple[float, float], upper: list[int]
) -> None:
    spec = [ratio(order[0], order[1], *narrow)]
    spec += [ratio(order[i], order[i + 1], "0.9999", "1.0001") for i in range(1, 1 + min(plain, 2))]
    slow = lowered_one_by_one(spec, upper)
    assert (Lattice.of(NAMES, spec).greatest([1] * 4, upper) or [0] * 4) == slow


@given(st.fractions(min_value=0, max_value=2000))
def test_a_factor_keeps_its_floor_for_every_count(factor: Fraction) -> None:
    small = floor_fraction(factor)
    assert small.denominator <= 1024
    for count in (1, 2, 3, 7, 64, 500, 1023, 1024):
        assert count * small.numerator // small.denominator == count * factor.numerator // factor.denominator


@pytest.mark.parametrize(
    ("numerator", "denominator", "high", "feasible"),
    [
        pytest.param(3, 9, "0.3333333333", True, id="a third in ten digits is a third"),
        pytest.param(3, 9, "0.33333333", False, id="a third in eight digits is less than a third"),
        pytest.param(1000, 1, "1000", True, id="an exact bound includes its end"),
        pytest.param(1001, 1, "1000", False, id="one above the end is outside"),
    ],
)
def test_the_tolerance_of_a_bound(numerator: int, denominator: int, high: str, feasible: bool) -> None:
    lattice = Lattice.of(("a", "b"), [ratio("a", "b", high=high)])
    assert lattice.admits([numerator, denominator]) is feasible


def test_a_cap_below_every_count_lets_nothing_exist() -> None:
    lattice = Lattice.of(("a", "b"), [ratio("a", "b", high="0.0001")])
    assert lattice.greatest([1, 1], [1024, 1024]) is None
    assert lattice.least([1, 1], [1024, 1024]) is None


@pytest.mark.parametrize("lower", [1, 500])
def test_a_slow_cycle_walks_down_to_its_end(lower: int) -> None:
    names = tuple(f"r{number}" for number in range(10))
    ring = [ratio(names[i], names[i + 1], high=1) for i in range(9)]
    lattice = Lattice.of(names, [*ring, ratio(names[9], names[0], high="0.9990234375")])
    assert lattice.greatest([lower] * 10, [1024] * 10) is None
    assert lattice.least([lower] * 10, [1024] * 10) is None
