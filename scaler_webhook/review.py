"""AdmissionReview bytes in, AdmissionReview bytes out; whatever comes in, the answer carries its UID.

Refusals are 403 and "cannot judge now" is 503 without a hint when to retry: on 409 and 422 kubectl and GitOps tools
delete and recreate, and on a hint client-go hammers.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from scaler_core.admission import messages, registry
from scaler_core.admission.verdict import Allowed, Denied, Operation, Request, Undecided, Violation

API_VERSION: Final = "admission.k8s.io/v1"
REFUSED: Final = 403
NOT_NOW: Final = 503
_UID: Final = re.compile(rb'"uid"\s*:\s*"([0-9A-Za-z-]{1,64})"')
_HEAD_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A request that can be judged."""

    uid: str
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class PassThrough:
    """A request that nothing is decided about: another operation or a subresource."""

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """What cannot be judged; the UID is empty only where the body shows none."""

    uid: str
    reason: str


class _MalformedError(ValueError):
    """Why a body is no review."""


def parse(body: bytes) -> Review | PassThrough | Malformed:
    """Read a body, however broken."""
    try:
        document = _decode(body)
    except RecursionError:
        return Malformed(uid=visible_uid(body), reason="it is nested too deeply")
    except ValueError:
        return Malformed(uid=visible_uid(body), reason="it is not JSON")
    try:
        return _read(document)
    except _MalformedError as error:
        return Malformed(uid=_uid(document) or visible_uid(body), reason=str(error))


def _decode(body: bytes) -> Any:
    """Decode fast, or as leniently as the standard library: lone surrogates, not-a-number, greater depths."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return json.loads(body)


def visible_uid(body: bytes) -> str:
    """The request's UID from the first bytes of a body that cannot be parsed."""
    found = _UID.search(body[:_HEAD_BYTES])
    return found[1].decode("ascii") if found else ""


def malformed(reason: str) -> Denied:
    """The refusal of what cannot be judged."""
    says = f" refused: {messages.plain(reason)}, so it cannot be judged; check the webhook's registration"
    return Denied(violations=(registry.REVIEW.broken("request", says),))


def render(uid: str, verdict: Allowed | Denied | Undecided) -> bytes:
    """The answer to a request."""
    response = {"uid": uid, **_response(verdict)}
    return json.dumps({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response}).encode()


def _response(verdict: Allowed | Denied | Undecided) -> dict[str, Any]:
    match verdict:
        case Allowed(warnings=warnings, patch=patch):
            return {"allowed": True, **_warnings(warnings), **_patch(patch)}
        case Denied(violations=violations, warnings=warnings):
            status = _status(REFUSED, "Forbidden", messages.summary(violations), *violations)
            return {"allowed": False, "status": status, **_audit(verdict.rule), **_warnings(warnings)}
        case Undecided(violation=violation):
            status = _status(NOT_NOW, "ServiceUnavailable", violation.message, violation)
            return {"allowed": False, "status": status, **_audit(violation.rule)}


def _patch(operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not operations:
        return {}
    text = json.dumps([dict(operation) for operation in operations], separators=(",", ":"))
    return {"patchType": "JSONPatch", "patch": base64.b64encode(text.encode()).decode("ascii")}


def _warnings(lines: Sequence[str]) -> dict[str, Any]:
    return {"warnings": list(messages.warnings(lines))} if lines else {}


def _audit(rule: str) -> dict[str, Any]:
    return {"auditAnnotations": {"rule": rule}}


def _status(code: int, reason: str, message: str, *violations: Violation) -> dict[str, Any]:
    causes = [{"reason": one.rule, "field": one.field, "message": one.message} for one in violations]
    return {"status": "Failure", "code": code, "reason": reason, "message": message, "details": {"causes": causes}}


def _uid(document: Any) -> str:
    request = document.get("request") if isinstance(document, dict) else None
    uid = request.get("uid") if isinstance(request, dict) else None
    return uid if isinstance(uid, str) else ""


def _read(document: Any) -> Review | PassThrough:
    if not isinstance(document, dict) or document.get("apiVersion") != API_VERSION:
        raise _MalformedError(f"it is no AdmissionReview of {API_VERSION}")
    request = document.get("request")
    if not isinstance(request, dict) or not _uid(document):
        raise _MalformedError("it has no request with a UID")
    operation = _text(request.get("operation"))
    if request.get("subResource") or operation not in Operation.__members__:
        return PassThrough(uid=_uid(document))
    return Review(uid=_uid(document), request=_request(Operation(operation), request))


def _request(operation: Operation, request: dict[str, Any]) -> Request:
    new, old = request.get("object"), request.get("oldObject")
    if not isinstance(new, dict):
        raise _MalformedError("it has no object")
    if operation is Operation.UPDATE and not isinstance(old, dict):
        raise _MalformedError("it is an update without the old object")
    user = request.get("userInfo")
    username = user.get("username") if isinstance(user, dict) else None
    return Request(
        operation=operation,
        user=username if isinstance(username, str) else "",
        is_dry_run=request.get("dryRun") is True,
        namespace=_text(request.get("namespace")),
        name=_text(request.get("name")),
        old=old if isinstance(old, dict) else {},
        new=new,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
