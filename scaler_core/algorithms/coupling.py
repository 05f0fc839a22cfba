"""Roles without a signal of their own take their recommendation from the roles that a ratio connects them to."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from scaler_core.algorithms.wording import number
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Ratio
from scaler_core.model.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tie:
    """One ratio as the coupled role sees it: its count for each replica of the neighbour."""

    neighbour: str
    target: Fraction | None
    least: Fraction | None
    most: Fraction | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Anchor:
    """The count that a band without a target is to be near to."""

    count: int
    text: str

    @classmethod
    def at(cls, current: int) -> Self:
        return cls(count=current, text=f"the count nearest to the current {current}")


def couple(
    signalled: Mapping[str, Recommendation], currents: Mapping[str, int], ratios: Iterable[Ratio]
) -> Mapping[str, Recommendation]:
    """Recommendations of the roles that `signalled` lacks, as far as ratios reach them, over chains too.

    With a target the count is `ceil(target x neighbour)`, with a band alone the nearest to the current count inside
    it, or the least inside it while no neighbour has any load: an idle fleet comes down to its minimum. The largest
    over the neighbours counts. A chain is walked in rounds, so the nearest signal decides.

    Args:
        signalled: Recommendations of the roles that have a signal.
        currents: Current replicas of every role.
        ratios: The spec's ratios.
    """
    ties = {role: tuple(_ties(role, ratios)) for role in currents if role not in signalled}
    known = dict(signalled)
    coupled: dict[str, Recommendation] = {}
    while ties:
        found = {}
        for role, its_ties in ties.items():
            near = [tie for tie in its_ties if tie.neighbour in known]
            if near:
                found[role] = _from_neighbours(near, known, currents[role])
        if not found:
            break
        known.update(found)
        coupled.update(found)
        ties = {role: its_ties for role, its_ties in ties.items() if role not in found}
    return coupled


def _ties(role: str, ratios: Iterable[Ratio]) -> Iterable[_Tie]:
    for ratio in ratios:
        target, least, most = (
            quantity.value if quantity is not None and quantity.value > 0 else None
            for quantity in (ratio.target, ratio.min, ratio.max)
        )
        text = f"{ratio.numerator_role}/{ratio.denominator_role}"
        if ratio.numerator_role == role:
            yield _Tie(neighbour=ratio.denominator_role, target=target, least=least, most=most, text=text)
        elif ratio.denominator_role == role:
            yield _Tie(
                neighbour=ratio.numerator_role,
                target=_inverse(target),
                least=_inverse(most),
                most=_inverse(least),
                text=text,
            )


def _inverse(value: Fraction | None) -> Fraction | None:
    return None if value is None else 1 / value


def _from_neighbours(ties: list[_Tie], known: Mapping[str, Recommendation], current: int) -> Recommendation:
    neighbours = [known[tie.neighbour] for tie in ties]
    is_idle = all(neighbour.demand == 0 for neighbour in neighbours)
    anchor = _Anchor(count=1, text="the least count") if is_idle else _Anchor.at(current)
    answers = [_answer(tie, known[tie.neighbour].replicas, anchor) for tie in ties]
    replicas, message = max(answers, key=lambda answer: answer[0])
    return Recommendation(
        replicas=replicas,
        reason=RoleReason.RATIO_COUPLED,
        message=message,
        holds_scale_down=any(neighbour.holds_scale_down for neighbour in neighbours),
        holds_growth=all(neighbour.holds_growth for neighbour in neighbours),
    )


def _answer(tie: _Tie, neighbour: int, anchor: _Anchor) -> tuple[int, str]:
    wants = f"{tie.neighbour} wants {neighbour}"
    if tie.target is not None:
        replicas = max(1, math.ceil(tie.target * neighbour))
        per_neighbour = f"{number(tie.target)} for each {tie.neighbour}"
        return (
            replicas,
            f"{wants}, ratio {tie.text} prefers {per_neighbour}: ceil({number(tie.target)} x {neighbour}) = {replicas}",
        )
    lowest = 1 if tie.least is None else max(1, math.ceil(tie.least * neighbour))
    highest = anchor.count if tie.most is None else math.floor(tie.most * neighbour)
    replicas = max(lowest, min(anchor.count, highest))
    return replicas, f"{wants}, {anchor.text} within the band of {tie.text} is {replicas}"
