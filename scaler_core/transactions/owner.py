"""The steps of a pass while this scaler holds the binding (see settling.py for their order)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import Cause, Commit, LastScaleDown, PendingCohort, Vector
from scaler_core.model.action import CommitVector, render_vector
from scaler_core.model.world import World
from scaler_core.transactions import (
    binding,
    clock,
    cohort,
    ending,
    exhaustion,
    intent,
    landing,
    legality,
    limits,
    rebalance,
    refusals,
    resolving,
    retirement,
    standing,
)
from scaler_core.transactions.claim import Claim, read_claim
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.replicas import Replicas, between, replicas_of
from scaler_core.transactions.settled import Planning, Settled, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What every step of an owner's pass looks at."""

    world: World
    target: ModelDeployment
    claim: Claim
    term: int
    replicas: Replicas
    why: str

    @property
    def spec(self) -> ScalerSpec:
        """The scaler's spec."""
        return self.world.scaler.spec

    @property
    def now(self) -> float:
        """The pass's moment in Unix seconds."""
        return self.world.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A write that a transaction demands."""

    cause: Cause
    vector: Mapping[str, int]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The target must be read past the cache once `wait` seconds have passed."""

    wait: float
    why: str


Step = Callable[[Draft, Scene], tuple[Draft, Wish | Look | None]]


def settle(draft: Draft, world: World, decision_id: str, why: str) -> Settled:
    """Run the steps; the first wish becomes the action, with its intent stored in the status."""
    if world.target is None:
        raise ValueError("an owner has a target")
    claim = read_claim(world.target)
    if claim.binding is None:
        raise ValueError("an owner has a binding")
    scene = Scene(
        world=world,
        target=world.target,
        claim=claim,
        term=claim.binding.term,
        replicas=replicas_of(world, world.target),
        why=why,
    )
    draft = _drop_other_terms(binding.hold(draft, scene.term), scene)
    for step in STEPS:
        draft, found = step(draft, scene)
        if found is not None:
            return refusals.hold_back(_stopped(draft, scene, found, decision_id), world.now)
    return refusals.hold_back(_settled(draft, scene), world.now)


def make_intent(draft: Draft, world: World, wish: Wish, decision_id: str) -> Commit:
    """The write-ahead record of a wish against the target as this pass sees it.

    It remembers the Workloads that exist for ordinals which the write adds: theirs is not the new replicas' admission.
    """
    target, known = world.target, draft.status.binding
    if target is None or known is None or known.term is None:
        raise ValueError("only an owner commits")
    return Commit(
        decision_id=decision_id,
        term=known.term,
        vector=dict(wish.vector),
        baseline_vector=target.vector,
        timestamp=world.now,
        target_generation=target.metadata.generation + 1,
        cause=wish.cause,
        stale_workloads=replicas_of(world, target).uids(between(target.vector, wish.vector)),
    )


def _drop_other_terms(draft: Draft, scene: Scene) -> Draft:
    status = draft.status
    stored = (status.pending_commit, status.pending_cohort)
    last = status.last_commit
    if any(record is not None and record.term != scene.term for record in stored) or (
        (last is None or last.term != scene.term) and not _is_adopting(draft, scene) and _has_transactions(draft)
    ):
        return ending.drop(draft, scene.world, f"they do not belong to term {scene.term}")
    return draft


def _has_transactions(draft: Draft) -> bool:
    status = draft.status
    return any((status.pending_cohort, status.rebalance, status.exhaustion)) or (
        retirement.state_of(status.last_scale_down) is retirement.RetirementState.RUNNING
    )


def _is_adopting(draft: Draft, scene: Scene) -> bool:
    return intent.unknown_decision(draft.status, scene.claim, scene.term) is not None


def _check_cache(draft: Draft, scene: Scene) -> tuple[Draft, Look | None]:
    last = draft.status.last_commit
    if last is None or last.term != scene.term or scene.target.metadata.generation >= last.target_generation:
        return draft, None
    read_at = scene.world.target_read_at
    if read_at is None or read_at < last.timestamp:
        wait = max(0.0, clock.CACHE_PATIENCE - clock.elapsed(last.timestamp, scene.now))
        return draft, Look(wait=wait, why="the target does not show our last write yet")
    # The generation went back: the target was restored from a backup, under the same UID.
    return _take_over(draft, scene, last), None


