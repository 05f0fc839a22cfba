"""What a pass wants done: at most one write of the target, told apart by its kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Install the binding annotation with this term, after the fence was proven."""

    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Remove the binding annotation; the decision annotation stays, so that terms cannot go back."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitVector:
    """Write counts and decision together; `intent.baseline_vector` holds the counts that the write tests."""

    intent: Commit
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFinalizer:
    """Put our finalizer on the scaler, before it ever binds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFinalizer:
    """Let a deleting scaler go."""


Action = Bind | Release | CommitVector | AddFinalizer | RemoveFinalizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The write took effect."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicted:
    """A tested value had changed: look again."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The target's admission, ours or its own, said no."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The request may still arrive: only the target can tell, after the request's deadline."""

    message: str


Outcome = Committed | Conflicted | Refused | Unknown


class NoteType(StrEnum):
    """Severity of an event."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An event for people, emitted after the write that it describes."""

    reason: EventReason
    message: str
    type: NoteType = NoteType.NORMAL


def render_vector(vector: Mapping[str, int]) -> str:
    """`prefill=3 decode=2`, for messages."""
    return " ".join(f"{role}={count}" for role, count in vector.items())
