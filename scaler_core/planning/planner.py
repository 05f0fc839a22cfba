"""Recommendations to one vector: bounds, stabilization, guards, pacing, ratios, and the explanation of each.

illegal current vector ----------------------------> Blocked, nothing is planned
role     --> constrain (chain.py: the first four stages)
component -> project (projection.py: direction, capacity-first vector)
role     --> RolePlan (every stage kept)   target --> Blocked (what a person should know)
"""

from scaler_core.api.reasons import Reason, RoleReason
from scaler_core.model.plan import Blocked, Plan, PlanInput, RoleInput, RolePlan, Stage, StageResult
from scaler_core.planning.chain import Constrained, constrain
from scaler_core.planning.explanation import RatioHold, ratio_hold, ratio_stage
from scaler_core.planning.legality import illegality
from scaler_core.planning.limits import RoleView
from scaler_core.planning.projection import Projection, lattices, project

_HELD_STAGES = frozenset({Stage.GUARDS, Stage.PACING})


def plan(given: PlanInput) -> Plan:
    """The vector of one pass.

    It is inside bounds and bands, moves no role further than its step, moves no held role, moves each component in one
    direction only, and is the current vector where nothing may move. Equal inputs have equal plans, in any role order.
    """
    blocked = illegality(given)
    if blocked is not None:
        return _stopped(given, blocked)
    by_name = {role.name: role for role in given.roles}
    projections = [
        project(lattice, tuple(constrain(_view(given, by_name[name], lattice.roles)) for name in lattice.roles))
        for lattice in lattices(tuple(by_name), given.ratios)
    ]
    holds = [ratio_hold(projection) for projection in projections]
    plans = {
        role_plan.role: role_plan
        for projection, hold in zip(projections, holds, strict=True)
        for role_plan in _role_plans(projection, hold)
    }
    ordered = {name: plans[name] for name in by_name}
    vector = {name: role_plan.replicas for name, role_plan in ordered.items()}
    return Plan(vector=vector, roles=ordered, blocked=_blocked(ordered, holds))


def views(given: PlanInput) -> dict[str, RoleView]:
    """Every role as the limits see it, by name: what `plan` asks them, for those who explain it."""
    by_name = {role.name: role for role in given.roles}
    return {
        name: _view(given, by_name[name], lattice.roles)
        for lattice in lattices(tuple(by_name), given.ratios)
        for name in lattice.roles
    }


def _view(given: PlanInput, role: RoleInput, component: tuple[str, ...]) -> RoleView:
    return RoleView(
        role=role,
        now=given.now,
        behavior=given.behavior,
        target=given.limits,
        is_in_cohort_component=not given.limits.cohort_roles.isdisjoint(component),
    )


def _role_plans(projection: Projection, hold: RatioHold | None) -> list[RolePlan]:
    return [
        _role_plan(member, (*member.stages, ratio_stage(projection, position, hold)))
        for position, member in enumerate(projection.members)
    ]


def _role_plan(member: Constrained, stages: tuple[StageResult, ...]) -> RolePlan:
    """The last stage that changed the count explains it; where none did, the recommendation does."""
    role, recommendation = member.view.role, member.view.role.recommendation
    last = next((stage for stage in reversed(stages) if stage.reason is not None), None)
    return RolePlan(
        role=role.name,
        current=role.current,
        recommended=recommendation.replicas,
        replicas=stages[-1].replicas,
        reason=recommendation.reason if last is None or last.reason is None else last.reason,
        message=recommendation.message if last is None else last.message,
        stages=stages,
        asked=recommendation.message,
        release_blocked=member.floor.message if member.floor.replicas >= role.current else "",
        is_conclusive=role.is_complete and role.ready > 0 and not recommendation.holds_growth,
    )


def _blocked(plans: dict[str, RolePlan], holds: list[RatioHold | None]) -> Blocked | None:
    """What the `Blocked` condition says.

    `RatioConflict` where a component stays because its steps are too small for its ratios; `PacingBounded` where a step
    limit or a guard held a recommendation. Bounds and windows at work are ordinary and block nothing.
    """
    stuck = [hold for hold in holds if hold is not None]
    conflicts = [hold.message for hold in stuck if hold.is_conflict]
    if conflicts:
        return Blocked(reason=Reason.RATIO_CONFLICT, message="; ".join(conflicts))
    held = [
        f"{role_plan.role} asks for {role_plan.recommended} and gets {role_plan.replicas}: {stage.message}"
        for role_plan in plans.values()
        for stage in role_plan.stages
        if stage.stage in _HELD_STAGES and stage.reason is not None
    ]
    messages = held + [hold.message for hold in stuck]
    return Blocked(reason=Reason.PACING_BOUNDED, message="; ".join(messages)) if messages else None


def _stopped(given: PlanInput, blocked: Blocked) -> Plan:
    """The plan from an illegal vector: every count stays."""
    is_bounds = blocked.reason is Reason.BOUNDS_CONFLICT
    reason = RoleReason.BOUNDS if is_bounds else RoleReason.RATIO_CONFLICT
    plans = {
        role.name: RolePlan(
            role=role.name,
            current=role.current,
            recommended=role.recommendation.replicas,
            replicas=role.current,
            reason=reason,
            message=blocked.message,
            stages=(),
        )
        for role in given.roles
    }
    return Plan(vector={role.name: role.current for role in given.roles}, roles=plans, blocked=blocked)
