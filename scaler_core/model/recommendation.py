"""What the load alone asks for."""

from dataclasses import dataclass

from scaler_core.api.reasons import RoleReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """An algorithm's answer for one role; `message` has the numbers, the formula and the result in one sentence."""

    replicas: int
    reason: RoleReason
    message: str
    holds_scale_down: bool = False
    """The algorithm forbids shrinkage: panic, a latency above target, or missing signals."""
    holds_growth: bool = False
    """Nothing usable was measured (stale or missing signals): neither growth nor shrinkage."""
    demand: float | None = None
    """Demand in the algorithm's unit, for status, metrics and people."""
    forecast: float | None = None
    """Forecast demand in tokens per second."""
