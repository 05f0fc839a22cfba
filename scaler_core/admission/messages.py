"""The form of every line that admission says (one line, printable ASCII, what to do before which rule).

    FIELD[: OLD -> NEW] VERDICT: WHO OWNS IT OR WHY; REMEDY (RULE)

GitOps tools show one line and cut it at its end or after some eighty characters, so the field, the values and the
verdict come first and the remedy is never cut. Text of users appears as it is where it matches a strict pattern, and in
quotes elsewhere.
"""

import json
import re
from collections.abc import Sequence
from itertools import accumulate, takewhile
from textwrap import wrap
from typing import Final

from pydantic import JsonValue

from scaler_core.admission.verdict import Violation

SOFT_LIMIT: Final = 240
HARD_LIMIT: Final = 400
WARNING_LIMIT: Final = 250
"""Characters of one warning: an API server may cut what is longer than 256."""
WARNINGS_LIMIT: Final = 4096
"""Characters of all warnings of an answer, beyond which it cuts."""
MAX_FIELDS: Final = 3
_WORD: Final = re.compile(r"[A-Za-z0-9._:/~+,%-]+\Z", re.ASCII)
_FORBIDDEN: Final = re.compile(r"immutable|map\[", re.IGNORECASE)  # words on which GitOps tools recreate or cut
_LONGEST_WORD: Final = 63
_SHORT: Final = 24
_CONTINUED: Final = " ..."
_LEFT_OUT: Final = "further warnings, and the ends of long ones, are left out; mds validate shows all of them"


def is_word(text: str) -> bool:
    """Whether a user's text may stand in a message as it is."""
    return _WORD.match(text) is not None and _FORBIDDEN.search(text) is None


def word(text: object) -> str:
    """A user's name for a message: as it is where it is plain, else in quotes."""
    if not isinstance(text, str):
        return describe(text)
    if not is_word(text):
        return quoted(text)
    return text if len(text) <= _LONGEST_WORD else f"{text[: _LONGEST_WORD - 3]}..."


def quoted(text: str) -> str:
    """Any text as a JSON string in printable ASCII: blanks as they are, the rest escaped, cut where it is long.

    Quotes inside are escaped, so what a user wrote cannot pass for words of ours.
    """
    letters = [json.dumps(letter)[1:-1] for letter in _FORBIDDEN.sub("?", text[:_LONGEST_WORD])]
    pieces = [piece if piece.isprintable() else f"\\u{ord(piece):04x}" for piece in letters]
    shown = "".join(pieces)
    room = _LONGEST_WORD - len('""')
    if len(shown) > room or len(text) > _LONGEST_WORD:
        kept = takewhile(lambda end: end <= room - len("..."), accumulate(map(len, pieces)))
        shown = "".join(pieces[: len(list(kept))]) + "..."
    return f'"{shown}"'


def plain(text: str) -> str:
    """Our own or a library's few words, made printable, on one line and short."""
    printable = "".join(c if c.isascii() and c.isprintable() else " " for c in text)
    return _FORBIDDEN.sub("?", " ".join(printable.split()))[:_LONGEST_WORD]


def cut(text: str, room: int) -> str:
    """An explanation within so many characters; only explanations are cut, never fields or remedies."""
    return text if len(text) <= room else f"{text[: max(room - 3, 0)]}..."


def describe(value: object) -> str:
    """Any JSON value for a message, short and in ASCII."""
    match value:
        case None | bool():
            return json.dumps(value)
        case int() | float():
            return _number(value)
        case str():
            return word(value)
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            return "an object" if isinstance(value, dict) else "a value"


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) >= 10**_SHORT:
        return "a long number"  # turning thousands of digits into text is refused by Python, too
    return str(value) if isinstance(value, int) else f"{value:g}"


def change(old: JsonValue, new: JsonValue) -> str:
    """A change as `old -> new`."""
    return f"{describe(old)} -> {describe(new)}"


def join(fields: Sequence[str]) -> str:
    """At most three fields, then how many more."""
    shown = ", ".join(fields[:MAX_FIELDS])
    return shown if len(fields) <= MAX_FIELDS else f"{shown} and {len(fields) - MAX_FIELDS} more"


def summary(violations: Sequence[Violation]) -> str:
    """The first violation's line; the fields of others before its rule, as many as fit."""
    first, *rest = violations
    others = [field for field in dict.fromkeys(one.field for one in rest) if field != first.field]
    if not others:
        return first.message
    ending = f" ({first.rule})"
    body = first.message.removesuffix(ending)

    def line(shown: int) -> str:
        more = f" and {len(others) - shown} more" if len(others) > shown else ""
        return f"{body}; also refused: {', '.join(others[:shown])}{more}{ending}"

    most = min(MAX_FIELDS - 1, len(others))
    fitting = next((line(shown) for shown in range(most, 0, -1) if len(line(shown)) <= SOFT_LIMIT), None)
    return fitting or f"{body}; and {len(others)} more fields are refused{ending}"


def several(fields: Sequence[str], rest: str, rule: str) -> str:
    """A line about several fields: as many as leave the line within the soft limit, at least one, and how many more."""

    def line(shown: int) -> str:
        more = f" and {len(fields) - shown} more" if len(fields) > shown else ""
        return f"{', '.join(fields[:shown])}{more} {rest} ({rule})"

    most = min(MAX_FIELDS, len(fields))
    return next((line(shown) for shown in range(most, 1, -1) if len(line(shown)) <= SOFT_LIMIT), line(1))


def warnings(lines: Sequence[str]) -> tuple[str, ...]:
    """Warnings as an API server passes them on whole: long ones go on in a next one, broken at a blank.

    Each begins with its field and values, so where all together are too long, their ends are left out first, then
    whole ones from the end, and the last warning says how to see everything.
    """
    broken = [_broken(line) for line in lines]
    whole = tuple(piece for pieces in broken for piece in pieces)
    if sum(map(len, whole)) <= WARNINGS_LIMIT:
        return whole
    heads = [pieces[0] for pieces in broken]
    room = WARNINGS_LIMIT - len(_LEFT_OUT)
    kept = sum(1 for _ in takewhile(lambda length: length <= room, accumulate(map(len, heads))))
    return (*heads[:kept], _LEFT_OUT)


def _broken(line: str) -> list[str]:
    room = WARNING_LIMIT - len(_CONTINUED)
    *pieces, last = wrap(line, room, subsequent_indent="... ", break_on_hyphens=False) if line else [""]
    return [*(piece + _CONTINUED for piece in pieces), last]


def violation(rule: str, field: str, says: str, *, value: str = "") -> Violation:
    """One broken rule in the form above.

    Args:
        rule: identifier.
        field: path of the field.
        says: verdict, why and remedy, what follows the field and its value; starts with its own punctuation.
        value: the value found or the change.
    """
    shown = f"{field}: {value}" if value else field
    return Violation(field=field, value=value, rule=rule, message=f"{shown}{says} ({rule})")
