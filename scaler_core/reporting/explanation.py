"""One pass as a document for people and programs: `/debug/scalers/...` and `mds explain`."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.observation import Observation
from scaler_core.model.plan import Plan, PlanInput, RolePlan
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation
from scaler_core.model.world import Snapshot
from scaler_core.planning.history import RecommendationHistory
from scaler_core.reporting.explained import (
    Explained,
    ExplainedBlocked,
    ExplainedReading,
    ExplainedRecommendation,
    ExplainedRole,
    ExplainedStage,
    ExplainedWindows,
    Hold,
)
from scaler_core.reporting.open_transactions import open_transactions
from scaler_core.reporting.outlook import COMMIT_STAGE, Waiting, growth_outlook, shrink_outlook
from scaler_core.transactions.settled import Planning, Settled, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFacts:
    """What a pass saw and what it made of it."""

    snapshot: Snapshot
    settled: Settled
    status: ScalerStatus
    """As the pass wants it stored."""
    observed: Observation | None = None
    plan: Plan | None = None
    given: PlanInput | None = None
    """What the planner was asked; None where the target could not be planned at all."""
    histories: Mapping[str, RecommendationHistory]


def explain(facts: PassFacts) -> Explained:
    """What the pass saw, every stage of what it made of it, and what it waits for."""
    world, spec, plan = facts.snapshot.world, facts.snapshot.world.scaler.spec, facts.plan
    binding, scrape = facts.status.binding, facts.snapshot.scrape
    return Explained(
        time=world.now,
        scaler=str(world.key),
        target=spec.target_ref.name,
        mode=spec.mode,
        algorithm=spec.algorithm.type,
        interval_seconds=spec.sampling.interval_seconds,
        standing=facts.settled.standing,
        why=facts.settled.why,
        term=None if binding is None else binding.term,
        current=world.target.vector if world.target is not None else {},
        sampled_at=None if scrape is None else scrape.taken_at,
        vector=plan.vector if plan is not None else {},
        blocked=None
        if plan is None or plan.blocked is None
        else ExplainedBlocked(reason=plan.blocked.reason, message=plan.blocked.message),
        roles={} if facts.observed is None else _roles(facts, facts.observed),
        transactions=open_transactions(facts.status, world),
        conditions=facts.status.conditions,
        last_commit=facts.status.last_commit,
    )


def _roles(facts: PassFacts, observed: Observation) -> dict[str, ExplainedRole]:
    return {name: _role(facts, observed, name) for name in observed.readings}


def _role(facts: PassFacts, observed: Observation, name: str) -> ExplainedRole:
    counts, recommendation = observed.counts[name], observed.recommendations[name]
    plan = None if facts.plan is None else facts.plan.roles.get(name)
    bounds = facts.snapshot.world.scaler.spec.role(name)
    explained = ExplainedRole(
        kind=counts.kind,
        current=counts.current,
        minimum=None if bounds is None else bounds.min_replicas,
        maximum=None if bounds is None else bounds.max_replicas,
        reading=_reading(observed.readings[name]),
        recommendation=_recommendation(recommendation),
        stages=() if plan is None else _stages(plan),
        replicas=counts.current if plan is None else plan.replicas,
        reason=recommendation.reason if plan is None else plan.reason,
        message=recommendation.message if plan is None else plan.message,
        windows=_windows(facts, name),
    )
    return explained if plan is None or facts.given is None else _with_outlooks(explained, facts, plan, facts.given)


def _with_outlooks(explained: ExplainedRole, facts: PassFacts, plan: RolePlan, given: PlanInput) -> ExplainedRole:
    world, history = facts.snapshot.world, facts.histories.get(plan.role, RecommendationHistory())
    waiting = Waiting(spec=world.scaler.spec, status=facts.status, history=history, now=world.now)
    stop = _stop(facts)
    outlooks = {
        "growth": growth_outlook(plan, given, waiting, stop),
        "shrink": shrink_outlook(plan, given, waiting, stop),
    }
    return explained.model_copy(update=outlooks)


def _stop(facts: PassFacts) -> Hold | None:
    """What keeps every count where it is: an illegal vector, or a scaler that may not commit."""
    blocked = facts.plan.blocked if facts.plan is not None else None
    if blocked is not None and blocked.stops_planning:
        return Hold(stage=COMMIT_STAGE, reason=blocked.reason, message=blocked.message)
    settled = facts.settled
    if settled.planning is Planning.COMMIT:
        return None
    is_owner = settled.standing is Standing.OWNER
    reason = settled.planning if is_owner else settled.active.reason
    return Hold(stage=COMMIT_STAGE, reason=reason, message=settled.why or settled.active.message)


def _windows(facts: PassFacts, name: str) -> ExplainedWindows:
    behavior, history = (
        facts.snapshot.world.scaler.spec.behavior,
        facts.histories.get(name, RecommendationHistory()),
    )
    growth = behavior.scale_up.stabilization_window_seconds
    shrink = behavior.scale_down.stabilization_window_seconds
    return ExplainedWindows(
        growth_seconds=growth,
        growth_lowest=history.lowest(growth),
        shrink_seconds=shrink,
        shrink_highest=history.highest(shrink),
        unbroken_since=history.unbroken_since,
        samples=len(history.times),
    )


def _stages(plan: RolePlan) -> tuple[ExplainedStage, ...]:
    return tuple(
        ExplainedStage(stage=stage.stage, replicas=stage.replicas, reason=stage.reason or "", message=stage.message)
        for stage in plan.stages
    )


def _recommendation(recommendation: Recommendation) -> ExplainedRecommendation:
    return ExplainedRecommendation(
        replicas=recommendation.replicas,
        reason=recommendation.reason,
        message=recommendation.message,
        demand=recommendation.demand,
        forecast=recommendation.forecast,
        holds_scale_down=recommendation.holds_scale_down,
        holds_growth=recommendation.holds_growth,
    )


def _reading(reading: RoleReading) -> ExplainedReading:
    return ExplainedReading(
        state=reading.state,
        complete=reading.is_complete,
        ready_replicas=reading.ready_replicas,
        running=reading.running,
        waiting=reading.waiting,
        prompt_tokens_per_second=reading.prompt_rate,
        generation_tokens_per_second=reading.generation_rate,
        kv_cache_usage=reading.kv_cache_usage,
        ttft_milliseconds=None if reading.ttft_milliseconds is None else float(reading.ttft_milliseconds),
        itl_milliseconds=None if reading.itl_milliseconds is None else float(reading.itl_milliseconds),
        problems=reading.problems,
    )
