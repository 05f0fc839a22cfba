"""The planner's contract computed by looking at every vector: small on purpose, slow on purpose, shares no code."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from scaler_core.api.scaler_spec import Ratio

Vector = tuple[int, ...]
Box = Sequence[tuple[int, int]]


def holds(ratio: Ratio, vector: Mapping[str, int]) -> bool:
    numerator, denominator = vector[ratio.numerator_role], vector[ratio.denominator_role]
    slack = Fraction(1, 10**9)
    below = ratio.min is not None and Fraction(numerator, denominator) < ratio.min.value * (1 - slack)
    above = ratio.max is not None and Fraction(numerator, denominator) > ratio.max.value * (1 + slack)
    return not (below or above)


def feasible(names: Sequence[str], box: Box, ratios: Sequence[Ratio]) -> list[Vector]:
    """Every vector of the box inside every band; pairs of counts are judged once, then looked up."""
    place = {name: position for position, name in enumerate(names)}
    judged = []
    for ratio in ratios:
        a, b = place[ratio.numerator_role], place[ratio.denominator_role]
        pairs = product(range(box[a][0], box[a][1] + 1), range(box[b][0], box[b][1] + 1))
        good = {(x, y) for x, y in pairs if holds(ratio, {ratio.numerator_role: x, ratio.denominator_role: y})}
        judged.append((a, b, good))
    vectors = product(*(range(low, high + 1) for low, high in box))
    return [v for v in vectors if all((v[a], v[b]) in good for a, b, good in judged)]


def meet(vectors: Sequence[Vector]) -> Vector:
    return tuple(map(min, zip(*vectors, strict=True)))


def join(vectors: Sequence[Vector]) -> Vector:
    return tuple(map(max, zip(*vectors, strict=True)))


def capacity_first(vectors: Sequence[Vector], wish: Vector) -> Vector:
    """The least of the feasible vectors at or above min(wish, G); fails where it is not one of them."""
    most = join(vectors)
    floor = tuple(map(min, zip(wish, most, strict=True)))
    least = meet([v for v in vectors if all(a >= b for a, b in zip(v, floor, strict=True))])
    assert most in vectors
    assert least in vectors
    return least
