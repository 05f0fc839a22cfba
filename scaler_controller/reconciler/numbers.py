"""A decision as numbers for one line of the log."""

from typing import Any

from scaler_core.decision import Decision


def role_numbers(decision: Decision) -> dict[str, dict[str, Any]]:
    """By role: what was measured, asked for and planned; what is unknown is left out."""
    observed = decision.observation
    if observed is None:
        return {}
    found = {}
    for name, reading in observed.readings.items():
        recommendation, counts = observed.recommendations[name], observed.counts[name]
        plan = None if decision.plan is None else decision.plan.roles.get(name)
        numbers = {
            "state": reading.state,
            "complete": reading.is_complete,
            "current": counts.current,
            "ready": reading.ready_replicas,
            "running": reading.running,
            "waiting": reading.waiting,
            "prompt_tokens_per_second": reading.prompt_rate,
            "generation_tokens_per_second": reading.generation_rate,
            "ttft_ms": None if reading.ttft_milliseconds is None else float(reading.ttft_milliseconds),
            "itl_ms": None if reading.itl_milliseconds is None else float(reading.itl_milliseconds),
            "demand": recommendation.demand,
            "forecast": recommendation.forecast,
            "recommended": recommendation.replicas,
            "planned": None if plan is None else plan.replicas,
            "reason": recommendation.reason if plan is None else plan.reason,
        }
        found[name] = {key: _rounded(value) for key, value in numbers.items() if value is not None}
    return found


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
