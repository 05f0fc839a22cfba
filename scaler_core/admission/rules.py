"""What the registry knows of a rule; the checks themselves live beside the rules that they enforce."""

from dataclasses import dataclass
from enum import StrEnum

from scaler_core.admission import messages
from scaler_core.admission.verdict import Violation


class Subject(StrEnum):
    """Which documents a rule judges."""

    SCALER = "ModelDeploymentScaler"
    TARGET = "ModelDeployment"
    REQUEST = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, for messages, the documentation table and the completeness test."""

    id: str
    """The last word of every message, and the key of the documentation table."""
    subject: Subject
    section: str
    """Heading of the contract that it comes from."""
    cause: str
    """What was found, in general words."""
    remedy: str
    """The way out, in general words."""

    def broken(self, field: str, says: str, *, value: str = "") -> Violation:
        """This rule broken by a field; `says` starts with its own punctuation."""
        return messages.violation(self.id, field, says, value=value)
