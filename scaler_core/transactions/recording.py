"""`record`: what an action's outcome leaves in the status."""

from typing import assert_never

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.action import (
    Action,
    AddFinalizer,
    Bind,
    Committed,
    CommitVector,
    Conflicted,
    Note,
    Outcome,
    Refused,
    Release,
    RemoveFinalizer,
    Unknown,
)
from scaler_core.model.world import World
from scaler_core.transactions import binding, intent, landing, refusals
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.intent import IntentEvent


def record(
    status: ScalerStatus, action: Action, outcome: Outcome, world: World
) -> tuple[ScalerStatus, tuple[Note, ...]]:
    """The status after an action, and the events that tell of it.

    Args:
        status: the status as stored before the action, with its intent.
        action: what was carried out.
        outcome: what the API server said; Unknown when nobody knows whether the write arrived or still may.
        world: the pass's world, with the time at which the outcome was known: only later samples show what was written.
    """
    draft = Draft(status=status)
    match outcome:
        case Committed():
            draft = _done(draft, action, outcome, world)
        case Conflicted():
            draft = _answered(draft, action, IntentEvent.CONFLICTED).saying(
                EventReason.COMMIT_CONFLICTED, f"Looking again: {outcome.message}"
            )
        case Refused():
            draft = refusals.refuse(_answered(draft, action, IntentEvent.REFUSED), outcome.message, world.now)
        case Unknown():
            draft = _answered(draft, action, IntentEvent.UNANSWERED)  # absence proves nothing (intent.py)
        case _:
            assert_never(outcome)
    return draft.status, draft.notes


def _answered(draft: Draft, action: Action, event: IntentEvent) -> Draft:
    """A commit's intent after the answer to its request, or the lack of one."""
    pending = draft.status.pending_commit
    if not isinstance(action, CommitVector) or pending is None:
        return draft
    return intent.move(draft, event) if pending.decision_id == action.intent.decision_id else draft


def _done(draft: Draft, action: Action, outcome: Committed, world: World) -> Draft:
    match action:
        case Bind():
            return binding.hold(draft, action.term)
        case Release():
            return _released(draft, action, world)
        case CommitVector():
            landed_now = {"target_generation": outcome.generation, "timestamp": world.now}
            written = action.intent.model_copy(update=landed_now)
            return landing.landed(draft, written, world, action.why)
        case AddFinalizer() | RemoveFinalizer():
            return draft.having(refusal=None)
        case _:
            assert_never(action)


def _released(draft: Draft, action: Release, world: World) -> Draft:
    name = world.scaler.spec.target_ref.name
    draft = binding.released(draft, world).having(refusal=None)
    return draft.saying(EventReason.RELEASED, f"Released ModelDeployment {name}, counts stay: {action.why}")
