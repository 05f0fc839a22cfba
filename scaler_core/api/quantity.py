"""Kubernetes quantities, parsed and compared exactly (never through a float)."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

_NUMBER: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d{1,2}|[KMGTPE]i|[numkMGTPE])?", re.ASCII)
_SUFFIXES: Final[dict[str, Fraction]] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}
MAX_LENGTH: Final = 64  # longer texts are no capacity of anything and only cost time


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Fraction:
    """The exact value of a quantity text such as "100m", "2k", "1e3", "0.1" or "1Ki".

    Raises:
        ValueError: the text is not a quantity.
    """
    found = _NUMBER.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        raise ValueError(f"{text[:MAX_LENGTH]!r} is not a quantity; write a number like 2, 0.5, 500m, 2k or 1e3")
    number, suffix = found[1], found[2] or ""
    if suffix[:1] in {"e", "E"} and suffix not in _SUFFIXES:
        return Fraction(number) * Fraction(10) ** int(suffix[1:])
    return Fraction(number) * _SUFFIXES[suffix]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity as written, with its exact value."""

    text: str

    @classmethod
    def of(cls, value: float | Fraction, digits: int = 3) -> Self:
        """The shortest decimal text of a measured value, rounded to `digits` decimals (status fields)."""
        text = f"{float(value):.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return cls("0" if text in {"-0", ""} else text)

    @property
    def value(self) -> Fraction:
        """The exact value."""
        return parse_quantity(self.text)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def _parse(cls, value: object) -> "Quantity":
        if isinstance(value, Quantity):
            return value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f'{value!r} is not a quantity; write a number in quotes, for example "0.5"')
        text = str(value)
        parse_quantity(text)
        return cls(text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._parse, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
