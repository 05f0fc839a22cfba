"""Defaults of a scaler's document, taken from the fields of the models: one source for admission and controller.

Works on raw JSON, so that a webhook of an older release keeps members that it does not know. It adds absent members
(a null counts as absent where there is a default), replaces zeros that store a default, and infers `algorithm.type`.
Whatever is malformed stays as it is, for validation to name.
"""

import types
from collections.abc import Mapping
from typing import Any, Final, Union, get_args, get_origin

from pydantic import JsonValue
from pydantic.fields import FieldInfo

from scaler_core.api.base import Wire, has_marker
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_spec import AlgorithmType, ScalerSpec

BLOCKS: Final[Mapping[str, AlgorithmType]] = {
    "proportional": AlgorithmType.PROPORTIONAL,
    "tokenThroughput": AlgorithmType.TOKEN_THROUGHPUT,
    "predictive": AlgorithmType.PREDICTIVE,
}
"""Parameter block of `spec.algorithm` to the type that it belongs to."""


def apply_defaults(document: JsonValue) -> JsonValue:
    """The document as admission stores it; the argument is not changed, and a second application changes nothing."""
    if not isinstance(document, dict) or not isinstance(document.get("spec"), dict):
        return document
    spec = document["spec"]
    assert isinstance(spec, dict)
    return {**document, "spec": _filled(ScalerSpec, _with_type(spec))}


def load(document: JsonValue) -> ModelDeploymentScaler:
    """Read a scaler that may have been stored without admission.

    Raises:
        pydantic.ValidationError: the document is malformed beyond what defaults repair.
    """
    return ModelDeploymentScaler.from_wire(apply_defaults(document))


def nested_model(annotation: Any) -> type[Wire] | None:
    """The model inside an optional or a tuple of models, or None for a plain value."""
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Wire) else None
    if get_origin(annotation) in {Union, types.UnionType, tuple}:
        return next((found for found in map(nested_model, get_args(annotation)) if found is not None), None)
    return None


def _with_type(spec: dict[str, JsonValue]) -> dict[str, JsonValue]:
    algorithm = spec.get("algorithm")
    if algorithm is None:
        algorithm = {}
    if not isinstance(algorithm, dict) or algorithm.get("type") is not None:
        return spec
    blocks = [kind for block, kind in BLOCKS.items() if algorithm.get(block) is not None]
    if len(blocks) > 1:
        return spec
    kind = blocks[0] if blocks else AlgorithmType.TOKEN_THROUGHPUT
    return {**spec, "algorithm": {**algorithm, "type": str(kind)}}


def _filled(model: type[Wire], members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    filled = dict(members)
    for name, field in model.model_fields.items():
        key = field.alias or name
        value = _stored(field, members.get(key))
        if value is not None:
            filled[key] = value
    return filled


def _stored(field: FieldInfo, value: JsonValue) -> JsonValue:
    if value is None or (_is_zero(value) and has_marker(field, "x-zero-stores-default")):
        return _default(field)
    inner = nested_model(field.annotation)
    if inner is None:
        return value
    if isinstance(value, dict):
        return _filled(inner, value)
    if isinstance(value, list):
        return [_filled(inner, entry) if isinstance(entry, dict) else entry for entry in value]
    return value


def _is_zero(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0


def _default(field: FieldInfo) -> JsonValue:
    """The default as JSON; None where there is none to store."""
    match field.default:
        case Wire() as block:
            return _filled(type(block), {})
        case Quantity(text):
            return text
        case str() as text:
            return str(text)  # an enum's member becomes its word
        case bool() | int() as number:
            return number
        case _:
            return None
