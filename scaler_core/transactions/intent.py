"""The write-ahead record of one commit: stored in `status.pendingCommit`, then one target write.

| State  | Event      | State  | What tells                                                                         |
|--------|------------|--------|------------------------------------------------------------------------------------|
| None   | Stored     | Stored | the status write; the target write may follow, in the same pass only               |
| Stored | Landed     | None   | our decision is on the target: the commit happened                                 |
| Stored | Overtaken  | None   | something that the write tests has changed: it can never happen                    |
| Stored | Expired    | None   | a direct read after the request's deadline does not show it                        |
| Stored | Conflicted | None   | the API server answered: a test failed                                             |
| Stored | Refused    | None   | the API server answered: an admission refused                                      |
| Stored | Unanswered | Stored | absence proves nothing while the request may still arrive                          |
| Stored | Open       | Stored | the same, seen again                                                               |
| Stored | Dropped    | None   | suspended, released or lost: the binding is something that the write tests         |
| None   | Adopted    | None   | a decision of our term that we do not know: ours, it outlived all this             |

What makes forgetting safe is adoption: should an expired request arrive after all, it shows a decision of our term,
which nobody else can have written, and which is taken over with the last reported counts as its baseline. What makes a
double step impossible is that both writes test the same generation and the same decision text.
"""

from enum import StrEnum
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import DecisionRecord
from scaler_core.api.scaler_status import Commit, ScalerStatus
from scaler_core.model.world import World
from scaler_core.transactions.claim import Claim
from scaler_core.transactions.clock import REQUEST_DEADLINE, elapsed
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.machine import Machine


class IntentState(StrEnum):
    """Whether an intent is stored."""

    NONE = "None"
    STORED = "Stored"


class IntentEvent(StrEnum):
    """What happens to it."""

    STORED = "Stored"
    LANDED = "Landed"
    OVERTAKEN = "Overtaken"
    EXPIRED = "Expired"
    CONFLICTED = "Conflicted"
    REFUSED = "Refused"
    UNANSWERED = "Unanswered"
    OPEN = "Open"
    DROPPED = "Dropped"
    ADOPTED = "Adopted"


_NONE, _STORED = IntentState.NONE, IntentState.STORED
INTENT: Final = Machine(
    name="intent",
    start=_NONE,
    table={
        (_NONE, IntentEvent.STORED): _STORED,
        (_STORED, IntentEvent.LANDED): _NONE,
        (_STORED, IntentEvent.OVERTAKEN): _NONE,
        (_STORED, IntentEvent.EXPIRED): _NONE,
        (_STORED, IntentEvent.CONFLICTED): _NONE,
        (_STORED, IntentEvent.REFUSED): _NONE,
        (_STORED, IntentEvent.UNANSWERED): _STORED,
        (_STORED, IntentEvent.OPEN): _STORED,
        (_STORED, IntentEvent.DROPPED): _NONE,
        (_NONE, IntentEvent.ADOPTED): _NONE,
    },
)


def state_of(pending: Commit | None) -> IntentState:
    """The state that a status holds."""
    return IntentState.NONE if pending is None else IntentState.STORED


def store(draft: Draft, intent: Commit) -> Draft:
    """With this intent; there must be none."""
    INTENT.after(state_of(draft.status.pending_commit), IntentEvent.STORED)
    return draft.having(pending_commit=intent)


def move(draft: Draft, event: IntentEvent) -> Draft:
    """After an event that closes a stored intent, or leaves it."""
    after = INTENT.after(state_of(draft.status.pending_commit), event)
    return draft.having(pending_commit=None) if after is IntentState.NONE else draft


def trace(intent: Commit, target: ModelDeployment, claim: Claim, world: World) -> IntentEvent:
    """What became of a stored intent, as far as this view of the target tells."""
    if claim.decision is not None and claim.decision.decision_id == intent.decision_id:
        return IntentEvent.LANDED
    is_overtaken = target.metadata.generation >= intent.target_generation
    if is_overtaken or claim.binding is None or claim.binding.term != intent.term:
        return IntentEvent.OVERTAKEN
    deadline = intent.timestamp + REQUEST_DEADLINE
    if world.target_read_at is not None and world.target_read_at >= deadline:
        return IntentEvent.EXPIRED
    return IntentEvent.OPEN


def wait_for_answer(intent: Commit, now: float) -> float:
    """Seconds until a direct read of the target can settle an open intent."""
    return max(0.0, REQUEST_DEADLINE - elapsed(intent.timestamp, now))


def unknown_decision(status: ScalerStatus, claim: Claim, term: int) -> DecisionRecord | None:
    """A decision on the target of our own term that the status does not know; no intent may be stored."""
    decision, last = claim.decision, status.last_commit
    if decision is None or decision.term != term:
        return None
    if last is not None and last.term == term and last.decision_id == decision.decision_id:
        return None
    return decision
