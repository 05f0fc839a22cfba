"""A selective reader of metric texts: Prometheus text 0.0.4 and OpenMetrics.

Engines publish hundreds of lines and we need a few dozen, so only lines of wanted names are parsed; all other lines,
however broken, are passed over. A wanted line that is not well-formed is an error, never a guess.

Source of the grammar: the Prometheus exposition formats and OpenMetrics 1.0; on every well-formed text this reader
agrees with the parsers of `prometheus_client` (property test).
"""

import math
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import groupby, takewhile
from typing import Final

BUCKET: Final = "_bucket"
BOUND: Final = "le"
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_LABEL: Final = re.compile(rf"[ \t]*(?:({_NAME})|{_TEXT})[ \t]*=[ \t]*{_TEXT}[ \t]*([,}}])")
_CLOSE: Final = re.compile(r"[ \t]*}")
_NUMBERS: Final = re.compile(r"[ \t]*([^ \t]+)(?:[ \t]+([^ \t#]+))?[ \t]*(?:[ \t]#.*)?")
_ESCAPE: Final = re.compile(r'\\([\\n"])')
_PLAIN: Final = re.compile(rf"({_NAME})(?:[ \t]*(\{{)|(?=[ \t])|$)")
_QUOTED: Final = re.compile(rf"{{[ \t]*{_TEXT}[ \t]*([,}}])")
_MAX_QUOTE: Final = 120  # a whole bucket line fits in a message; an accidental megabyte does not
_MAX_BOUND: Final = 64  # characters
_MARK: Final = "\ufeff"  # some editors and shells begin a file with it
_MAX_CACHED: Final = 512  # characters; bounds the memory of the cache below to a few MiB
_CACHED_SERIES: Final = 8192  # a text of one engine has some sixty; all engines of one model share them

Labels = tuple[tuple[str, str], ...]
"""Label names with values, sorted: equal for equal series."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A name with labels. Compared by identity: the same text gives the same object while it is remembered.

    So a whole text's series make a cheap key of everything that follows from them; `identity` compares by content.
    """

    name: str
    labels: Labels
    bound: Decimal | None
    """Upper bound of a bucket; None for every other series."""

    @property
    def identity(self) -> tuple[str, Labels]:
        """Equal for equal series."""
        return self.name, self.labels


Sample = tuple[Series, float]
"""One line."""


class MalformedLineError(ValueError):
    """A wanted line that is not well-formed; `line` counts from 1."""

    def __init__(self, line: int, text: str, why: str) -> None:
        self.line = line
        self.text = text
        self.why = why
        super().__init__(f"line {line}: {why}: {text.strip()[:_MAX_QUOTE]!r}")


def read_samples(text: str, wanted: Set[str]) -> tuple[list[Series], list[float]]:
    """Every sample of the wanted names, in the order of the text, duplicates included.

    Args:
        text: a whole exposition; lines end in LF or CRLF.
        wanted: sample names as they stand in the text, suffixes such as `_total` and `_bucket` included; not empty.

    Returns:
        The series, and as many values, which may be NaN, infinite or negative.

    Raises:
        MalformedLineError: a wanted line cannot be read.
    """
    series: list[Series] = []
    values: list[float] = []
    lines = (
        f"\n{text.removeprefix(_MARK)}"  # every line begins behind a line feed, which is what the search is fastest at
    )
    for found in _scanner(frozenset(wanted)).finditer(lines):
        try:
            sample = _sample(found[1], found[2], wanted)
        except ValueError as error:
            number = lines.count("\n", 0, found.start()) + 1
            raise MalformedLineError(number, found[1], str(error)) from None
        if sample is not None:
            series.append(sample[0])
            values.append(sample[1])
    return series, values


@lru_cache(maxsize=16)
def _scanner(wanted: frozenset[str]) -> re.Pattern[str]:
    """Finds the lines that may hold a wanted sample, without a look at the others but for their beginning."""
    return re.compile(rf"\n([ \t]*+(?:({_any_of(sorted(wanted))})(?![a-zA-Z0-9_:])|{{)[^\n]*)")


def _any_of(words: Sequence[str]) -> str:
    """A pattern for sorted words that tries every common beginning once."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(words[0], words[-1], strict=False))
    prefix = "".join(letter for letter, _ in shared)
    rests = [word[len(prefix) :] for word in words]
    if rests == [""]:
        return re.escape(prefix)
    branches = [_any_of(list(group)) if letter else "" for letter, group in groupby(rests, key=lambda rest: rest[:1])]
    # The empty rest sorts first and must be tried last.
    return f"{re.escape(prefix)}(?:{'|'.join(sorted(branches, key=bool, reverse=True))})"


def name_of(line: str) -> str | None:
    """The name that a line begins with; None where a name is not what comes first."""
    found = _PLAIN.match(line)
    return found[1] if found is not None else None


def series_of(head: str) -> Series | None:
    """The series of a sample's line up to the blank before its value; None where the line is not so plain."""
    return _remembered(head) if len(head) <= _MAX_CACHED else None


