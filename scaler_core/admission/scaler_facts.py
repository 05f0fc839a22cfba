"""A scaler as the fence reads it, from the answer of a fresh read."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from scaler_core.admission.verdict import Absent, Found, Lookup, Unread


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerFacts:
    """Identity and aim of a scaler."""

    uid: str
    target_name: str
    is_terminating: bool


def read_scaler(lookup: Lookup | None) -> ScalerFacts | Absent | Unread | None:
    """The facts of what was found; None where nobody looked yet."""
    if not isinstance(lookup, Found):
        return lookup
    metadata, spec = _mapping(lookup.document.get("metadata")), _mapping(lookup.document.get("spec"))
    uid, reference = metadata.get("uid"), _mapping(spec.get("targetRef"))
    if not isinstance(uid, str) or not uid:
        return Unread(reason="an answer without a UID")
    return ScalerFacts(
        uid=uid,
        target_name=str(reference.get("name") or ""),
        is_terminating=metadata.get("deletionTimestamp") is not None,
    )


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}
