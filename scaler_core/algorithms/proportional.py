"""`Proportional`: one live measurement over a fixed target, with a dead band (spec, Proportional).

The ratio and the dead band follow the Kubernetes Horizontal Pod Autoscaler's AverageValue rule.
"""

from fractions import Fraction

from scaler_core.algorithms import holding
from scaler_core.algorithms.demand import metric_total
from scaler_core.algorithms.sizing import replicas_for
from scaler_core.algorithms.wording import number, ready_replicas, replicas
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Metric, Proportional
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation


def target_of(role: str, spec: Proportional) -> Fraction | None:
    """What one ready replica of the role should carry; None for a role without a target of its own."""
    return next((entry.target.value for entry in spec.role_targets if entry.name == role), None)


def recommend(reading: RoleReading, *, target: Fraction, spec: Proportional, current: int) -> Recommendation:
    """`max(1, ceil(total / target))`, or the current count while `|total / (ready x target) - 1| <= tolerance`.

    No load is within no tolerance, not even within a tolerance of one: an idle role comes down.
    """
    total = metric_total(reading, spec.metric)
    if total is None:
        return holding.missing(reading, current, spec.metric.value)
    load = total / reading.ready_replicas
    over = f"over {ready_replicas(reading.ready_replicas)} is {number(load)} each against a target of {number(target)}"
    measured = f"{_measured(reading, spec.metric, total)} {over}"
    tolerance = spec.tolerance.value
    if total and abs(load / target - 1) <= tolerance:
        return Recommendation(
            replicas=current,
            reason=RoleReason.WITHIN_TOLERANCE,
            message=f"{measured}, within the tolerance of {number(tolerance * 100)} %: holding {replicas(current)}",
            demand=float(total),
        )
    wanted = replicas_for(total, target)
    formula = f"ceil({number(total)} / {number(target)}) = {wanted}" if total else "no load needs 1 replica"
    return Recommendation(
        replicas=wanted,
        reason=RoleReason.PROPORTIONAL,
        message=f"{measured}: {formula}",
        demand=float(total),
    )


def _measured(reading: RoleReading, metric: Metric, total: Fraction) -> str:
    scaled = f", scaled up from {number(reading.read_share * 100)} % of the Pods" if reading.read_share < 1 else ""
    match metric:
        case Metric.QUEUE_DEPTH:
            parts = f"running {number(reading.running or 0)} + waiting {number(reading.waiting or 0)}"
            return f"{parts} = {number(total)} requests{scaled}"
        case Metric.RUNNING_REQUESTS:
            return f"{number(total)} running requests{scaled}"
        case Metric.WAITING_REQUESTS:
            return f"{number(total)} waiting requests{scaled}"
        case Metric.PROMPT_TOKENS:
            return f"{number(total)} prompt tokens/s{scaled}"
        case Metric.GENERATION_TOKENS:
            return f"{number(total)} generated tokens/s{scaled}"
        case Metric.TOTAL_TOKENS:
            return f"{number(total)} tokens/s{scaled}"
