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
from scaler_core.transactions import binding, commit, refusals
from scaler_core.transactions.draft import Draft


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
            draft = _answered(draft, action).saying(EventReason.COMMIT_CONFLICTED, f"Looking again: {outcome.message}")
        case Refused():
            draft = refusals.refuse(_answered(draft, action), outcome.message, world.now)
        case Unknown():
            pass  # the intent stays: absence proves nothing (intent.py)
        case _:
            assert_never(outcome)
    return draft.status, draft.notes


def _answered(draft: Draft, action: Action) -> Draft:
    """The request was answered and had no effect, so it cannot arrive any more."""
    pending = draft.status.pending_commit
    is_this = isinstance(action, CommitVector) and pending is not None
    if is_this and pending is not None and pending.decision_id == _decision_of(action):
        return draft.having(pending_commit=None)
    return draft


def _decision_of(action: Action) -> str:
    return action.intent.decision_id if isinstance(action, CommitVector) else ""


def _done(draft: Draft, action: Action, outcome: Committed, world: World) -> Draft:
    match action:
        case Bind():
            return binding.hold(draft, action.term)
        case Release():
            return _released(draft, action, world)
        case CommitVector():
            landed_now = {"target_generation": outcome.generation, "timestamp": world.now}
            written = action.intent.model_copy(update=landed_now)
            return commit.landed(draft, written, world, action.why)
        case AddFinalizer() | RemoveFinalizer():
            return draft.having(refusal=None)
        case _:
            assert_never(action)


def _released(draft: Draft, action: Release, world: World) -> Draft:
    name = world.scaler.spec.target_ref.name
    draft = binding.released(draft, world.now).having(refusal=None)
    return draft.saying(EventReason.RELEASED, f"Released ModelDeployment {name}, counts stay: {action.why}")
