"""Which defaults a scaler changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from scaler_core.api.scaler_spec import ScalerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDefault:
    """A field that has a default and another value."""

    field: str
    """Path below the object, such as `spec.sampling.intervalSeconds`."""
    value: str
    default: str


def changed_defaults(spec: ScalerSpec) -> tuple[ChangedDefault, ...]:
    """Every field of a spec that differs from its default; fields without one are the user's to give."""
    return tuple(_walk("spec", spec))


def _walk(path: str, model: BaseModel) -> Iterator[ChangedDefault]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        below = f"{path}.{field.alias or to_camel(name)}"
        if isinstance(value, BaseModel):
            yield from _walk(below, value)
        elif isinstance(value, tuple):
            for position, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _walk(f"{below}[{getattr(item, 'name', position)}]", item)
        elif not field.is_required():
            default: Any = field.get_default(call_default_factory=True)
            if default is not None and value != default:
                yield ChangedDefault(field=below, value=str(value), default=str(default))