def _trace_intent(draft: Draft, scene: Scene) -> tuple[Draft, Look | None]:
    pending = draft.status.pending_commit
    if pending is None:
        return draft, None
    draft, event = resolving.trace_intent(draft, scene.world, scene.target, scene.claim)
    if event is intent.IntentEvent.OPEN:
        return draft, Look(wait=intent.wait_for_answer(pending, scene.now), why="a write got no answer yet")
    return draft, None


def _adopt(draft: Draft, scene: Scene) -> tuple[Draft, None]:
    draft = resolving.adopt_unknown(draft, scene.world, scene.target, scene.claim, scene.term)
    last = draft.status.last_commit
    if last is None or last.term != scene.term or dict(last.vector) == scene.target.vector:
        return draft, None
    return _take_over(draft, scene, last), None


def _take_over(draft: Draft, scene: Scene, last: Commit) -> Draft:
    """Counts that no decision of ours explains (a fence that was down) are the new base: no fight."""
    counts = scene.target.vector
    draft = draft.warning(
        EventReason.EXTERNAL_CHANGE,
        f"Counts were changed past the fence, {render_vector(last.vector)} -> {render_vector(counts)}: "
        "they are the new base",
    )
    draft = ending.drop(draft, scene.world, "counts were changed by someone else")
    base = {"vector": counts, "baseline_vector": counts, "target_generation": scene.target.metadata.generation}
    return draft.having(last_commit=last.model_copy(update=base))


def _end_episode(draft: Draft, scene: Scene) -> tuple[Draft, None]:
    episode, last = draft.status.exhaustion, draft.status.last_commit
    if episode is None or not exhaustion.is_edited(episode, scene.world.scaler, scene.target, last):
        return draft, None
    return landing.end_episode(draft, exhaustion.ExhaustionEvent.EDITED), None


def _follow_scale_down(draft: Draft, scene: Scene) -> tuple[Draft, Wish | None]:
    last = draft.status.last_scale_down
    if last is None or retirement.state_of(last) is not retirement.RetirementState.RUNNING:
        return draft, None
    event = retirement.observe(last, scene.replicas)
    draft = draft.having(last_scale_down=retirement.move(last, event))
    if event is retirement.RetirementEvent.GONE:
        return draft.saying(EventReason.RETIRED, _gone(last, scene.target.vector)), None
    if event is not retirement.RetirementEvent.ABORTED:
        return draft, None
    current = scene.target.vector
    vector = retirement.restore_vector(last, current, scene.spec)
    if vector == current:
        return landing.restored(draft, scene.world), None
    return draft, Wish(cause=Cause.RESTORE, vector=vector, why=f"the retirement of {last.role} was aborted")


def _gone(last: LastScaleDown, current: Vector) -> str:
    removed = retirement.removed_replicas(last, current) or ((last.role, last.ordinal),)
    names = ", ".join(f"{role} {ordinal}" for role, ordinal in removed)
    return f"{names} {'is' if len(removed) == 1 else 'are'} gone: Pods, Workload and retirement record"


def _follow_cohort(draft: Draft, scene: Scene) -> tuple[Draft, Wish | None]:
    pending = draft.status.pending_cohort
    if pending is None:
        return draft, None
    view = cohort.observe(pending, scene.replicas, scene.spec, scene.now)
    draft = cohort.move(draft, view.event)
    if view.event is cohort.CohortEvent.ADMITTED:
        return _admitted(draft, pending, view), None
    if view.event is cohort.CohortEvent.WAITING:
        return draft, None
    kept = pending.model_copy(update={"admitted_vector": cohort.admitted_vector(pending, view)})
    draft = draft.having(pending_cohort=kept)
    current = scene.target.vector
    vector = cohort.rollback_vector(pending, current, scene.spec)
    if vector == current:
        generation = scene.target.metadata.generation
        return landing.exhausted(draft, current, generation, scene.world), None
    timeout = scene.spec.sampling.pending_timeout_seconds
    return draft, Wish(cause=Cause.ROLLBACK, vector=vector, why=f"{view.describe()} after {timeout} s")


