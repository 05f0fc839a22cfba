"""Admission's ratio check: always decided, always right, and its way out works."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from scaler_core.api.scaler_spec import Ratio
from scaler_core.ratios.feasibility import Feasible, Infeasible, check
from scaler_core.ratios.remedy import Field, Option
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import ratio

NAMES = ("a", "b", "c", "d")
VALUES = ["0.25", "0.3333333333", "0.5", "0.6666666667", "0.75", "1", "1.3333333333", "1.5", "2", "3", "0.4", "0.45"]
Spec = tuple[dict[str, tuple[int, int]], list[Ratio]]


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Up to four roles with bounds up to 12; narrow bands, fixed ratios, single ends and preferences."""
    names = NAMES[: draw(st.integers(2, 4))]
    bounds = {}
    for name in names:
        low = draw(st.integers(1, 12))
        bounds[name] = (low, draw(st.integers(low, 12)) if draw(st.booleans()) else 12)
    count = draw(st.integers(1, len(names)))
    return bounds, [draw(bands(names)) for _ in range(count)]


@st.composite
def bands(draw: st.DrawFn, names: Sequence[str]) -> Ratio:
    numerator, denominator = draw(st.permutations(names))[:2]
    value = draw(st.sampled_from(VALUES))
    match draw(st.sampled_from(["fixed", "narrow", "wide", "min", "max"])):
        case "fixed":
            return ratio(numerator, denominator, value, value, value)
        case "narrow":
            return ratio(numerator, denominator, f"{float(value) * 0.93:.10f}", f"{float(value) * 1.04:.10f}")
        case "wide":
            return ratio(numerator, denominator, f"{float(value) / 2:.10f}", f"{float(value) * 2:.10f}")
        case "min":
            return ratio(numerator, denominator, low=value)
        case _:
            return ratio(numerator, denominator, high=value)


def exists(bounds: Mapping[str, tuple[int, int]], ratios: Sequence[Ratio]) -> bool:
    return bool(brute_force.feasible(list(bounds), list(bounds.values()), ratios))


def applied(spec: Spec, option: Option) -> Spec:
    """The spec after the edits of one way out."""
    bounds, ratios = dict(spec[0]), list(spec[1])
    for change in option:
        if change.field is Field.MAX_REPLICAS:
            bounds[change.subject] = (bounds[change.subject][0], int(change.value or 0))
        elif change.field is Field.MIN_REPLICAS:
            bounds[change.subject] = (int(change.value or 0), bounds[change.subject][1])
        else:
            ratios = [_edited(band, change.subject, change.field, change.value) for band in ratios]
    return bounds, ratios


def _edited(band: Ratio, subject: str, field: str, value: str | None) -> Ratio:
    if f"{band.numerator_role}/{band.denominator_role}" != subject:
        return band
    low = value if field == "min" else band.min and str(band.min)
    high = value if field == "max" else band.max and str(band.max)
    return ratio(band.numerator_role, band.denominator_role, low, high)


def unique_pairs(ratios: Sequence[Ratio]) -> bool:
    return len({(band.numerator_role, band.denominator_role) for band in ratios}) == len(ratios)


def has_cycle(ratios: Sequence[Ratio]) -> bool:
    edges = {(r.denominator_role, r.numerator_role) for r in ratios if r.min is not None}
    edges |= {(r.numerator_role, r.denominator_role) for r in ratios if r.max is not None}
    for middle in NAMES:
        edges |= {(a, b) for a in NAMES for b in NAMES if (a, middle) in edges and (middle, b) in edges}
    return any((name, name) in edges for name in NAMES)


def verdict(spec: Spec, seen: Counter[str]) -> None:
    bounds, ratios = spec
    result = check(bounds, ratios)
    seen.update(["cases", type(result).__name__, *(["cycle"] if has_cycle(ratios) else [])])
    every = brute_force.feasible(list(bounds), list(bounds.values()), ratios)
    assert isinstance(result, Feasible) is bool(every)
    match result:
        case Feasible():
            assert tuple(result.least.values()) == brute_force.meet(every)
            assert tuple(result.greatest.values()) == brute_force.join(every)
        case Infeasible():
            named = [band for band in ratios if f"{band.numerator_role}/{band.denominator_role}" in result.pairs]
            assert not exists(bounds, named)
            for option in result.ways_out:
                changed = applied(spec, option)
                assert isinstance(check(*changed), Feasible)
                assert all(high <= 1024 for _, high in changed[0].values())
                if max(high for _, high in changed[0].values()) <= 12:
                    assert exists(*changed)
            assert len(result.message) <= 400


