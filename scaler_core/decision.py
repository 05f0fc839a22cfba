"""The whole pass on one screen: `decide(snapshot, memory) -> (decision, memory)`.

    settle     what earlier passes began: binding, intent, cohort, retirement, rebalance
    observe    a new sample to readings and recommendations
    constrain  recommendations to one vector
    propose    the vector to at most one write
    report     conditions, status, events

Pure: the same snapshot, memory and decision ID give the same decision, wherever they are replayed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scaler_core import observation, transactions
from scaler_core.algorithms.persistence import predictors
from scaler_core.api.reasons import Reason
from scaler_core.api.scaler_status import Cause, ScalerStatus
from scaler_core.constraining import make_plan
from scaler_core.model.action import Action, CommitVector, Note
from scaler_core.model.finding import Finding
from scaler_core.model.observation import Observation
from scaler_core.model.plan import Blocked, Plan
from scaler_core.model.world import Snapshot, World
from scaler_core.observation import Memory
from scaler_core.reporting.conditions import judge_blocked, judge_metrics, not_planned, update_conditions
from scaler_core.reporting.notes import tell_blocked
from scaler_core.reporting.observations import observe_roles
from scaler_core.transactions.exhaustion import is_wanted
from scaler_core.transactions.settled import Planning, Proposal, Settled

_OF_GROWTH: Final = frozenset({Reason.RESOURCE_EXHAUSTED, Reason.REBALANCE_NOT_APPLICABLE, Reason.REBALANCE_BLOCKED})
"""Why growth that found no room is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a pass found, wants done and says."""

    status: ScalerStatus
    """What the status should say; with an action it holds the intent, to be stored before the action."""
    action: Action | None = None
    notes: tuple[Note, ...] = ()
    wake_after: float | None = None
    """Clock seconds after which another pass is due although nothing happened; None awaits a change."""
    reads_target: bool = False
    """The next pass must read the target past the cache."""
    plan: Plan | None = None
    observation: Observation | None = None


def decide(snapshot: Snapshot, memory: Memory | None, decision_id: str) -> tuple[Decision, Memory]:
    """One pass over one scaler.

    Args:
        snapshot: everything that the decision depends on, the time included.
        memory: what the last pass of this process returned; None is restored from the status.
        decision_id: identity of the commit, should there be one; 1 to 64 of `[0-9A-Za-z-]`, never used before.
    """
    world = snapshot.world
    memory = (memory or Memory.restore(world)).for_world(world)
    settled = transactions.settle(world, decision_id)
    target = world.target
    if target is None or settled.planning is Planning.STOPPED:
        findings = (settled.bound, settled.active, *not_planned(settled.why))
        return _decision(world, settled, settled.status, findings, action=settled.action, notes=settled.notes), memory
    observed, memory = observation.observe(snapshot, target, memory)
    plan = make_plan(world, target, settled, observed, memory.histories)
    proposal = _propose(world, settled, plan, memory, decision_id)
    roles = observe_roles(proposal.status, target, observed, plan.roles, memory.histories)
    status = proposal.status.model_copy(update={"roles": roles, "predictors": predictors(memory.algorithm)})
    metrics = judge_metrics(tuple(observed.readings.values()), _undone_growth(settled, memory) or plan.blocked)
    findings = (settled.bound, settled.active, metrics, judge_blocked(*_blocks(world, settled, plan, proposal)))
    return _decision(
        world,
        settled,
        status,
        findings,
        action=settled.action or proposal.action,
        notes=(*settled.notes, *proposal.notes),
        plan=plan,
        observed=observed,
    ), memory


def _propose(world: World, settled: Settled, plan: Plan, memory: Memory, decision_id: str) -> Proposal:
    """The plan moves counts only on a sample taken after the last commit landed: one step for each sample."""
    sampled_at, last = memory.signals.consumed_at, settled.status.last_commit
    is_stopped = plan.blocked is not None and plan.blocked.stops_planning
    is_spent = sampled_at is None or (last is not None and sampled_at <= last.timestamp)
    if settled.action is not None or settled.planning is not Planning.COMMIT or is_stopped or is_spent:
        return Proposal(status=settled.status)
    return transactions.propose(settled, plan, world, decision_id)


def _undone_growth(settled: Settled, memory: Memory) -> Blocked | None:
    """Planning stopped for a rollback, until a sample that was taken after it (spec, Conditions: MetricsReady)."""
    sampled_at = memory.signals.consumed_at
    is_undoing = isinstance(settled.action, CommitVector) and settled.action.intent.cause is Cause.ROLLBACK
    last = settled.status.last_commit
    is_unseen = last is not None and sampled_at is not None and sampled_at <= last.timestamp
    if is_undoing or (is_unseen and last is not None and last.cause is Cause.ROLLBACK):
        message = "growth found no capacity and was rolled back; the next sample is planned with again"
        return Blocked(reason=Reason.RESOURCE_EXHAUSTED, message=message, stops_planning=True)
    return None


def _blocks(world: World, settled: Settled, plan: Plan, proposal: Proposal) -> tuple[Blocked | None, ...]:
    """An illegal vector first, then what the transactions hold, then what the plan held."""
    illegal = plan.blocked if plan.blocked is not None and plan.blocked.stops_planning else None
    return illegal, proposal.blocked, _held(world, settled, plan), plan.blocked


def _held(world: World, settled: Settled, plan: Plan) -> Blocked | None:
    """What the transactions hold; growth without room is held only as long as somebody asks for it."""
    status, blocked = settled.status, settled.blocked
    if status.exhaustion is None or blocked is None or blocked.reason not in _OF_GROWTH:
        return blocked
    return blocked if is_wanted(status.exhaustion, status.pending_cohort, plan, world.scaler.spec) else None


def _decision(
    world: World,
    settled: Settled,
    status: ScalerStatus,
    findings: Iterable[Finding],
    *,
    action: Action | None,
    notes: tuple[Note, ...],
    plan: Plan | None = None,
    observed: Observation | None = None,
) -> Decision:
    generation, before = world.scaler.metadata.generation, world.scaler.status.conditions
    conditions = update_conditions(before, findings, generation, world.now)
    return Decision(
        status=status.model_copy(update={"conditions": conditions, "observed_generation": generation}),
        action=action,
        notes=(*notes, *tell_blocked(before, conditions)),
        wake_after=settled.wait,
        reads_target=settled.planning is Planning.FRESH_READ,
        plan=plan,
        observation=observed,
    )
