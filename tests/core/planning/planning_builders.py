"""Short rows for planning tests: legal and unhindered unless they say otherwise."""

from collections.abc import Sequence
from typing import Any

from scaler_core.api.deployment import RoleKind
from scaler_core.api.quantity import Quantity
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Behavior, Ratio, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.model.plan import PlanInput, RoleInput, TargetLimits
from scaler_core.model.recommendation import Recommendation

FAST = Behavior(
    scale_up=ScaleUp(step_policy=StepPolicy(type=StepType.PODS, value=1024)),
    scale_down=ScaleDown(step_policy=StepPolicy(type=StepType.PODS, value=1024)),
)


def ratio(numerator: str, denominator: str, low: object = None, high: object = None, target: object = None) -> Ratio:
    def quantity(value: object) -> Quantity | None:
        return None if value is None else Quantity(str(value))

    return Ratio(
        numerator_role=numerator,
        denominator_role=denominator,
        min=quantity(low),
        max=quantity(high),
        target=quantity(target),
    )


def recommend(replicas: int, **holds: Any) -> Recommendation:
    return Recommendation(
        replicas=replicas, reason=RoleReason.TOKEN_THROUGHPUT, message=f"asks for {replicas}", **holds
    )


def role(name: str, current: int, recommended: int, bounds: tuple[int, int] = (1, 1024), **changes: Any) -> RoleInput:
    wish = changes.pop("recommendation", recommend(recommended))
    values: dict[str, Any] = {
        "kind": RoleKind.SERVER,
        "ready": current,
        "is_complete": True,
        "stabilized_up": recommended,
        "stabilized_down": recommended,
        "minimum": bounds[0],
        "maximum": bounds[1],
    }
    return RoleInput(name=name, current=current, recommendation=wish, **{**values, **changes})


def given(
    roles: Sequence[RoleInput],
    ratios: Sequence[Ratio] = (),
    behavior: Behavior = FAST,
    limits: TargetLimits | None = None,
    now: float = 1000.0,
) -> PlanInput:
    return PlanInput(
        now=now, roles=tuple(roles), ratios=tuple(ratios), behavior=behavior, limits=limits or TargetLimits()
    )
