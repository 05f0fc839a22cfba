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
| Unbound  | Released  | Unbound  | one that named us and that no record of ours vouched for  |
| Bound    | Lost      | Unbound  | the same; the fence was down                              |
| any      | Replaced  | Unbound  | another target of that name was accepted                  |
"""

from enum import StrEnum
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import BindingStatus, ScalerStatus
from scaler_core.model.world import World
from scaler_core.transactions import ending
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
    REPLACED = "Replaced"


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
        (BindingState.UNBOUND, BindingEvent.RELEASED): BindingState.UNBOUND,
        (BindingState.BOUND, BindingEvent.LOST): BindingState.UNBOUND,
        **{(state, BindingEvent.REPLACED): BindingState.UNBOUND for state in BindingState},
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
    state, pending = state_of(binding), binding.pending_term
    if pending is not None and claim.decision is not None and claim.decision.term >= pending:
        state, pending = BINDING.after(state, BindingEvent.OUTBID), None
    BINDING.after(state, BindingEvent.ASKED)
    if pending is None:
        pending = max(binding.term_floor, claim.highest_term) + 1
    changes = {"pending_term": pending, "term": None, "term_floor": max(binding.term_floor, pending)}
    return draft.having(binding=binding.model_copy(update=changes)), pending


def hold(draft: Draft, term: int) -> Draft:
    """The binding was seen on the target under a term that we recorded."""
    binding = draft.status.binding
    if binding is None:
        return draft
    BINDING.after(state_of(binding), BindingEvent.SEEN)
    if binding.term == term and binding.pending_term is None:
        return draft
    changes = {"term": term, "pending_term": None, "term_floor": max(binding.term_floor, term)}
    held = draft.having(binding=binding.model_copy(update=changes), refusal=None)
    if binding.term == term:
        return held
    return held.saying(EventReason.BOUND, f"Bound ModelDeployment {binding.target_name} under term {term}")


def let_go(draft: Draft, world: World) -> Draft:
    """Nothing is bound (any more): drop the transactions, keep the term floor and a running cooldown.

    A term that was asked for and not seen stays: its binding may be there yet.
    """
    is_bound = state_of(draft.status.binding) is BindingState.BOUND
    draft = ending.drop(draft, world, "the binding ended")
    return _unbound(draft, BindingEvent.LOST) if is_bound else draft


def released(draft: Draft, world: World) -> Draft:
    """Our binding was removed: its term is over, also where nobody noticed that it had been taken."""
    return _unbound(ending.drop(draft, world, "the binding ended"), BindingEvent.RELEASED)


def replaced(draft: Draft, world: World, target: ModelDeployment) -> Draft:
    """Another target of that name is accepted: begin anew, with histories of nothing."""
    old = draft.status.binding
    BINDING.after(state_of(old), BindingEvent.REPLACED)
    uid = "" if old is None else old.target_uid
    draft = ending.drop(draft, world, f"the deployment with UID {uid} is gone")
    fresh = ScalerStatus(
        observed_generation=draft.status.observed_generation,
        conditions=draft.status.conditions,
        binding=BindingStatus(target_uid=target.metadata.uid, target_name=target.metadata.name),
    )
    text = (
        f"Accepted ModelDeployment {target.metadata.name} with UID {target.metadata.uid}: "
        f"histories and transactions of {uid} ended"
    )
    return Draft(status=fresh, notes=draft.notes).saying(EventReason.TARGET_REPLACED, text)


def _unbound(draft: Draft, event: BindingEvent) -> Draft:
    known = draft.status.binding
    BINDING.after(state_of(known), event)
    return (
        draft if known is None else draft.having(binding=known.model_copy(update={"term": None, "pending_term": None}))
    )
