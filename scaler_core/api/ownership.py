"""The two annotations by which a scaler owns a target's counts; one parser for both processes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

BINDING: Final = "modeldeployment.gpustack.ai/scaler-binding"
DECISION: Final = "modeldeployment.gpustack.ai/scaler-decision"
FENCE_WEBHOOK: Final = "scaler-fence.gpustack.ai"
"""Name of the validating webhook that guards both annotations: a refusal that names it proves the fence."""
MAX_BYTES: Final = 8 * 1024
MAX_TERM: Final = 2**53 - 1  # what every JSON reader keeps exact
_SUBDOMAIN: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_UID: Final = re.compile(r"[0-9A-Za-z-]{1,64}\Z")


class UnreadableError(ValueError):
    """An annotation that cannot be read; the text says why, in one printable line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Who owns the counts."""

    scaler_name: str
    scaler_uid: str
    term: int

    def render(self) -> str:
        """The annotation's text."""
        return _render({"scalerName": self.scaler_name, "scalerUID": self.scaler_uid, "term": self.term})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """The committed vector and the decision that it rests on."""

    decision_id: str
    term: int
    vector: Mapping[str, int]

    def render(self) -> str:
        """The annotation's text."""
        return _render({"decisionID": self.decision_id, "term": self.term, "vector": dict(self.vector)})


def parse_binding(text: str) -> Binding:
    """Read the binding annotation.

    Raises:
        UnreadableError: not a JSON object of at most 8 KiB with the three keys of the right shape.
    """
    payload = _object(text)
    name, uid = payload.get("scalerName"), payload.get("scalerUID")
    if not isinstance(name, str) or not _SUBDOMAIN.match(name):
        raise UnreadableError("scalerName is not a DNS subdomain")
    if not isinstance(uid, str) or not _UID.match(uid):
        raise UnreadableError("scalerUID is not 1 to 64 characters of [0-9A-Za-z-]")
    return Binding(scaler_name=name, scaler_uid=uid, term=_term(payload))


def parse_decision(text: str) -> DecisionRecord:
    """Read the decision annotation.

    Raises:
        UnreadableError: not a JSON object of at most 8 KiB with the three keys of the right shape.
    """
    payload = _object(text)
    identity, vector = payload.get("decisionID"), payload.get("vector")
    if not isinstance(identity, str) or not _UID.match(identity):
        raise UnreadableError("decisionID is not 1 to 64 characters of [0-9A-Za-z-]")
    if not isinstance(vector, dict) or not vector or not all(_is_count(count) for count in vector.values()):
        raise UnreadableError("vector is not an object of role names and positive counts")
    return DecisionRecord(decision_id=identity, term=_term(payload), vector=vector)


def _render(payload: Mapping[str, Any]) -> str:
    return json.dumps(payload, separators=(",", ":"), sort_keys=True)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _term(payload: Mapping[str, Any]) -> int:
    term = payload.get("term")
    if not isinstance(term, int) or isinstance(term, bool) or not 1 <= term <= MAX_TERM:
        raise UnreadableError("term is not an integer from 1 to 2^53-1")
    return term


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise UnreadableError("a key appears twice")
    return members


def _no_constant(name: str) -> Any:
    raise UnreadableError(f"{name} is not a JSON number")


def _object(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise UnreadableError(f"longer than {MAX_BYTES} bytes")
    try:
        payload = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnreadableError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableError("not JSON") from error
    if not isinstance(payload, dict):
        raise UnreadableError("not a JSON object")
    return payload
