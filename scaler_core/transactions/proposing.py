"""`propose`: what becomes of a plan, a write of its own, a donation, or nothing."""

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import EventReason, Reason
from scaler_core.api.scaler_spec import RebalancePolicy, ScalerSpec
from scaler_core.api.scaler_status import Cause
from scaler_core.model.action import CommitVector, render_vector
from scaler_core.model.plan import Blocked, Plan, RolePlan
from scaler_core.model.world import World
from scaler_core.transactions import donors, exhaustion, intent, landing, rebalance
from scaler_core.transactions.donors import Denial, Donation
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.exhaustion import ExhaustionEvent
from scaler_core.transactions.legality import is_legal
from scaler_core.transactions.owner import Wish, make_intent
from scaler_core.transactions.rebalance import RebalanceEvent, RebalanceState
from scaler_core.transactions.settled import Planning, Proposal, Settled


def propose(settled: Settled, plan: Plan, world: World, decision_id: str) -> Proposal:
    """Turn a plan into at most one write, whose intent the returned status holds.

    Args:
        settled: this pass's transactions.
        plan: this pass's plan. Call this only with a plan that may move counts: one made from a sample that was taken
            after the last commit landed.
        world: this pass's world.
        decision_id: a fresh identifier of 1 to 64 characters of [0-9A-Za-z-].
    """
    target = world.target
    may_commit = settled.planning is Planning.COMMIT and settled.action is None
    if target is None or not may_commit or (plan.blocked is not None and plan.blocked.stops_planning):
        return Proposal(status=settled.status)
    draft = _relax(Draft(status=settled.status), plan, target, world.scaler.spec)
    choice = _look_for_donor(draft, settled, plan, world, target)
    if isinstance(choice, Donation):
        return _start(draft, choice, world, decision_id)
    blocked = None
    if isinstance(choice, Denial):
        draft, blocked = _deny(draft, choice)
    return _commit(draft, plan, world, target, decision_id, blocked)


def _relax(draft: Draft, plan: Plan, target: ModelDeployment, spec: ScalerSpec) -> Draft:
    """A recommendation back at the baseline ends the episode; one that concludes nothing does not."""
    episode = draft.status.exhaustion
    recommended = {name: role.recommended for name, role in plan.roles.items() if role.is_conclusive}
    if episode is None or not exhaustion.is_relaxed(episode, recommended, target.vector, spec):
        return draft
    return landing.end_episode(draft, ExhaustionEvent.RELAXED)


def _look_for_donor(
    draft: Draft, settled: Settled, plan: Plan, world: World, target: ModelDeployment
) -> Donation | Denial | None:
    episode, spec = draft.status.exhaustion, world.scaler.spec
    is_waiting = rebalance.state_of(draft.status.rebalance) in {*rebalance.WAITING, RebalanceState.DONATION_ATTEMPTED}
    if episode is None or not is_waiting or spec.rebalance.policy is RebalancePolicy.DISABLED:
        return None
    if rebalance.had_donation(draft.status):
        needy = donors.receivers(plan, episode, target, spec)
        message = "this exhaustion episode has had its donation"
        return Denial(event=RebalanceEvent.ILLEGAL, message=message) if needy else None
    if settled.limits.growth_blocked or settled.limits.shrink_blocked:
        return None
    return donors.choose(plan, episode, target, spec)


def _start(draft: Draft, donation: Donation, world: World, decision_id: str) -> Proposal:
    old, episode = draft.status.rebalance, draft.status.exhaustion
    if old is None or episode is None:
        raise ValueError("a donation needs an exhaustion episode")
    legs = {
        "receiver_role": donation.receiver,
        "donor_role": donation.donor,
        "donor_target_replicas": donation.released[donation.donor],
        "receiver_target_replicas": donation.acquired[donation.receiver],
        "started_at": world.now,
        "exhaustion_episode_generation": episode.episode_generation,
    }
    draft = draft.having(rebalance=old.model_copy(update=legs))
    why = f"{donation.receiver} found no capacity and {donation.donor} gives a replica"
    return _write(draft, Wish(cause=Cause.DONOR_RELEASE, vector=donation.released, why=why), world, decision_id, None)


def _deny(draft: Draft, denial: Denial) -> tuple[Draft, Blocked]:
    old = draft.status.rebalance
    if rebalance.state_of(old) is RebalanceState.DONATION_ATTEMPTED:
        moved = old  # the attempt stays on record
    else:
        moved = rebalance.move(old, denial.event, denial.message)
    is_illegal = denial.event is RebalanceEvent.ILLEGAL
    if moved is not None and rebalance.state_of(moved) is not rebalance.state_of(old):
        event = EventReason.REBALANCE_BLOCKED if is_illegal else EventReason.REBALANCE_NOT_APPLICABLE
        draft = draft.warning(event, denial.message)
    reason = Reason.REBALANCE_BLOCKED if is_illegal else Reason.REBALANCE_NOT_APPLICABLE
    return draft.having(rebalance=moved), Blocked(reason=reason, message=denial.message)


def _commit(
    draft: Draft, plan: Plan, world: World, target: ModelDeployment, decision_id: str, blocked: Blocked | None
) -> Proposal:
    vector = {role: plan.vector.get(role, count) for role, count in target.vector.items()}
    if vector == target.vector:
        status = draft.having(refusal=None).status  # what was refused is not wanted any more
        return Proposal(status=status, blocked=blocked, notes=draft.notes)
    if not is_legal(vector, world.scaler.spec):
        message = f"the plan {render_vector(vector)} is outside bounds or ratios and was not written"
        blocked = Blocked(reason=Reason.RATIO_CONFLICT, message=message)
        return Proposal(status=draft.status, blocked=blocked, notes=draft.notes)
    return _write(draft, Wish(cause=Cause.PLAN, vector=vector, why=_why(plan, target)), world, decision_id, blocked)


def _write(draft: Draft, wish: Wish, world: World, decision_id: str, blocked: Blocked | None) -> Proposal:
    pending = make_intent(draft, world, wish, decision_id)
    return Proposal(
        status=intent.store(draft, pending).status,
        action=CommitVector(intent=pending, why=wish.why),
        blocked=blocked,
        notes=draft.notes,
    )


def _why(plan: Plan, target: ModelDeployment) -> str:
    """The explanation of every role that moves."""
    moved = (
        plan.roles[role]
        for role, count in target.vector.items()
        if role in plan.roles and plan.vector.get(role) != count
    )
    return "; ".join(map(_cause, moved))


def _cause(role: RolePlan) -> str:
    """What was measured, and what the limits made of it where they changed it."""
    if role.replicas == role.recommended:
        return f"{role.role}: {role.asked or role.reason}"
    asked = f"{role.role} asks for {role.recommended} ({role.asked or role.reason})"
    return f"{asked} and gets {role.replicas}: {role.message}"
