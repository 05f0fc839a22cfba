"""Writes that an admission refused: the message goes into conditions, the next try waits 5 s, doubling to 5 minutes."""

from dataclasses import replace

from scaler_core.api.reasons import EventReason, Reason
from scaler_core.api.scaler_status import Refusal, ScalerStatus
from scaler_core.model.action import Bind, Release
from scaler_core.model.plan import Blocked
from scaler_core.transactions.clock import refusal_wait
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.settled import Planning, Settled


def refuse(draft: Draft, message: str, now: float) -> Draft:
    """Remember a refusal; an event tells of the first one only."""
    old = draft.status.refusal
    attempts = 1 if old is None else old.attempts + 1
    refusal = Refusal(message=message, attempts=attempts, retry_at=now + refusal_wait(attempts))
    if old is None or old.message != message:
        draft = draft.warning(EventReason.COMMIT_REFUSED, message)
    return draft.having(refusal=refusal)


def is_waiting(status: ScalerStatus, now: float) -> bool:
    """Whether a refused write makes the next one wait."""
    return status.refusal is not None and status.refusal.retry_at > now


def hold_back(settled: Settled, now: float) -> Settled:
    """Without a write while a refusal makes it wait; the conditions say why."""
    refusal = settled.status.refusal
    if refusal is None:
        return settled
    blocked = Blocked(reason=Reason.COMMIT_REFUSED, message=refusal.message)
    active = replace(settled.active, message=f"{settled.active.message}; last write refused: {refusal.message}")
    settled = replace(settled, blocked=blocked, active=active)
    left = refusal.retry_at - now
    if left <= 0:
        return settled
    is_write = isinstance(settled.action, Bind | Release)
    planning = Planning.RECOMMEND if settled.planning is Planning.COMMIT else settled.planning
    return replace(
        settled,
        action=None if is_write else settled.action,
        planning=planning,
        why=settled.why
        if settled.planning is not Planning.COMMIT
        else f"the last write was refused: {refusal.message}",
        wait=left if settled.wait is None else min(left, settled.wait),
    )
