"""Taking and giving back the binding.

| State    | Event     | State    | Stored                                                    |
|----------|-----------|----------|-----------------------------------------------------------|
| Unbound  | Asked     | Asked    | pendingTerm, termFloor: before the target is written      |
| Asked    | Asked     | Asked    | the same term again, so a late write of the first is ours |
| Asked    | Seen      | Bound    | term                                                      |
| Asked    | Outbid    | Unbound  | another owner decided at or above the term: a new one     |
| Bound    | Seen      | Bound    |                                                           |
| Asked    | Released  | Unbound  | its answer was lost, and it was given back unnoticed      |
| Bound    | Released  | Unbound  | transaction fields are dropped, the floor stays           |
| Bound    | Lost      | Unbound  | the same; the fence was down                              |
"""

from enum import StrEnum
from typing import Final

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import BindingStatus, LastScaleDown, ScaleDownOutcome, ScalerStatus
from scaler_core.model.action import render_vector
from scaler_core.transactions.claim import Claim
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.machine import Machine


class BindingState(StrEnum):
    """Where the binding stands."""

    UNBOUND = "Unbound"
    ASKED = "Asked"
    BOUND = "Bound"


class BindingEvent(StrEnum):
    """What happens to it."""

    ASKED = "Asked"
    SEEN = "Seen"
    OUTBID = "Outbid"
    RELEASED = "Released"
    LOST = "Lost"


BINDING: Final = Machine(
    name="binding",
    start=BindingState.UNBOUND,
    table={
        (BindingState.UNBOUND, BindingEvent.ASKED): BindingState.ASKED,
        (BindingState.ASKED, BindingEvent.ASKED): BindingState.ASKED,
        (BindingState.ASKED, BindingEvent.SEEN): BindingState.BOUND,
        (BindingState.ASKED, BindingEvent.OUTBID): BindingState.UNBOUND,
        (BindingState.BOUND, BindingEvent.SEEN): BindingState.BOUND,
        (BindingState.ASKED, BindingEvent.RELEASED): BindingState.UNBOUND,
        (BindingState.BOUND, BindingEvent.RELEASED): BindingState.UNBOUND,
        (BindingState.BOUND, BindingEvent.LOST): BindingState.UNBOUND,
    },
)


def state_of(binding: BindingStatus | None) -> BindingState:
    """The state that a status holds."""
    if binding is None or (binding.term is None and binding.pending_term is None):
        return BindingState.UNBOUND
    return BindingState.BOUND if binding.term is not None else BindingState.ASKED


def raise_floor(draft: Draft, claim: Claim) -> Draft:
    """Remember the highest term that the target shows, whoever's it is."""
    binding = draft.status.binding
    if binding is None or claim.highest_term <= binding.term_floor:
        return draft
    return draft.having(binding=binding.model_copy(update={"term_floor": claim.highest_term}))


def ask(draft: Draft, claim: Claim) -> tuple[Draft, int]:
    """The status to store before binding, and the term to bind under: above every term seen, first is one."""
    binding = draft.status.binding
    if binding is None:
        raise ValueError("a binding needs a target")
    pending = binding.pending_term
    if pending is None or (claim.decision is not None and claim.decision.term >= pending):
        pending = max(binding.term_floor, claim.highest_term) + 1
    changes = {"pending_term": pending, "term": None, "term_floor": max(binding.term_floor, pending)}
    return draft.having(binding=binding.model_copy(update=changes)), pending


def hold(draft: Draft, term: int) -> Draft:
    """The binding was seen on the target under a term that we recorded."""
    binding = draft.status.binding
    if binding is None or (binding.term == term and binding.pending_term is None):
        return draft
    changes = {"term": term, "pending_term": None, "term_floor": max(binding.term_floor, term)}
    held = draft.having(binding=binding.model_copy(update=changes), refusal=None)
    if binding.term == term:
        return held
    return held.saying(EventReason.BOUND, f"Bound ModelDeployment {binding.target_name} under term {term}")


def let_go(draft: Draft, now: float) -> Draft:
    """Nothing is bound (any more): drop the transactions, keep the term floor and a running cooldown."""
    status = draft.status
    if status.binding is not None and status.binding.term is not None:
        draft = draft.having(binding=status.binding.model_copy(update={"term": None}))
    return drop_transactions(draft, now, "the binding ended")


def released(draft: Draft, now: float) -> Draft:
    """Our binding was removed: its term is over, also where nobody noticed that it had been taken."""
    draft = let_go(draft, now)
    binding = draft.status.binding
    if binding is None or binding.pending_term is None:
        return draft
    return draft.having(binding=binding.model_copy(update={"pending_term": None}))


def drop_transactions(draft: Draft, now: float, why: str) -> Draft:
    """Clear what spans passes, with an event that has both vectors of what was under way; counts stay."""
    status = draft.status
    open_vectors = _open_vectors(status)
    if open_vectors:
        before, after = open_vectors
        draft = draft.warning(
            EventReason.TRANSACTION_DROPPED,
            f"Dropped the transaction {render_vector(before)} -> {render_vector(after)}, counts stay: {why}",
        )
    return draft.having(
        pending_commit=None,
        expired_commit=None,
        pending_cohort=None,
        rebalance=None,
        exhaustion=None,
        last_scale_down=cooldown_only(status.last_scale_down, now),
    )


def cooldown_only(last: LastScaleDown | None, now: float) -> LastScaleDown | None:
    """What must survive of a scale-down: a cooldown that still runs."""
    if last is None or last.cooldown_until is None or last.cooldown_until <= now:
        return None
    return last.model_copy(update={"is_finished": True, "outcome": ScaleDownOutcome.ABORTED})


def _open_vectors(status: ScalerStatus) -> tuple[dict[str, int], dict[str, int]] | None:
    if status.pending_commit is not None:
        return dict(status.pending_commit.baseline_vector), dict(status.pending_commit.vector)
    if status.pending_cohort is not None:
        return dict(status.pending_cohort.baseline_vector), dict(status.pending_cohort.target_vector)
    last = status.last_scale_down
    if last is not None and not last.is_finished and status.last_commit is not None:
        return dict(last.pre_scale_down_vector), dict(status.last_commit.vector)
    return None
