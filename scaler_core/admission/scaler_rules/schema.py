"""The shape of a scaler's spec, judged by the very schema of the CRD, in words that name the way out.

The API server asks the mutating endpoint before it checks the schema, so people read these lines instead of its own;
and since the schema keeps unknown fields, this is where a misspelt one is found.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from pydantic import JsonValue

from scaler_core.admission import messages
from scaler_core.admission.rules import Rule, Subject
from scaler_core.admission.scaler_rules import paths
from scaler_core.admission.verdict import Violation
from scaler_core.api import crd
from scaler_core.api.quantity import parse_quantity
from scaler_core.api.scaler_spec import ScalerSpec

SECTION: Final = "Resource"
Schema: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str | int, ...]


def _rule(id_: str, cause: str, remedy: str) -> Rule:
    return Rule(id=id_, subject=Subject.SCALER, section=SECTION, cause=cause, remedy=remedy)


UNKNOWN_FIELD: Final = _rule(
    "unknown-field",
    "A field that the API does not have.",
    "Correct its name or remove it; see kubectl explain mds.spec.",
)
REQUIRED: Final = _rule("required", "A required field is missing.", "Set the field.")
TYPE: Final = _rule("type", "A value of another JSON type.", "Write the type that the message names.")
RANGE: Final = _rule("range", "A number outside of its range.", "Write a number in the range.")
ENUM: Final = _rule("enum", "A word that the field does not know.", "Write one of the words that the message lists.")
LENGTH: Final = _rule("length", "A list or text that is too short or too long.", "Keep within the length.")
NAME: Final = _rule("name", "A text that cannot name a Kubernetes object.", "Use lower-case letters, digits and -.")
QUANTITY: Final = _rule("quantity", "A text that is no quantity.", 'Write a number in quotes such as "0.5" or "2k".')
RULES: Final = (UNKNOWN_FIELD, REQUIRED, TYPE, RANGE, ENUM, LENGTH, NAME, QUANTITY)

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int, float),
    "boolean": (bool,),
}
_ARTICLES: Final = {"object": "an object", "array": "a list", "integer": "an integer without quotes"}


def check(spec: JsonValue) -> tuple[Violation, ...]:
    """Every violation of the schema, in the document's order; `spec` is the raw member, after defaulting."""
    if spec is None:
        return (REQUIRED.broken("spec", " is missing; set it: targetRef, roles and algorithm are needed"),)

    def where(path: Path) -> str:
        return paths.field_path(spec, path)

    return tuple(_node(_schema(), spec, (), where))


@cache
def _schema() -> Schema:
    return crd.structural(ScalerSpec)


Where: TypeAlias = Callable[[Path], str]


def _node(schema: Schema, value: JsonValue, path: Path, where: Where) -> Iterator[Violation]:
    if value is None and schema.get("nullable"):
        return
    if schema.get("x-kubernetes-int-or-string"):
        yield from _quantity(value, where(path))
        return
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and not _is_integer(value)):
        yield _wrong_type(kind, value, where(path))
        return
    if isinstance(value, dict):
        yield from _object(schema, value, path, where)
    elif isinstance(value, list):
        yield from _length(schema, "Items", len(value), value, where(path))
        for position, entry in enumerate(value):
            yield from _node(schema["items"], entry, (*path, position), where)
    else:
        yield from _scalar(schema, value, where(path))


def _is_integer(value: JsonValue) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _wrong_type(kind: str, value: JsonValue, field: str) -> Violation:
    needed = _ARTICLES.get(kind, "true or false without quotes" if kind == "boolean" else "a text in quotes")
    found = {str: "a text", bool: "a truth value", dict: "an object", list: "a list", type(None): "null"}
    says = f" refused: it is {found.get(type(value), 'a number')}; write {needed}"
    return TYPE.broken(field, says, value=messages.describe(value))


def _object(schema: Schema, value: Mapping[str, JsonValue], path: Path, where: Where) -> Iterator[Violation]:
    members = schema["properties"]
    for name in schema.get("required", ()):
        if value.get(name) is None:
            text = members[name]["description"].rstrip(".")
            yield REQUIRED.broken(where((*path, name)), f" is missing; set it: {text[0].lower()}{text[1:]}")
    for name, member in value.items():
        if name not in members:
            yield _unknown(name, list(members), where((*path, name)))
        elif member is not None or name not in schema.get("required", ()):
            yield from _node(members[name], member, (*path, name), where)


def _unknown(name: str, known: list[str], field: str) -> Violation:
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name[:64].lower(), by_lower, n=1)
    way = f"did you mean {by_lower[near[0]]}?" if near else "remove it, or see kubectl explain mds.spec for the fields"
    return UNKNOWN_FIELD.broken(field, f" refused: there is no such field; {way}")


def _scalar(schema: Schema, value: JsonValue, field: str) -> Iterator[Violation]:
    shown = messages.describe(value)
    if "enum" in schema and value not in schema["enum"]:
        near = [word for word in schema["enum"] if word.lower() == str(value).strip().lower()]
        way = f"did you mean {near[0]}?" if near else "write one of them"
        says = f" refused: allowed are {', '.join(schema['enum'])}; {way}"
        yield ENUM.broken(field, says, value=shown)
    if isinstance(value, int | float) and not isinstance(value, bool):
        least, most = schema.get("minimum", value), schema.get("maximum", value)
        if not least <= value <= most:
            says = f" refused: allowed are {least} to {most}; write a number in that range"
            yield RANGE.broken(field, says, value=shown)
    if isinstance(value, str):
        yield from _length(schema, "Length", len(value), value, field)
        if 0 < len(value) <= schema.get("maxLength", 0) and not re.search(schema.get("pattern", ""), value):
            says = " refused: it cannot name an object of Kubernetes; use lower-case letters, digits and -"
            yield NAME.broken(field, says, value=shown)


def _length(schema: Schema, what: str, length: int, value: JsonValue, field: str) -> Iterator[Violation]:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", length)
    if not least <= length <= most:
        unit = "entries" if what == "Items" else "characters"
        says = f" refused: it has {length} {unit}, allowed are {least} to {most}; keep within that"
        yield LENGTH.broken(field, says, value=messages.describe(value))


def _quantity(value: JsonValue, field: str) -> Iterator[Violation]:
    if isinstance(value, float) and not value.is_integer():
        says = " refused: a number with a fraction would be rounded; write it in quotes"
        yield QUANTITY.broken(field, says, value=messages.describe(value))
        return
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        parse_quantity(str(value))
    except ValueError:
        says = ' refused: it is no quantity; write a number in quotes such as "0.5", "500m" or "2k"'
        yield QUANTITY.broken(field, says, value=messages.describe(value))
