"""`TokenThroughput`: token rates over a stable and a panic window (spec, Token throughput).

Windows and panic follow Knative's and AIBrix's pod autoscalers, with panic against the ready replicas' capacity.
"""

from dataclasses import dataclass
from fractions import Fraction

from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.sizing import exact, replicas_for
from scaler_core.algorithms.wording import number, ready_replicas, replicas
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import TokenThroughput
from scaler_core.model.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAverages:
    """Mean demand over both windows, tokens per second."""

    stable: Fraction
    panic: Fraction
    stable_text: str = ""
    """The stable window in words: its length, and how much of it was measured where that is less."""
    panic_text: str = ""


def window_averages(history: DemandHistory, spec: TokenThroughput, *, end: float) -> WindowAverages | None:
    """Both averages at the time of the newest sample; None while no sample covers a part of both windows."""
    stable = history.average(end=end, seconds=spec.stable_window_seconds)
    panic = history.average(end=end, seconds=spec.panic_window_seconds)
    if stable is None or panic is None:
        return None
    return WindowAverages(
        stable=exact(stable),
        panic=exact(panic),
        stable_text=_window(history, end, spec.stable_window_seconds),
        panic_text=_window(history, end, spec.panic_window_seconds),
    )


def _window(history: DemandHistory, end: float, seconds: int) -> str:
    measured = history.measured_seconds(end=end, seconds=seconds)
    return f"{seconds} s" if measured > 0.9 * seconds else f"the {number(measured)} s measured of {seconds} s"


def is_panic(averages: WindowAverages, spec: TokenThroughput, *, ready: int, capacity: Fraction) -> bool:
    """Whether recent demand reaches the threshold: `panic average >= panicThreshold x ready x capacity`."""
    return averages.panic >= spec.panic_threshold.value * ready * capacity


def recommend(
    averages: WindowAverages, spec: TokenThroughput, *, ready: int, capacity: Fraction, current: int
) -> Recommendation:
    """`ceil(stable / capacity)`; in panic the larger of both windows' counts, never below the current count.

    Args:
        averages: Demand of the role over both windows.
        spec: Windows and threshold.
        ready: Ready replicas, at least one.
        capacity: Tokens per second that one replica serves.
        current: Replicas in the target's spec.
    """
    wanted = replicas_for(averages.stable, capacity)
    if is_panic(averages, spec, ready=ready, capacity=capacity):
        return _in_panic(averages, spec, ready=ready, capacity=capacity, current=current)
    formula = (
        f"ceil({number(averages.stable)} / {number(capacity)}) = {wanted}"
        if averages.stable
        else "no load needs 1 replica"
    )
    return Recommendation(
        replicas=wanted,
        reason=RoleReason.TOKEN_THROUGHPUT,
        message=f"{number(averages.stable)} tokens/s over {averages.stable_text} against a capacity of "
        f"{number(capacity)} for each replica: {formula}",
        demand=float(averages.stable),
    )


def _in_panic(
    averages: WindowAverages, spec: TokenThroughput, *, ready: int, capacity: Fraction, current: int
) -> Recommendation:
    larger = max(averages.stable, averages.panic)
    wanted = replicas_for(larger, capacity)
    threshold = spec.panic_threshold.value
    held = f", no fewer than the current {replicas(current)} while panic lasts" if wanted < current else ""
    return Recommendation(
        replicas=max(wanted, current),
        reason=RoleReason.PANIC,
        message=f"{number(averages.panic)} tokens/s over {averages.panic_text} reach {number(threshold)} x "
        f"{ready_replicas(ready)} x {number(capacity)} = {number(threshold * ready * capacity)}: "
        f"ceil({number(larger)} / {number(capacity)}) = {wanted}{held}",
        holds_scale_down=True,
        demand=float(averages.stable),
    )