def _admitted(draft: Draft, admitted: PendingCohort, view: cohort.CohortView) -> Draft:
    status = draft.status
    if rebalance.state_of(status.rebalance) is rebalance.RebalanceState.RECEIVER_ACQUIRE:
        message = "the receiver's replica was admitted"
        draft = draft.having(rebalance=rebalance.move(status.rebalance, rebalance.RebalanceEvent.ADMITTED, message))
    if status.exhaustion is not None and exhaustion.is_satisfied(status.exhaustion, admitted):
        draft = landing.end_episode(draft, exhaustion.ExhaustionEvent.SATISFIED)
    return draft.saying(EventReason.ADMITTED, view.describe_admission())


def _follow_rebalance(draft: Draft, scene: Scene) -> tuple[Draft, Wish | None]:
    current, last = draft.status.rebalance, draft.status.last_scale_down
    if current is None or rebalance.state_of(current) is not rebalance.RebalanceState.DONOR_RELEASE:
        return draft, None
    if retirement.describe_activity(scene.replicas, last):
        return draft, None
    vector = scene.target.vector
    blocked = limits.waiting_roles(scene.replicas, draft.status).get(current.receiver_role, "")
    problem = rebalance.recheck(current, scene.target, scene.spec, blocked)
    if not problem:
        grown = {**vector, current.receiver_role: vector[current.receiver_role] + 1}
        return draft, Wish(cause=Cause.RECEIVER_ACQUIRE, vector=grown, why=f"{current.donor_role} released a replica")
    return _way_back(draft, scene, current.donor_role, current.donor_target_replicas, problem)


def _way_back(
    draft: Draft, scene: Scene, donor: str, released_to: int | None, problem: str
) -> tuple[Draft, Wish | None]:
    """Restore the donor when nobody changed it since and the result is legal; else end here."""
    vector = scene.target.vector
    restored = {**vector, donor: vector.get(donor, 0) + 1}
    if vector.get(donor) == released_to and legality.is_legal(restored, scene.spec):
        return draft, Wish(cause=Cause.DONOR_RESTORE, vector=restored, why=problem)
    moved = rebalance.move(draft.status.rebalance, rebalance.RebalanceEvent.UNFIT, problem)
    return draft.having(rebalance=moved).warning(EventReason.REBALANCE_BLOCKED, problem), None


STEPS: Final[tuple[Step, ...]] = (
    _check_cache,
    _trace_intent,
    _adopt,
    _end_episode,
    _follow_scale_down,
    _follow_cohort,
    _follow_rebalance,
)


def _stopped(draft: Draft, scene: Scene, found: Wish | Look, decision_id: str) -> Settled:
    settled = _settled(draft, scene)
    if isinstance(found, Look):
        return replace(settled, planning=Planning.FRESH_READ, why=found.why, wait=found.wait)
    settled = replace(settled, planning=Planning.RECOMMEND, why=found.why)
    if refusals.is_waiting(draft.status, scene.now):
        return settled
    pending = make_intent(draft, scene.world, found, decision_id)
    return replace(
        settled,
        status=intent.store(draft, pending).status,
        action=CommitVector(intent=pending, why=found.why),
    )


def _settled(draft: Draft, scene: Scene) -> Settled:
    bound, active = standing.findings(Standing.OWNER, scene.why)
    status, now = draft.status, scene.now
    return Settled(
        status=status,
        standing=Standing.OWNER,
        planning=Planning.COMMIT,
        why="",
        bound=bound,
        active=active,
        wait=limits.next_look(status, scene.spec, now),
        limits=limits.target_limits(status, scene.replicas, now),
        growth_blocked=limits.waiting_roles(scene.replicas, status),
        growth_caps=exhaustion.growth_caps(status, now),
        blocked=limits.judge_blocked(status, scene.replicas, scene.spec, now),
        notes=draft.notes,
    )
