"""What a landed commit leaves in the status, whether its answer arrived or the target told of it later."""

from typing import Final

from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_spec import RebalancePolicy
from scaler_core.api.scaler_status import (
    Cause,
    Commit,
    LastScaleDown,
    PendingCohort,
    RoleObservation,
    ScaleDownOutcome,
    Vector,
)
from scaler_core.model.action import render_vector
from scaler_core.model.world import World
from scaler_core.transactions import cohort, exhaustion, intent, rebalance, retirement
from scaler_core.transactions.cohort import CohortEvent, grown_roles
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.exhaustion import ExhaustionEvent
from scaler_core.transactions.intent import IntentEvent
from scaler_core.transactions.retirement import RetirementEvent, RetirementState

_EVENTS: Final = {
    Cause.ROLLBACK: EventReason.ROLLED_BACK,
    Cause.RESTORE: EventReason.RESTORED,
    Cause.DONOR_RELEASE: EventReason.DONOR_RELEASED,
    Cause.RECEIVER_ACQUIRE: EventReason.RECEIVER_ACQUIRED,
    Cause.DONOR_RESTORE: EventReason.RESTORED,
}
_WARNED: Final = frozenset({Cause.ROLLBACK, Cause.RESTORE, Cause.DONOR_RESTORE})


def landed(draft: Draft, commit: Commit, world: World, why: str = "") -> Draft:
    """The status after this commit took effect; `commit.target_generation` is the generation after the write."""
    draft = intent.move(draft, IntentEvent.ADOPTED if draft.status.pending_commit is None else IntentEvent.LANDED)
    draft = draft.having(
        last_commit=commit,
        expired_commit=None,
        refusal=None,
        roles=_counts(draft, commit, world.now),
    )
    draft = _tell(draft, commit, why)
    match commit.cause:
        case Cause.ROLLBACK:
            return _rolled_back(draft, commit, world)
        case Cause.RESTORE:
            return restored(_spare_restored(draft, commit), world)
        case Cause.DONOR_RESTORE:
            message = "the donor was restored: the receiver leg may not follow"
            return draft.having(
                rebalance=rebalance.move(draft.status.rebalance, rebalance.RebalanceEvent.UNFIT, message)
            )
        case Cause.PLAN | Cause.DONOR_RELEASE | Cause.RECEIVER_ACQUIRE:
            return _leg(_grown_and_shrunk(draft, commit), commit)


def restored(draft: Draft, world: World) -> Draft:
    """An aborted scale-down whose replicas are back, as far as that is legal: the cooldown starts."""
    last = draft.status.last_scale_down
    if last is None or retirement.state_of(last) is not RetirementState.RUNNING:
        return draft
    cooldown = float(world.scaler.spec.behavior.scale_down.cooldown_after_abort_seconds)
    cooling = {"aborted_at": world.now, "cooldown_until": world.now + cooldown}
    aborted = retirement.move(last, RetirementEvent.RESTORED).model_copy(update=cooling)
    draft = draft.having(last_scale_down=aborted).warning(
        EventReason.SCALE_DOWN_ABORTED,
        f"The retirement of {last.role} {last.ordinal} was aborted: nothing shrinks for {cooldown:.0f} s",
    )
    if rebalance.state_of(draft.status.rebalance) is not rebalance.RebalanceState.DONOR_RELEASE:
        return draft
    message = "the donor's retirement was aborted"
    return draft.having(rebalance=rebalance.move(draft.status.rebalance, rebalance.RebalanceEvent.ABORTED, message))


def exhausted(draft: Draft, counts: Vector, generation: int, world: World) -> Draft:
    """A cohort that timed out and is undone, as far as that is legal: an episode begins or goes on."""
    pending, spec = draft.status.pending_cohort, world.scaler.spec
    if pending is None:
        return draft
    episode = exhaustion.after_rollback(draft.status.exhaustion, pending, counts, generation, world)
    draft = (
        cohort.move(draft, CohortEvent.RESTORED)
        .having(exhaustion=episode)
        .warning(EventReason.RESOURCE_EXHAUSTED, f"Growth stopped: {exhaustion.describe(episode, spec, world.now)}")
    )
    if spec.rebalance.policy is RebalancePolicy.DISABLED and draft.status.rebalance is None:
        return draft
    return draft.having(rebalance=rebalance.begin_episode(draft.status.rebalance, episode, world.now))


def end_episode(draft: Draft, event: ExhaustionEvent) -> Draft:
    """The exhaustion is over, and with it a rebalance that only waited."""
    status = draft.status
    return draft.having(
        exhaustion=exhaustion.move(status.exhaustion, event), rebalance=rebalance.end_of_episode(status.rebalance)
    )


def shrunk_roles(before: Vector, after: Vector) -> tuple[str, ...]:
    """Roles with a lower count, in role order."""
    return tuple(role for role, count in after.items() if count < before.get(role, count))


