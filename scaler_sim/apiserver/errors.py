"""Refusals of the API server, as the `Status` bodies that real clients branch on."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scaler_sim.apiserver.resources import Resource

Document = dict[str, Any]


class CauseType(StrEnum):
    """Why one field was refused."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    UNSUPPORTED = "FieldValueNotSupported"
    MANAGER_CONFLICT = "FieldManagerConflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One refused field."""

    reason: CauseType
    field: str
    message: str

    def to_wire(self) -> Document:
        """As in `status.details.causes`."""
        return {"reason": self.reason.value, "message": self.message, "field": self.field}


class StatusError(Exception):
    """A request that ends with a `Status` of failure; `headers` go with the answer."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Document | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}

    def to_wire(self) -> Document:
        """The body of the answer."""
        body: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        return {key: value for key, value in body.items() if value is not None}


class PageNotFoundError(Exception):
    """A path that no registered API serves: plain text 404, unlike an object that is absent."""


def _details(resource: Resource, name: str) -> Document:
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in details.items() if value}


def not_found(resource: Resource, name: str) -> StatusError:
    """The object is absent."""
    message = f'{resource.group_resource} "{name}" not found'
    return StatusError(404, "NotFound", message, _details(resource, name))


def already_exists(resource: Resource, name: str) -> StatusError:
    """The name is taken."""
    message = f'{resource.group_resource} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(resource, name))


def conflict(resource: Resource, name: str, why: str = "") -> StatusError:
    """The write was based on another version, or a precondition failed."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}'
    return StatusError(409, "Conflict", message, _details(resource, name))


def apply_conflict(causes: Sequence[Cause], message: str) -> StatusError:
    """Server-side apply met fields of other managers."""
    return StatusError(409, "Conflict", message, {"causes": [cause.to_wire() for cause in causes]})


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> StatusError:
    """The object breaks its schema or the rules of metadata."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details: Document = {"name": name, "group": resource.group, "kind": resource.kind}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [cause.to_wire() for cause in causes]
    return StatusError(422, "Invalid", f'{kind} "{name}" is invalid: {listed}', details)


def unprocessable() -> StatusError:
    """A JSON patch that could not be applied, a failed `test` included: a real server tells no more than this."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def bad_request(message: str) -> StatusError:
    """The request itself cannot be read."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """The bearer token belongs to nobody."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Resource, name: str, why: str) -> StatusError:
    """Built-in admission refuses."""
    message = f'{resource.group_resource} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, _details(resource, name))


def method_not_allowed() -> StatusError:
    """The resource does not know the verb."""
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def unsupported_media_type(served: Sequence[str]) -> StatusError:
    """The patch type is not served for this resource."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(served)
    return StatusError(415, "UnsupportedMediaType", message)


def internal(message: str) -> StatusError:
    """The server, or a webhook that it depends on, failed."""
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def expired(message: str) -> StatusError:
    """The asked version is older than the history that is kept."""
    return StatusError(410, "Expired", message)
