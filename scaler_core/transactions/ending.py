"""The end of whatever spans passes: what a binding, a term or a target leaves behind when it is over."""

from collections.abc import Mapping

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.action import render_vector
from scaler_core.model.world import World
from scaler_core.transactions import cohort, exhaustion, intent, rebalance, retirement
from scaler_core.transactions.claim import read_claim
from scaler_core.transactions.cohort import CohortEvent
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.exhaustion import ExhaustionEvent
from scaler_core.transactions.intent import IntentEvent


def drop(draft: Draft, world: World, why: str) -> Draft:
    """Clear what spans passes, with an event of what was under way; counts stay, and so does a running cooldown.

    The event has both vectors, whether the write landed, and the counts that the target of `world` has.
    """
    status = draft.status
    under_way = _under_way(status)
    if under_way is not None:
        before, after = map(render_vector, under_way)
        text = f"Dropped the transaction {before} -> {after}, {_fate(status, world)}; {_counts(status, world)}: {why}"
        draft = draft.warning(EventReason.TRANSACTION_DROPPED, text)
    if status.pending_commit is not None:
        draft = intent.move(draft, IntentEvent.DROPPED)
    if status.pending_cohort is not None:
        draft = cohort.move(draft, CohortEvent.DROPPED)
    if status.exhaustion is not None:
        draft = draft.having(exhaustion=exhaustion.move(status.exhaustion, ExhaustionEvent.DROPPED))
    return draft.having(
        expired_commit=None,
        rebalance=rebalance.drop(status.rebalance),
        last_scale_down=retirement.drop(status.last_scale_down, world.now),
    )


def _under_way(status: ScalerStatus) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
    """The vectors of what spans passes now: the write, the growth, the shrinkage, or the exchange of two roles."""
    pending, grown, last, written = (
        status.pending_commit,
        status.pending_cohort,
        status.last_scale_down,
        status.last_commit,
    )
    if pending is not None:
        return pending.baseline_vector, pending.vector
    if grown is not None:
        return grown.baseline_vector, grown.target_vector
    if written is None:
        return None
    if last is not None and not last.is_finished:
        return last.pre_scale_down_vector, written.vector
    is_exchanging = rebalance.state_of(status.rebalance) in rebalance.UNDER_WAY
    return (written.baseline_vector, written.vector) if is_exchanging else None


def _fate(status: ScalerStatus, world: World) -> str:
    """Whether the write of what was under way landed; all but a stored intent did, or they would not be there."""
    pending, target = status.pending_commit, world.target
    if pending is None:
        return "landed"
    if target is None or not _is_same(status, world):
        return "landed or not before its target was gone"
    decision = read_claim(target).decision
    is_there = decision is not None and decision.decision_id == pending.decision_id
    return "landed" if is_there else "not landed (its decision is not on the target)"


def _counts(status: ScalerStatus, world: World) -> str:
    if world.target is None:
        return "there is no target"
    kept = "counts stay" if _is_same(status, world) else "the new one has"
    return f"{kept} {render_vector(world.target.vector)}"


def _is_same(status: ScalerStatus, world: World) -> bool:
    known, target = status.binding, world.target
    return known is None or target is None or known.target_uid == target.metadata.uid
