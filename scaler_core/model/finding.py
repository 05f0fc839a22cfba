"""What a pass found out about one condition, before it becomes part of the status."""

from dataclasses import dataclass

from scaler_core.api.meta import ConditionStatus
from scaler_core.api.reasons import ConditionType, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One condition without its bookkeeping."""

    type: ConditionType
    status: ConditionStatus
    reason: Reason
    message: str = ""


def holds(type_: ConditionType, reason: Reason, message: str = "") -> Finding:
    """A condition that is True."""
    return Finding(type=type_, status=ConditionStatus.TRUE, reason=reason, message=message)


def fails(type_: ConditionType, reason: Reason, message: str = "") -> Finding:
    """A condition that is False."""
    return Finding(type=type_, status=ConditionStatus.FALSE, reason=reason, message=message)


def unsure(type_: ConditionType, reason: Reason, message: str = "") -> Finding:
    """A condition that nobody can judge now."""
    return Finding(type=type_, status=ConditionStatus.UNKNOWN, reason=reason, message=message)
