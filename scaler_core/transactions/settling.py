"""`settle`: what the transactions demand before anything is planned.

A pass takes the standing first (standing.py). Only an owner has transactions; its steps run in this order, and the
first that wants a write ends the pass with it:

    terms     fields of another term do not count (a status restored from a backup)
    cache     a target older than our own last write is not looked at
    intent    a stored intent is traced; while it is open nothing is written
    adoption  an unknown decision of our term is ours; counts that nobody decided become the new base
    episode   someone else's edit ends the exhaustion
    restore   an aborted retirement of ours          -> Restore
    rollback  a cohort that was not admitted in time -> Rollback
    rebalance the second leg, or the way back        -> ReceiverAcquire, DonorRestore
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from scaler_core.api.reasons import ConditionType, EventReason, Reason
from scaler_core.api.scaler import FINALIZER
from scaler_core.api.scaler_status import BindingStatus
from scaler_core.model.action import Action, AddFinalizer, Bind, Release, RemoveFinalizer
from scaler_core.model.plan import TargetLimits
from scaler_core.model.world import World
from scaler_core.transactions import binding, clock, owner, refusals, resolving, standing
from scaler_core.transactions.claim import read_claim
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.settled import Planning, Settled, Standing


def settle(world: World, decision_id: str) -> Settled:
    """Advance every transaction of this scaler to `world.now`.

    Args:
        world: the scaler with a status at least as new as our own last status write, and its target.
        decision_id: a fresh identifier of 1 to 64 characters of [0-9A-Za-z-], used when something must be committed.

    Returns:
        The advanced status and what it allows. When there is an `action`, store the status first, then carry out the
        action in this same pass (never later: see intent.py), then `record` its outcome.
    """
    draft = Draft(status=clock.clamp(world.scaler.status, world.scaler.spec, world.now))
    draft = _identify(draft, world)
    verdict, why = standing.judge(world, draft.status)
    if verdict is not Standing.TARGET_NOT_FOUND:
        thawed = clock.clamp(clock.thaw(draft.status, world.now), world.scaler.spec, world.now)
        draft = replace(draft, status=thawed)
    draft = _mark_replaced(draft, world) if verdict is Standing.TARGET_REPLACED else draft
    if standing.needs_direct_read(world, draft.status, verdict):
        found = replace(_settled(draft, verdict, why, None), planning=Planning.FRESH_READ, wait=0.0)
        return replace(found, why="the binding is not what our last write left")
    if verdict is Standing.OWNER:
        return owner.settle(draft, world, decision_id, why)
    draft = _announce(draft, verdict, why)
    step = _STEPS.get(verdict)
    draft, action = step(draft, world) if step is not None else (draft, None)
    return refusals.hold_back(_settled(draft, verdict, why, action), world.now)


def _identify(draft: Draft, world: World) -> Draft:
    """Name the target in `status.binding`, and begin anew after an acknowledged replacement."""
    target, known = world.target, draft.status.binding
    if target is None or target.metadata.is_terminating:
        return draft
    uid, name = target.metadata.uid, target.metadata.name
    if known is None:
        draft = draft.having(binding=BindingStatus(target_uid=uid, target_name=name))
    elif known.target_uid != uid:
        reported = known.replaced_generation
        if reported is None or world.scaler.metadata.generation <= reported:
            return draft
        draft = binding.replaced(draft, world, target)
    elif known.replaced_generation is not None:  # a cache that still showed the predecessor
        draft = draft.having(binding=known.model_copy(update={"replaced_generation": None}))
    return binding.raise_floor(draft, read_claim(target))


def _mark_replaced(draft: Draft, world: World) -> Draft:
    """Report that the target is another one, and remember since which generation of the scaler: later edits accept."""
    known, target = draft.status.binding, world.target
    if known is None or known.replaced_generation is not None or not standing.is_replaced(known, target):
        return draft
    generation = world.scaler.metadata.generation
    accepting = "resuming the scaler accepts it" if world.scaler.spec.suspend else "edit the spec to accept it"
    text = (
        f"ModelDeployment {known.target_name} has another UID than {known.target_uid}: {accepting} "
        f"(only an edit after generation {generation} does)"
    )
    changes = {"replaced_generation": generation}
    return draft.having(binding=known.model_copy(update=changes)).warning(EventReason.TARGET_REPLACED, text)


def _announce(draft: Draft, verdict: Standing, why: str) -> Draft:
    """An event when another's binding, or one that nobody can vouch for, is met; conditions tell the rest."""
    met, reason = draft.status.condition(ConditionType.BOUND), standing.CONDITIONS[verdict][0][1]
    event = _MET.get(reason)
    if event is None or (met is not None and met.reason == reason):
        return draft
    return draft.warning(event, why)


def _release(draft: Draft, world: World) -> tuple[Draft, Action | None]:
    """Give the binding back, once it is known what became of the last write (resolving.py)."""
    draft = _mark_replaced(resolving.resolve(draft, world), world)
    if _is_named(world):
        return draft, Release(why="suspended" if world.scaler.spec.suspend else "Shadow mode")
    return binding.let_go(draft, world).having(refusal=None), None


def _delete(draft: Draft, world: World) -> tuple[Draft, Action | None]:
    """A missing, leaving or replaced target holds nobody up; a release that is refused does."""
    if FINALIZER not in world.scaler.metadata.finalizers:
        return draft, None
    draft = resolving.resolve(draft, world)
    if _is_named(world):
        return draft, Release(why="the scaler is deleted")
    return binding.let_go(draft, world), RemoveFinalizer()


def _bind(draft: Draft, world: World) -> tuple[Draft, Action | None]:
    if world.target is None:
        return draft, None
    draft = binding.let_go(resolving.resolve(draft, world), world)
    if FINALIZER not in world.scaler.metadata.finalizers:
        return draft, AddFinalizer()
    draft, term = binding.ask(draft, read_claim(world.target))
    return draft, Bind(term=term)


def _lose(draft: Draft, world: World) -> tuple[Draft, Action | None]:
    return binding.let_go(resolving.resolve(draft, world), world).having(refusal=None), None


_STEPS: Final[dict[Standing, Callable[[Draft, World], tuple[Draft, Action | None]]]] = {
    Standing.DELETING: _delete,
    Standing.SUSPENDED: _release,
    Standing.SHADOW: _release,
    Standing.FREE: _bind,
    Standing.ALREADY_BOUND: _lose,
    Standing.SHADOW_BESIDE: _lose,
}


_MET: Final = {
    Reason.ALREADY_BOUND: EventReason.ALREADY_BOUND,
    Reason.INVALID_BINDING: EventReason.INVALID_BINDING,
}


def _is_named(world: World) -> bool:
    target = world.target
    return target is not None and not target.metadata.is_terminating and read_claim(target).names(world.scaler)


def _settled(draft: Draft, verdict: Standing, why: str, action: Action | None) -> Settled:
    bound, active = standing.findings(verdict, why)
    return Settled(
        status=draft.status,
        standing=verdict,
        planning=standing.PLANNING.get(verdict, Planning.STOPPED),
        why=why,
        bound=bound,
        active=active,
        action=action,
        limits=TargetLimits(),
        notes=draft.notes,
    )
