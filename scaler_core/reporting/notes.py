"""Events that a change of conditions deserves; a steady state tells nothing."""

from collections.abc import Iterable, Sequence
from typing import Final

from scaler_core.api.meta import Condition
from scaler_core.api.reasons import ConditionType, EventReason, Reason
from scaler_core.model.action import Note, NoteType

_TOLD: Final = {
    Reason.BOUNDS_CONFLICT: EventReason.BOUNDS_CONFLICT,
    Reason.RATIO_CONFLICT: EventReason.RATIO_CONFLICT,
}


def tell_blocked(before: Sequence[Condition], after: Iterable[Condition]) -> tuple[Note, ...]:
    """A warning when planning begins to be stopped by bounds or ratios; transactions tell their own stories."""
    known = {condition.type: condition for condition in before}
    return tuple(
        Note(reason=_TOLD[Reason(condition.reason)], message=condition.message, type=NoteType.WARNING)
        for condition in after
        if condition.type == ConditionType.BLOCKED
        and condition.reason in _TOLD
        and (condition.type not in known or known[condition.type].reason != condition.reason)
    )
