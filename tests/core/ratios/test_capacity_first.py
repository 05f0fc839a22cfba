"""What loaded roles get, and how a transaction finds its way back."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scaler_core.api.scaler_spec import Ratio
from scaler_core.ratios.capacity_first import capacity_first, nearest_feasible
from scaler_core.ratios.components import components
from scaler_core.ratios.propagation import Lattice
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import ratio

PAIR = ratio("prefill", "decode", 0.5, 2)
BOUNDS = {"prefill": (1, 16), "decode": (1, 16)}


def fleet(prefill: int, decode: int) -> dict[str, int]:
    return {"prefill": prefill, "decode": decode}


@pytest.mark.parametrize(
    ("baseline", "current", "bounds", "band", "result"),
    [
        pytest.param((2, 2), (6, 4), BOUNDS, PAIR, (2, 2), id="a legal baseline is restored"),
        pytest.param((1, 4), (6, 4), BOUNDS, PAIR, (2, 4), id="a rollback ends at the least legal counts"),
        pytest.param((8, 2), (2, 2), BOUNDS, PAIR, (4, 2), id="a restore ends at the greatest legal counts"),
        pytest.param((2, 2), (6, 4), {"prefill": (3, 16), "decode": (1, 16)}, PAIR, (3, 2), id="a minimum was raised"),
        pytest.param((8, 8), (2, 2), {"prefill": (1, 5), "decode": (1, 16)}, PAIR, (5, 8), id="a maximum was lowered"),
        pytest.param((2, 6), (6, 2), BOUNDS, ratio("prefill", "decode", 1, 1), (6, 6), id="mixed: capacity first"),
        pytest.param(
            (2, 2), (3, 3), {"prefill": (9, 16), "decode": (1, 16)}, PAIR, None, id="nothing legal in between"
        ),
    ],
)
def test_the_way_back(
    baseline: tuple[int, int],
    current: tuple[int, int],
    bounds: dict[str, tuple[int, int]],
    band: Ratio,
    result: tuple[int, int] | None,
) -> None:
    found = nearest_feasible(fleet(*baseline), fleet(*current), bounds, (band,))
    assert found == (None if result is None else fleet(*result))


@given(
    st.tuples(*[st.integers(1, 8)] * 3),
    st.tuples(*[st.integers(0, 5)] * 3),
    st.sampled_from([(0.5, 2), (0.8, 1.3), (1, 1), (None, 0.75)]),
    st.sampled_from([(0.5, 2), (1.2, 1.6), (0.3333333333, None)]),
)
def test_a_rollback_is_nearest_in_every_role_at_once(
    baseline: tuple[int, ...],
    growth: tuple[int, ...],
    first: tuple[float | None, float],
    second: tuple[float, float | None],
) -> None:
    names = ("a", "b", "c")
    current = tuple(map(sum, zip(baseline, growth, strict=True)))
    bands = (ratio("a", "b", *first), ratio("b", "c", *second))
    between = brute_force.feasible(names, list(zip(baseline, current, strict=True)), bands)
    assume(between)
    bounds = dict.fromkeys(names, (1, 20))
    back = nearest_feasible(
        dict(zip(names, baseline, strict=True)), dict(zip(names, current, strict=True)), bounds, bands
    )
    assert back == dict(zip(names, brute_force.meet(between), strict=True))
    forth = nearest_feasible(
        dict(zip(names, current, strict=True)), dict(zip(names, baseline, strict=True)), bounds, bands
    )
    assert forth == dict(zip(names, brute_force.join(between), strict=True))


def test_the_vector_is_monotone_in_the_wish_and_stays_when_wished_for() -> None:
    lattice = Lattice.of(("a", "b"), [ratio("a", "b", 0.6, 0.7)])
    low, high = [1, 1], [12, 12]
    reached = [capacity_first(lattice, [wish, 1], low, high) or [] for wish in range(14)]
    assert reached[0] == [2, 3]
    for before, after in pairwise(reached):
        assert all(smaller <= larger for smaller, larger in zip(before, after, strict=True))
    assert all(capacity_first(lattice, vector, low, high) == vector for vector in reached)


def test_nothing_feasible_has_no_vector() -> None:
    lattice = Lattice.of(("a", "b"), [ratio("a", "b", 2, 2)])
    assert capacity_first(lattice, [4, 2], [3, 1], [3, 1]) is None


@pytest.mark.parametrize(
    ("ratios", "groups"),
    [
        pytest.param([], [("a",), ("b",), ("c",), ("d",)], id="no ratio, every role alone"),
        pytest.param([ratio("c", "a", 1)], [("a", "c"), ("b",), ("d",)], id="in the order of the roles"),
        pytest.param([ratio("a", "b", 1), ratio("d", "b", 1)], [("a", "b", "d"), ("c",)], id="through a third role"),
        pytest.param([ratio("a", "b", target=1)], [("a", "b"), ("c",), ("d",)], id="a preference connects too"),
        pytest.param([ratio("a", "x", 1)], [("a",), ("b",), ("c",), ("d",)], id="an unknown role connects nothing"),
        pytest.param(
            [ratio("a", "b", 1), ratio("c", "d", 1), ratio("d", "a", 1)], [("a", "b", "c", "d")], id="two groups joined"
        ),
    ],
)
def test_components(ratios: list[Ratio], groups: list[tuple[str, ...]]) -> None:
    assert list(components(["a", "b", "c", "d"], ratios)) == groups
