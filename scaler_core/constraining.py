"""The planning half of a pass: what was observed and what the transactions allow, to one vector."""

from collections.abc import Mapping

from scaler_core.api.deployment import ModelDeployment, Role
from scaler_core.api.scaler_spec import ScaledRole
from scaler_core.model.observation import Observation
from scaler_core.model.plan import Plan, PlanInput, RoleInput
from scaler_core.model.world import World
from scaler_core.planning import planner
from scaler_core.planning.eligibility import judge_eligibility
from scaler_core.planning.history import RecommendationHistory
from scaler_core.transactions.settled import Settled


def make_plan(
    world: World,
    target: ModelDeployment,
    settled: Settled,
    observed: Observation,
    histories: Mapping[str, RecommendationHistory],
) -> Plan:
    """The vector of this pass; the current one, with the reason, where the target cannot be planned at all."""
    ineligible = judge_eligibility(world.scaler.spec, target)
    if ineligible is not None:
        return Plan(vector=target.vector, blocked=ineligible)
    return planner.plan(plan_input(world, target, settled, observed, histories))


def plan_input(
    world: World,
    target: ModelDeployment,
    settled: Settled,
    observed: Observation,
    histories: Mapping[str, RecommendationHistory],
) -> PlanInput:
    """What the planner is given for a target that can be planned."""
    spec = world.scaler.spec
    roles = tuple(
        _role_input(world, role, bounds, settled, observed, histories.get(role.name, RecommendationHistory()))
        for role in target.spec.roles
        if (bounds := spec.role(role.name)) is not None
    )
    return PlanInput(now=world.now, roles=roles, ratios=spec.ratios, behavior=spec.behavior, limits=settled.limits)


def _role_input(
    world: World,
    role: Role,
    bounds: ScaledRole,
    settled: Settled,
    observed: Observation,
    history: RecommendationHistory,
) -> RoleInput:
    behavior, name = world.scaler.spec.behavior, role.name
    reading, known = observed.readings[name], settled.status.role(name)
    warming = {replica.ordinal for replica in observed.counts[name].warming}
    return RoleInput(
        name=name,
        kind=role.kind,
        current=role.replicas,
        ready=reading.ready_replicas,
        minimum=bounds.min_replicas,
        maximum=bounds.max_replicas,
        recommendation=observed.recommendations[name],
        is_complete=reading.is_complete,
        stabilized_up=history.lowest(behavior.scale_up.stabilization_window_seconds),
        stabilized_down=history.highest(behavior.scale_down.stabilization_window_seconds),
        lowest_ready=next((ordinal for ordinal in range(role.replicas) if ordinal not in warming), None),
        last_scale_up_at=known.last_scale_up_time if known is not None else None,
        growth_blocked=settled.growth_blocked.get(name),
        growth_cap=settled.growth_caps.get(name),
    )
