"""What became of our last write, as far as a view of the target tells.

An owner resolves it before anything else (owner.py). Whoever loses or gives back the binding does so first as well, so
that a write which landed has its event, its `lastCommit` and its transaction before those end. Nobody waits for an open
intent then: a release tests the generation and changes the binding, and both are tested by the write that may still
arrive. So a release that succeeds proves that it had not landed, and never will; one that fails looks again.
"""

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import Cause, Commit
from scaler_core.model.action import render_vector
from scaler_core.model.world import World
from scaler_core.transactions import adoption, intent, landing
from scaler_core.transactions.claim import Claim, read_claim
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.intent import IntentEvent


def resolve(draft: Draft, world: World) -> Draft:
    """Record what the target shows of our last write, before the binding ends; an open intent stays."""
    target, known = world.target, draft.status.binding
    if target is None or known is None or known.term is None or target.metadata.uid != known.target_uid:
        return draft
    last, claim = draft.status.last_commit, read_claim(target)
    if last is not None and last.term == known.term and target.metadata.generation < last.target_generation:
        return draft  # an older target than we wrote: it knows nothing of a later write
    draft, event = trace_intent(draft, world, target, claim)
    return draft if event is IntentEvent.OPEN else adopt_unknown(draft, world, target, claim, known.term)


def trace_intent(draft: Draft, world: World, target: ModelDeployment, claim: Claim) -> tuple[Draft, IntentEvent | None]:
    """Close a stored intent that the target tells about; without one there is no event."""
    pending = draft.status.pending_commit
    if pending is None:
        return draft, None
    event = intent.trace(pending, target, claim, world)
    if event is IntentEvent.LANDED:
        draft = landing.landed(draft, pending, world, "found on the target")
        # When it arrived nobody knows, and only samples of later show it: the plan waits for one of those.
        draft = draft.having(last_commit=pending.model_copy(update={"timestamp": world.now}))
    elif event is IntentEvent.OVERTAKEN:
        text = f"{_describe(pending)} did not land: something that it tests has changed; {_counts(target)}"
        draft = intent.move(draft, event).saying(EventReason.COMMIT_CONFLICTED, text)
    elif event is IntentEvent.EXPIRED:
        draft = _expire(draft, pending, target)
    else:
        draft = intent.move(draft, event)
    return draft, event


def adopt_unknown(draft: Draft, world: World, target: ModelDeployment, claim: Claim, term: int) -> Draft:
    """Take over a decision of our term that the status does not know; no intent may be stored."""
    decision = intent.unknown_decision(draft.status, claim, term)
    if decision is None:
        return draft
    adopted = adoption.adopt(decision, draft.status, target, world.now)
    return landing.landed(draft, adopted, world, "a decision of our term, adopted")


def _expire(draft: Draft, pending: Commit, target: ModelDeployment) -> Draft:
    rebalance = draft.status.rebalance
    if pending.cause is Cause.DONOR_RELEASE and rebalance is not None:
        # It may still be adopted one day: the episode counts it as its donation.
        draft = draft.having(rebalance=rebalance.model_copy(update={"donation_attempted": True}))
    text = f"{_describe(pending)} got no answer and has not landed by its deadline: given up; {_counts(target)}"
    draft = intent.move(draft, IntentEvent.EXPIRED).having(expired_commit=pending)
    return draft.warning(EventReason.COMMIT_EXPIRED, text)


def _describe(pending: Commit) -> str:
    return f"The write {render_vector(pending.baseline_vector)} -> {render_vector(pending.vector)}"


def _counts(target: ModelDeployment) -> str:
    return f"counts are {render_vector(target.vector)}"
