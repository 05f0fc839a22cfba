"""Numbers and counts as people read them in messages."""

from fractions import Fraction


def number(value: float | Fraction) -> str:
    """Four significant digits, all of a whole part, no trailing zero and no exponent: 1.667, 2400, 0.001, 1234568."""
    as_float = float(value)
    return f"{as_float:.0f}" if abs(as_float) >= 1e3 else f"{as_float:.4g}"


def replicas(count: int) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{count} replica" if count == 1 else f"{count} replicas"


def ready_replicas(count: int) -> str:
    """`1 ready replica`, `2 ready replicas`."""
    return f"{count} ready replica" if count == 1 else f"{count} ready replicas"
