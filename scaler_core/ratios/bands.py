"""Ratio specs as exact caps over integer counts, read alike by admission, planning and transactions.

A band on numerator/denominator is two caps of the form "role <= factor x other": its max caps the numerator, its min
caps the denominator. Bounds are widened by one part in 10^9, so that a third written as 0.3333333333 means a third.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from scaler_core.api.scaler_spec import Ratio

TOLERANCE: Final = Fraction(1, 10**9)


class Bound(StrEnum):
    """Which bound of a ratio a cap comes from, spelled as in the spec."""

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """`role <= factor * other` over counts; `factor` is exact, positive and already widened."""

    role: str
    other: str
    factor: Fraction
    ratio: Ratio
    bound: Bound

    @property
    def pair(self) -> str:
        """The ratio's name, `numerator/denominator`."""
        return pair_name(self.ratio)

    @property
    def text(self) -> str:
        """The bound's value as written in the spec."""
        quantity = self.ratio.max if self.bound is Bound.MAX else self.ratio.min
        return str(quantity)

    @property
    def label(self) -> str:
        """The bound in words: `prefill/decode min 0.5`."""
        return f"{self.pair} {self.bound} {self.text}"

    def admits(self, vector: Mapping[str, int]) -> bool:
        """Whether the counts respect this cap."""
        return vector[self.role] <= self.factor * vector[self.other]


def pair_name(ratio: Ratio) -> str:
    """`numerator/denominator`, the name of a ratio in messages and field paths."""
    return f"{ratio.numerator_role}/{ratio.denominator_role}"


def caps_of(ratios: Iterable[Ratio]) -> tuple[Cap, ...]:
    """Every cap of the ratios, in spec order; a ratio with only a target has none.

    Quantities that are not positive are refused by a rule of their own; read here, such a min asks for nothing and such
    a max allows nothing.
    """
    return tuple(cap for ratio in ratios for cap in _caps(ratio))


def broken_caps(ratios: Iterable[Ratio], vector: Mapping[str, int]) -> tuple[Cap, ...]:
    """The caps that a vector violates, in spec order; the vector must name every role of the ratios."""
    return tuple(cap for cap in caps_of(ratios) if not cap.admits(vector))


def _caps(ratio: Ratio) -> Iterator[Cap]:
    numerator, denominator = ratio.numerator_role, ratio.denominator_role
    if ratio.min is not None and ratio.min.value > 0:
        factor = 1 / (ratio.min.value * (1 - TOLERANCE))
        yield Cap(role=denominator, other=numerator, factor=factor, ratio=ratio, bound=Bound.MIN)
    if ratio.max is not None:
        factor = max(TOLERANCE, ratio.max.value * (1 + TOLERANCE))
        yield Cap(role=numerator, other=denominator, factor=factor, ratio=ratio, bound=Bound.MAX)