def _grown_and_shrunk(draft: Draft, commit: Commit) -> Draft:
    before, after = commit.baseline_vector, commit.vector
    if grown_roles(before, after):
        added = PendingCohort(
            decision_id=commit.decision_id,
            term=commit.term,
            baseline_vector=before,
            target_vector=after,
            started_at=commit.timestamp,
            stale_workloads=commit.stale_workloads,
        )
        draft = cohort.begin(draft, added)
    if shrunk_roles(before, after):
        draft = draft.having(last_scale_down=retirement.begin(draft.status.last_scale_down, _scale_down(commit)))
    return draft


def _scale_down(commit: Commit) -> LastScaleDown:
    role = shrunk_roles(commit.baseline_vector, commit.vector)[0]
    return LastScaleDown(
        role=role,
        ordinal=commit.baseline_vector[role] - 1,  # the highest ordinal leaves first
        pre_scale_down_vector=commit.baseline_vector,
        outcome=ScaleDownOutcome.COMMITTED,
        decision_id=commit.decision_id,
        target_generation=commit.target_generation,
        committed_at=commit.timestamp,
        is_rollback=commit.cause is Cause.ROLLBACK,
    )


def _rolled_back(draft: Draft, commit: Commit, world: World) -> Draft:
    """The cohort found no capacity, and what it added leaves again."""
    draft = draft.having(last_scale_down=_after_rollback(draft.status.last_scale_down, commit))
    return exhausted(draft, commit.vector, commit.target_generation, world)


def _after_rollback(last: LastScaleDown | None, commit: Commit) -> LastScaleDown | None:
    """The removals to follow: a plan's unfinished ones go on alone; where none is left, the rollback's own.

    An abort of the plan's removals is restored, one of a rollback's is not, so the two never mix.
    """
    before, after = commit.baseline_vector, commit.vector
    if not shrunk_roles(before, after):
        return last
    undo = retirement.begin(last, _scale_down(commit))
    if last is None:
        return undo
    undo = undo.model_copy(update={"cooldown_until": last.cooldown_until})
    known = last.pre_scale_down_vector
    if last.is_finished:
        return undo
    if last.is_rollback:
        higher = {role: max(known.get(role, 0), count) for role, count in before.items()}
        return undo.model_copy(update={"pre_scale_down_vector": higher})
    kept = {**known, **{role: min(known.get(role, 0), after[role]) for role in shrunk_roles(before, after)}}
    if any(kept.get(role, 0) > count for role, count in after.items()):
        return last.model_copy(update={"pre_scale_down_vector": kept})
    return undo


def _spare_restored(draft: Draft, commit: Commit) -> Draft:
    """A cohort that is pending meanwhile must not take back what the restore brought back."""
    pending = draft.status.pending_cohort
    if pending is None:
        return draft
    back = {role: commit.vector[role] for role in grown_roles(commit.baseline_vector, commit.vector)}
    baseline = {role: max(count, back.get(role, 0)) for role, count in pending.baseline_vector.items()}
    target = {role: max(count, back.get(role, 0)) for role, count in pending.target_vector.items()}
    return draft.having(
        pending_cohort=pending.model_copy(update={"baseline_vector": baseline, "target_vector": target})
    )


def _leg(draft: Draft, commit: Commit) -> Draft:
    current = draft.status.rebalance
    if commit.cause is Cause.DONOR_RELEASE and current is not None:
        message = f"{current.donor_role} releases a replica for {current.receiver_role}"
        return draft.having(rebalance=rebalance.move(current, rebalance.RebalanceEvent.RELEASED, message))
    if commit.cause is Cause.RECEIVER_ACQUIRE and current is not None:
        message = f"{current.receiver_role} takes the replica that {current.donor_role} released"
        return draft.having(rebalance=rebalance.move(current, rebalance.RebalanceEvent.ACQUIRED, message))
    return draft


def _counts(draft: Draft, commit: Commit, now: float) -> tuple[RoleObservation, ...]:
    """What was reported of every role, with the new counts and the hint when a role last grew."""
    grown = set(grown_roles(commit.baseline_vector, commit.vector))
    known = {role.name: role for role in draft.status.roles}
    for name, count in commit.vector.items():
        changes: dict[str, object] = {"current_replicas": count}
        if name in grown:
            changes["last_scale_up_time"] = now
        known[name] = known.get(name, RoleObservation(name=name)).model_copy(update=changes)
    return tuple(known.values())


def _tell(draft: Draft, commit: Commit, why: str) -> Draft:
    before, after = commit.baseline_vector, commit.vector
    grown, shrunk = grown_roles(before, after), shrunk_roles(before, after)
    plain = EventReason.SCALED if grown and shrunk else EventReason.SCALED_UP if grown else EventReason.SCALED_DOWN
    reason = _EVENTS.get(commit.cause, plain)
    text = f"{render_vector(before)} -> {render_vector(after)}" + (f": {why}" if why else "")
    return draft.warning(reason, text) if commit.cause in _WARNED else draft.saying(reason, text)
