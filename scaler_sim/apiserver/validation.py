"""Value rules of a structural schema, answered in the words and with the causes of a real server."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from jsonschema import Draft4Validator, validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from scaler_sim.apiserver.errors import Cause, CauseType

Schema = Mapping[str, Any]
Rule = Callable[[Validator, Any, Any, Schema], Iterator[ValidationError] | None]


def _unless_null(rule: Rule) -> Rule:
    """A nullable value that is null breaks no rule."""

    def guarded(validator: Validator, value: Any, instance: Any, schema: Schema) -> Iterator[ValidationError]:
        if not (instance is None and schema.get("nullable")):
            yield from rule(validator, value, instance, schema) or ()

    return guarded


def _int_or_string(_validator: Validator, value: Any, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    if value and (isinstance(instance, bool) or not isinstance(instance, int | str)):
        yield ValidationError("must be of type integer or string", validator="type")


def _list_type(_validator: Validator, value: Any, instance: Any, schema: Schema) -> Iterator[ValidationError]:
    if value == "atomic" or not isinstance(instance, list):
        return
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: list[Any] = []
    for index, item in enumerate(instance):
        identity = {key: item.get(key) for key in keys} if keys and isinstance(item, dict) else item
        if identity in seen:
            yield ValidationError(json.dumps(identity), validator="duplicate", path=[index])
        seen.append(identity)


_RULES: Final[dict[str, Any]] = {
    **{name: _unless_null(rule) for name, rule in Draft4Validator.VALIDATORS.items()},
    "x-kubernetes-int-or-string": _unless_null(_int_or_string),
    "x-kubernetes-list-type": _unless_null(_list_type),
}
# OpenAPI v3 states exclusive bounds as booleans beside `minimum`, which is the form of draft 4.
_OpenApiValidator: Final = validators.extend(Draft4Validator, _RULES)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=64)
def _compiled(text: str) -> Validator:
    validator: Validator = _OpenApiValidator(json.loads(text))
    return validator


def compiled(schema: Schema) -> Validator:
    """A validator of a schema, compiled once for equal schemas."""
    return _compiled(json.dumps(schema, sort_keys=True))


def violations(document: Mapping[str, Any], schema: Schema) -> list[Cause]:
    """What a document breaks, ordered by field."""
    body = {name: member for name, member in document.items() if name not in ("metadata", "apiVersion", "kind")}
    relevant = _without_header(schema)
    causes = [cause for error in compiled(relevant).iter_errors(body) for cause in _causes(error)]
    return sorted(causes, key=lambda cause: cause.field)


def _without_header(schema: Schema) -> Schema:
    header = ("metadata", "apiVersion", "kind")
    properties = {name: child for name, child in (schema.get("properties") or {}).items() if name not in header}
    required = [name for name in schema.get("required") or () if name not in header]
    rest = {key: value for key, value in schema.items() if key not in ("properties", "required")}
    return {**rest, "properties": properties, **({"required": required} if required else {})}


def _causes(error: ValidationError) -> Iterator[Cause]:
    path = field_path(error.absolute_path)
    if error.validator == "required":
        missing = next(name for name in _listed(error) if f"'{name}' is a required" in error.message)
        field = f"{path}.{missing}" if path else missing
        yield Cause(reason=CauseType.REQUIRED, field=field, message="Required value")
        return
    shown = json.dumps(error.instance) if isinstance(error.instance, str | int | float) else _type_name(error.instance)
    if error.validator == "enum":
        allowed = ", ".join(json.dumps(value) for value in _listed(error))
        message = f"Unsupported value: {shown}: supported values: {allowed}"
        yield Cause(reason=CauseType.UNSUPPORTED, field=path, message=message)
    elif error.validator == "duplicate":
        yield Cause(reason=CauseType.DUPLICATE, field=path, message=f"Duplicate value: {error.message}")
    else:
        message = f"Invalid value: {shown}: {path} in body {_sentence(error)}"
        yield Cause(reason=CauseType.INVALID, field=path, message=message)


def _listed(error: ValidationError) -> Sequence[Any]:
    """The value of a rule that is a list, such as `enum`."""
    return error.validator_value if isinstance(error.validator_value, list) else []


_SENTENCES: Final[Mapping[str, str]] = {
    "type": "must be of type {value}: {kind}",
    "minimum": "should be greater than or equal to {value}",
    "maximum": "should be less than or equal to {value}",
    "minLength": "should be at least {value} chars long",
    "maxLength": "should be at most {value} chars long",
    "minItems": "should have at least {value} items",
    "maxItems": "should have at most {value} items",
    "pattern": "should match '{value}'",
}


def _sentence(error: ValidationError) -> str:
    form = _SENTENCES.get(str(error.validator))
    if form is None or error.validator_value is True:
        return str(error.message)
    return form.format(value=error.validator_value, kind=json.dumps(_type_name(error.instance)))


def _type_name(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def field_path(parts: Sequence[str | int]) -> str:
    """`spec.roles[0].name` for ("spec", "roles", 0, "name")."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path
