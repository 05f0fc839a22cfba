"""What one replica of a kind serves, as the spec states it."""

from fractions import Fraction

from scaler_core.api.deployment import RoleKind
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler_spec import Predictive, TokenThroughput


def served_by_one(kind: RoleKind, spec: TokenThroughput) -> Fraction | None:
    """Tokens per second of one replica for the windows; None where the spec has none for this kind."""
    match kind:
        case RoleKind.PREFILL:
            return _positive(spec.prefill_target_tokens_per_second)
        case RoleKind.DECODE:
            return _positive(spec.decode_target_tokens_per_second)
        case RoleKind.SERVER:
            return _positive(spec.server_target_tokens_per_second)
        case RoleKind.ENCODE:
            return None


def forecast_for_one(kind: RoleKind, spec: Predictive) -> Fraction | None:
    """Tokens per second of one replica for the forecast; None where the spec has none for this kind."""
    match kind:
        case RoleKind.PREFILL:
            return _positive(spec.prefill_token_capacity_per_replica)
        case RoleKind.DECODE:
            return _positive(spec.decode_token_capacity_per_replica)
        case RoleKind.SERVER:
            return _positive(spec.server_token_capacity_per_replica)
        case RoleKind.ENCODE:
            return None


def _positive(quantity: Quantity | None) -> Fraction | None:
    return quantity.value if quantity is not None and quantity.value > 0 else None
