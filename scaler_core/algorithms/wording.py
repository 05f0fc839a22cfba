"""Numbers and counts as people read them in messages."""

from fractions import Fraction


def number(value: float | Fraction) -> str:
    """At most six significant digits, without a trailing zero or an exponent: 10.5, 2400, 0.001, 1234568."""
    as_float = float(value)
    return f"{as_float:.0f}" if abs(as_float) >= 1e6 else f"{as_float:.6g}"


def replicas(count: int) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{count} replica" if count == 1 else f"{count} replicas"


def ready_replicas(count: int) -> str:
    """`1 ready replica`, `2 ready replicas`."""
    return f"{count} ready replica" if count == 1 else f"{count} ready replicas"
