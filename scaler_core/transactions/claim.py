"""Who owns the target's counts, read from its two annotations."""

from dataclasses import dataclass

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import (
    BINDING,
    DECISION,
    Binding,
    DecisionRecord,
    UnreadableError,
    parse_binding,
    parse_decision,
)
from scaler_core.api.scaler import ModelDeploymentScaler


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The readable content of both annotations; an unreadable decision is as good as none."""

    binding: Binding | None = None
    unreadable: str = ""
    """Why the binding cannot be read; empty when it can, or is absent."""
    decision: DecisionRecord | None = None

    def names(self, scaler: ModelDeploymentScaler) -> bool:
        """Whether the binding is this scaler's, by name and UID: a recreated scaler is another one."""
        return self.binding is not None and (self.binding.scaler_name, self.binding.scaler_uid) == (
            scaler.metadata.name,
            scaler.metadata.uid,
        )

    @property
    def highest_term(self) -> int:
        """The highest term that the target shows; 0 when it shows none."""
        return max(
            self.binding.term if self.binding is not None else 0,
            self.decision.term if self.decision is not None else 0,
        )


def read_claim(target: ModelDeployment) -> Claim:
    """Read both annotations; never raises."""
    decision = _decision(target.metadata.annotations.get(DECISION))
    text = target.metadata.annotations.get(BINDING)
    if text is None:
        return Claim(decision=decision)
    try:
        return Claim(binding=parse_binding(text), decision=decision)
    except UnreadableError as error:
        return Claim(unreadable=str(error), decision=decision)


def _decision(text: str | None) -> DecisionRecord | None:
    if text is None:
        return None
    try:
        return parse_decision(text)
    except UnreadableError:
        return None
