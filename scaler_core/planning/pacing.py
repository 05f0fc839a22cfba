"""The fourth stage: how many replicas one pass may add to a role or remove from it."""

from typing import Final

from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.planning.limits import Limit, RoleView, Rule

DEFAULT_DOWN_STEP: Final = 1  # replicas per role and pass where no downward policy is given


def growth_step(policy: ScaleUp, current: int) -> int:
    """Replicas that one pass may add: the step policy alone, or else the larger of both bounds (percents round up)."""
    if policy.step_policy is not None:
        return policy_step(policy.step_policy, current)
    return max(policy.max_step_replicas, _percent(policy.max_step_percent, current))


def shrink_step(policy: ScaleDown, current: int) -> int:
    """Replicas that one pass may remove: the step policy, or else one."""
    return DEFAULT_DOWN_STEP if policy.step_policy is None else policy_step(policy.step_policy, current)


def policy_step(policy: StepPolicy, current: int) -> int:
    """The size of a step in replicas; Percent is of `current`, rounded up."""
    match policy.type:
        case StepType.PODS:
            return policy.value
        case StepType.PERCENT:
            return _percent(policy.value, current)


def step_up(view: RoleView) -> Limit:
    """One pass adds at most one step."""
    policy, current = view.behavior.scale_up, view.role.current
    step = growth_step(policy, current)
    if policy.step_policy is None:
        source = f"maxStepReplicas {policy.max_step_replicas}, maxStepPercent {policy.max_step_percent}"
    else:
        source = f"scaleUp.stepPolicy {_described(policy.step_policy)}"
    message = f"one pass adds at most {step} ({source})" if step else f"growth is off ({source})"
    return Limit(replicas=current + step, reason=RoleReason.PACING_BOUNDED, message=message)


def step_down(view: RoleView) -> Limit:
    """One pass removes at most one step."""
    policy, current = view.behavior.scale_down, view.role.current
    step = shrink_step(policy, current)
    source = "the default" if policy.step_policy is None else f"scaleDown.stepPolicy {_described(policy.step_policy)}"
    message = f"one pass removes at most {step} ({source})" if step else f"shrinkage is off ({source})"
    return Limit(replicas=current - step, reason=RoleReason.PACING_BOUNDED, message=message)


def _percent(percent: int, current: int) -> int:
    return -(-current * percent // 100)


def _described(policy: StepPolicy) -> str:
    return f"{policy.type} {policy.value}"


CEILINGS: Final[tuple[Rule, ...]] = (step_up,)  # capacity arrives in steps that the cluster can admit
FLOORS: Final[tuple[Rule, ...]] = (step_down,)  # a wrong removal costs one step
