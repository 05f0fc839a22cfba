"""The fourth stage: how many replicas one pass may add to a role or remove from it."""

from typing import Final

from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import StepPolicy
from scaler_core.planning.limits import Limit, RoleView, Rule


def step_up(view: RoleView) -> Limit:
    """One pass adds at most one step."""
    policy, current = view.behavior.scale_up, view.role.current
    step = policy.step(current)
    if policy.step_policy is None:
        source = f"maxStepReplicas {policy.max_step_replicas}, maxStepPercent {policy.max_step_percent}"
    else:
        source = f"scaleUp.stepPolicy {_described(policy.step_policy)}"
    message = f"one pass adds at most {step} ({source})" if step else f"growth is off ({source})"
    return Limit(replicas=current + step, reason=RoleReason.PACING_BOUNDED, message=message)


def step_down(view: RoleView) -> Limit:
    """One pass removes at most one step."""
    policy, current = view.behavior.scale_down, view.role.current
    step = policy.step(current)
    described = "is not set" if policy.step_policy is None else _described(policy.step_policy)
    source = f"scaleDown.stepPolicy {described}"
    message = f"one pass removes at most {step} ({source})" if step else f"shrinkage is off ({source})"
    return Limit(replicas=current - step, reason=RoleReason.PACING_BOUNDED, message=message)


def _described(policy: StepPolicy) -> str:
    return f"{policy.type} {policy.value}"


CEILINGS: Final[tuple[Rule, ...]] = (step_up,)  # capacity arrives in steps that the cluster can admit
FLOORS: Final[tuple[Rule, ...]] = (step_down,)  # a wrong removal costs one step
