"""Readings and plans to `status.roles[]`."""

from collections.abc import Mapping
from fractions import Fraction

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler_status import RoleObservation, ScalerStatus
from scaler_core.model.observation import Observation
from scaler_core.model.plan import RolePlan
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation
from scaler_core.planning.history import RecommendationHistory


def observe_roles(
    status: ScalerStatus,
    target: ModelDeployment,
    observed: Observation,
    plans: Mapping[str, RolePlan],
    histories: Mapping[str, RecommendationHistory],
) -> tuple[RoleObservation, ...]:
    """One entry for each role of the target, in its order; `status` keeps the times of growth."""
    found = []
    for name, current in target.vector.items():
        known = status.role(name) or RoleObservation(name=name)
        changes: dict[str, object] = {"current_replicas": current}
        if name in observed.readings:
            changes |= _measured(observed.readings[name])
        if name in observed.recommendations:
            changes |= _decided(current, observed.recommendations[name], plans.get(name))
        if name in histories:
            changes["stabilization_history"] = histories[name].to_status()
        found.append(known.model_copy(update=changes))
    return tuple(found)


def _measured(reading: RoleReading) -> dict[str, object]:
    return {
        "ready_replicas": reading.ready_replicas,
        "signal_state": reading.state,
        "prompt_tokens_per_second": _quantity(reading.prompt_rate),
        "generation_tokens_per_second": _quantity(reading.generation_rate),
        "running_requests": _whole(reading.running),
        "waiting_requests": _whole(reading.waiting),
        "kv_cache_usage": _quantity(reading.kv_cache_usage),
        "ttft_milliseconds": _quantity(reading.ttft_milliseconds),
        "itl_milliseconds": _quantity(reading.itl_milliseconds),
    }


def _decided(current: int, recommendation: Recommendation, plan: RolePlan | None) -> dict[str, object]:
    """The plan's reason replaces the algorithm's where the plan changed the request."""
    return {
        "raw_recommended_replicas": recommendation.replicas,
        "constrained_replicas": plan.replicas if plan is not None else current,
        "reason": str(plan.reason if plan is not None else recommendation.reason),
    }


def _quantity(value: float | Fraction | None) -> Quantity | None:
    return None if value is None else Quantity.of(value)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
