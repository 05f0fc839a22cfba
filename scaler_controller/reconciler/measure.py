"""A decision to the series of its scaler."""

from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api.meta import ConditionStatus, ObjectKey
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.decision import Decision


def measure(metrics: Metrics, scaler: ModelDeploymentScaler, decision: Decision) -> None:
    """Set every gauge of the scaler to what this pass found."""
    key = scaler.metadata.key
    _info(metrics, key, scaler)
    _conditions(metrics, key, decision.status)
    if decision.observation is None:
        return
    for name, reading in decision.observation.readings.items():
        labels = (key.namespace, key.name, name)
        recommendation = decision.observation.recommendations[name]
        plan = decision.plan.roles.get(name) if decision.plan is not None else None
        current = decision.observation.counts[name].current
        metrics.current.labels(*labels).set(current)
        metrics.ready.labels(*labels).set(reading.ready_replicas)
        metrics.recommended.labels(*labels).set(recommendation.replicas)
        metrics.constrained.labels(*labels).set(plan.replicas if plan is not None else current)
        for gauge, value in (
            (metrics.demand, recommendation.demand),
            (metrics.forecast, recommendation.forecast),
            (metrics.ttft, None if reading.ttft_milliseconds is None else float(reading.ttft_milliseconds) / 1000),
            (metrics.itl, None if reading.itl_milliseconds is None else float(reading.itl_milliseconds) / 1000),
        ):
            gauge.labels(*labels).set(float("nan") if value is None else value)


def _info(metrics: Metrics, key: ObjectKey, scaler: ModelDeploymentScaler) -> None:
    metrics.info.remove_by_labels({"namespace": key.namespace, "scaler": key.name})
    spec = scaler.spec
    labels = (key.namespace, key.name, spec.target_ref.name, spec.mode, spec.algorithm.type)
    metrics.info.labels(*labels).set(1)


def _conditions(metrics: Metrics, key: ObjectKey, status: ScalerStatus) -> None:
    metrics.condition.remove_by_labels({"namespace": key.namespace, "scaler": key.name})
    for condition in status.conditions:
        labels = (key.namespace, key.name, condition.type, condition.reason)
        value = {ConditionStatus.TRUE: 1.0, ConditionStatus.FALSE: 0.0, ConditionStatus.UNKNOWN: -1.0}
        metrics.condition.labels(*labels).set(value[condition.status])