def _sample(line: str, name: str | None, wanted: Set[str]) -> Sample | None:
    """A line that begins with a wanted name, or with a brace; ValueError says what is wrong with it."""
    # Nearly every line is a series that we met before, one blank and a value.
    head, _, value = line.rpartition(" ")
    series = series_of(head)
    if series is not None:
        return series, _number(value.rstrip("\r"))
    if name is not None and line.startswith("{", len(name)):
        return _labelled(line, name, len(name) + 1)
    return _rare(line.strip(), wanted)


@lru_cache(maxsize=_CACHED_SERIES)
def _remembered(head: str) -> Series | None:
    """The series that is all of this text, if it is one."""
    found = _PLAIN.match(head)
    if found is None:
        return None
    if found[2] is None:
        return _series(found[1], ()) if found.end() == len(head) else None
    try:
        labels, end = _block(head, found.end())
    except ValueError:
        return None
    return _series(found[1], labels) if end == len(head) else None


def _series(name: str, labels: Labels) -> Series:
    """ValueError where a bucket has no bound."""
    return Series(name, labels, _bound(dict(labels).get(BOUND)) if name.endswith(BUCKET) else None)


def _bound(text: str | None) -> Decimal:
    """Exact, as engines may write one bound in two ways; of a size that a float has, so that this costs nothing."""
    if text is None:
        raise ValueError("a bucket has no bound")
    size = _number(text) if len(text) <= _MAX_BOUND else math.nan
    bound = Decimal(text) if not math.isnan(size) else Decimal()
    if math.isnan(size) or math.isinf(size) != bound.is_infinite() or (size == 0) != (bound == 0):
        raise ValueError(f"its bound {text[:40]!r} is not a number of seconds")
    return bound


def _rare(line: str, wanted: Set[str]) -> Sample | None:
    """Lines without labels, with blanks around the name, or with the name in quotes inside the braces."""
    if line[:1] == "{":
        return _quoted(line, wanted)
    found = _PLAIN.match(line)
    if found is None or found[1] not in wanted:
        return None
    if found[2] is not None:
        return _labelled(line, found[1], found.end())
    return _series(found[1], ()), _value(line, found.end(1))


def _quoted(line: str, wanted: Set[str]) -> Sample | None:
    found = _QUOTED.match(line)
    name = _unescape(found[1]) if found is not None else ""
    if found is None or name not in wanted:
        return None
    if found[2] == "}":
        return _series(name, ()), _value(line, found.end())
    return _labelled(line, name, found.end())


def _labelled(line: str, name: str, start: int) -> Sample:
    """A line whose labels begin at `start`, just inside the braces."""
    labels, end = _block(line, start)
    return _series(name, labels), _value(line, end)


def _block(line: str, position: int) -> tuple[Labels, int]:
    """The labels from `position`, just inside the braces, and where their block ends; ValueError says why not."""
    labels: dict[str, str] = {}
    while True:
        found = _LABEL.match(line, position)
        if found is None:
            closing = _CLOSE.match(line, position)  # an empty block, or a comma before the closing brace
            if closing is None:
                raise ValueError('a label is not of the form name="value"')
            return tuple(sorted(labels.items())), closing.end()
        name = found[1] or _unescape(found[2])
        if name in labels or name.startswith("__"):
            raise ValueError(f"label {name!r} is reserved or stands twice")
        labels[name] = _unescape(found[3])
        position = found.end()
        if found[4] == "}":
            return tuple(sorted(labels.items())), position


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def _value(line: str, position: int) -> float:
    """The value behind the name and labels; a timestamp is checked and dropped, an exemplar dropped."""
    rest = line[position:].strip(" \t\r")
    if " " not in rest and "\t" not in rest:
        return _number(rest)
    found = _NUMBERS.fullmatch(rest)
    if found is None:
        raise ValueError("what follows its name is not a value and a timestamp")
    if found[2] is not None:
        _number(found[2])
    return _number(found[1])


def _number(text: str) -> float:
    if text.isascii() and "_" not in text:  # Python's own number syntax allows more than the format does
        try:
            return float(text)
        except ValueError:
            pass
    raise ValueError(f"{text[:40]!r} is not a number" if text else "it has no value")
