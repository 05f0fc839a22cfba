"""What every wire model has in common: camelCase names, frozen values, times as seconds."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo


class Wire(BaseModel):
    """A frozen value with the API's camelCase names; unknown members are ignored, attribute docstrings describe."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        use_attribute_docstrings=True,
    )

    @classmethod
    def from_wire(cls, document: Any) -> Self:
        """Read a decoded JSON document; raises pydantic.ValidationError."""
        return cls.model_validate(document)

    def to_wire(self) -> dict[str, Any]:
        """The JSON document with API names; absent and empty texts say the same, so both are left out.

        Some API servers refuse an empty text in a custom resource as if it were null.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @model_serializer(mode="wrap")
    def _without_empty_texts(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        members: dict[str, Any] = handler(self)
        return {name: value for name, value in members.items() if value != ""}


def is_empty(members: Collection[object]) -> bool:
    """For `exclude_if`: an empty list or map says nothing, and kubectl would show its name with a blank."""
    return not members


def parse_time(value: object) -> object:
    """RFC 3339 text (or an aware datetime) to Unix seconds; anything else is left to pydantic's own error."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, str):
        return _seconds(value)
    return value


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except OverflowError as error:  # a time without a zone, at an end of the calendar
        raise ValueError(f"{text!r} is beyond the calendar") from error


def format_time(seconds: float) -> str:
    """Unix seconds to RFC 3339 in UTC with milliseconds where there are any."""
    moment = datetime.fromtimestamp(round(seconds, 3), UTC)
    text = moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")


Time = Annotated[
    float,
    BeforeValidator(parse_time),
    PlainSerializer(format_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment in Unix seconds; RFC 3339 text on the wire."""


ZERO_STORES_DEFAULT: Final[Any] = Field(json_schema_extra={"x-zero-stores-default": True})
"""Field metadata: admission replaces a zero by the default, as it does an omission."""
INFERRED: Final[Any] = Field(json_schema_extra={"x-inferred": True})
"""Field metadata: admission derives an absent value from its siblings."""


def keyed_by(*members: str) -> Any:
    """Field metadata: a list whose entries the API server identifies by these members (API names)."""
    return Field(json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(members)})


KEYED_BY_NAME: Final[Any] = keyed_by("name")


def has_marker(field: FieldInfo, marker: str) -> bool:
    """Whether a field carries one of the markers above, by its JSON Schema name."""
    return isinstance(field.json_schema_extra, dict) and marker in field.json_schema_extra