def every_verdict(examples: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    legal = specs().filter(lambda spec: unique_pairs(spec[1]))
    settings(max_examples=examples, database=None)(drawn(legal)(lambda spec: verdict(spec, seen)))()
    return seen


def test_the_verdict_is_that_of_a_look_at_every_vector_and_the_way_out_works() -> None:
    every_verdict(300)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_verdict_is_that_of_a_look_at_every_vector_in_20000_cases() -> None:
    seen = every_verdict(20_000)
    for kind in ("Feasible", "Infeasible", "cycle"):
        assert seen[kind] >= 0.3 * seen["cases"], seen


@pytest.mark.parametrize(
    ("bounds", "ratios", "message"),
    [
        pytest.param(
            {"prefill": (1, 3), "decode": (8, 16)},
            [ratio("prefill", "decode", 0.5, 2)],
            "spec.ratios[prefill/decode].min: 0.5 leaves no counts: decode is at least 8, so prefill must reach 4 but "
            "stops at 3; raise prefill maxReplicas to 4 or lower decode minReplicas to 6",
            id="bounds against a min",
        ),
        pytest.param(
            {"prefill": (8, 16), "decode": (1, 3)},
            [ratio("prefill", "decode", high=2)],
            "spec.ratios[prefill/decode].max: 2 leaves no counts: prefill is at least 8, so decode must reach 4 but "
            "stops at 3; raise decode maxReplicas to 4 or lower prefill minReplicas to 6",
            id="bounds against a max",
        ),
        pytest.param(
            {"a": (1, 30), "b": (1, 30), "c": (1, 30)},
            [ratio("a", "b", high=0.5), ratio("b", "c", high=0.5), ratio("c", "a", high=3)],
            "spec.ratios[a/b].max: 0.5 with b/c max 0.5 and c/a max 3 leaves no counts: a is at most 0.5 x b, b is "
            "at most 0.5 x c, c is at most 3 x a, together a at most 0.75 x itself; raise a/b max to 0.6667",
            id="a cycle that multiplies to less than one",
        ),
        pytest.param(
            {"p": (1, 3), "d": (1, 3)},
            [ratio("p", "d", 1.2, 1.4)],
            "spec.ratios[p/d].min: 1.2 with p/d max 1.4 leaves no counts: no whole numbers within p 1 to 3 and d 1 "
            "to 3 have such ratios; raise p maxReplicas to 4",
            id="a band without whole numbers",
        ),
        pytest.param(
            {"p": (4, 3)},
            [],
            "spec.roles[p].minReplicas: 4 is above maxReplicas 3; raise p maxReplicas to 4",
            id="inverted bounds",
        ),
    ],
)
def test_the_message_names_what_cannot_hold_and_the_nearest_change(
    bounds: dict[str, tuple[int, int]], ratios: list[Ratio], message: str
) -> None:
    result = check(bounds, ratios)
    assert isinstance(result, Infeasible)
    assert result.message == message


def test_a_long_cycle_is_told_in_one_line() -> None:
    names = [f"role-{number}" for number in range(10)]
    ring = [ratio(names[i], names[i + 1], high=1) for i in range(9)]
    result = check(dict.fromkeys(names, (1, 1024)), [*ring, ratio(names[9], names[0], high="0.9990234375")])
    assert isinstance(result, Infeasible)
    assert len(result.pairs) == 10
    assert len(result.message) <= 400


@pytest.mark.parametrize(
    ("band", "feasible"),
    [
        pytest.param(ratio("p", "d", low=0), True, id="a min of zero asks for nothing"),
        pytest.param(ratio("p", "d", high=0), False, id="a max of zero allows nothing"),
        pytest.param(ratio("p", "d", high=-1), False, id="a negative max allows nothing"),
        pytest.param(ratio("p", "x", 5, 5), True, id="a role without bounds is another rule's"),
        pytest.param(ratio("p", "p", high=0.5), False, id="half of itself"),
    ],
)
def test_what_other_rules_refuse_is_still_decided(band: Ratio, feasible: bool) -> None:
    result = check({"p": (1, 4), "d": (1, 4)}, [band])
    assert isinstance(result, Feasible) is feasible
