"""The latency guard: p95 latencies above their targets stop shrinkage, far above them ask for one more replica.

Its in-flight credit follows the asymmetry of llm-d's SLO-aware rule: additions need minutes to become ready, so
replicas that warm up already satisfy a breach; removals look at the uncredited signal.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from scaler_core.algorithms.wording import number, ready_replicas, replicas
from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import TokenThroughput
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation

GROWTH_BREACH: Final = Fraction(6, 5)
"""Above this multiple of its target a latency asks for a replica; exactly on it, it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """A role's latencies against their targets."""

    breach: Fraction | None
    """The larger of latency / target over the role's latencies that are known; None where none is."""
    message: str
    missing: tuple[str, ...] = ()
    """Latencies that a role with work should have and has not."""

    @property
    def is_high(self) -> bool:
        """Above target: nothing may shrink."""
        return self.breach is not None and self.breach > 1

    @property
    def needs_growth(self) -> bool:
        """Above 1.2 times the target."""
        return self.breach is not None and self.breach > GROWTH_BREACH


def judge(reading: RoleReading, spec: TokenThroughput) -> Latency:
    """TTFT for Prefill, ITL for Decode, the larger relative breach of both for Server; an idle role needs none."""
    if not reading.has_work:
        return Latency(breach=None, message="an idle role has no latency")
    checked = _checked(reading, spec)
    known = [(value / target, name, value, target) for name, value, target in checked if value is not None]
    missing = tuple(name for name, value, _ in checked if value is None)
    if not known:
        return Latency(breach=None, missing=missing, message=f"p95 {' and '.join(missing)} is not measured")
    breach, name, value, target = max(known)
    message = f"p95 {name} of {number(value)} ms is {number(breach)} x its target of {number(target)} ms"
    return Latency(breach=breach, missing=missing, message=message)


def _checked(reading: RoleReading, spec: TokenThroughput) -> list[tuple[str, Fraction | None, Fraction]]:
    ttft = ("TTFT", reading.ttft_milliseconds, spec.ttft_target_milliseconds.value)
    itl = ("ITL", reading.itl_milliseconds, spec.itl_target_milliseconds.value)
    match reading.kind:
        case RoleKind.PREFILL:
            return [ttft]
        case RoleKind.DECODE:
            return [itl]
        case RoleKind.SERVER:
            return [ttft, itl]
        case RoleKind.ENCODE:
            return []


def one_extra(*, current: int, ready: int, without_credit: int) -> int:
    """The count that a breach asks for: one more than what is ready or given up, never below the current count.

    Replicas that are warming up are between `ready` and `current`, so they satisfy the breach, until their credit ends
    (`RoleCounts.without_credit`): a slow start cannot walk a role to its maximum, one more replica a sample.
    """
    return max(current, ready + without_credit + 1)


def guard(
    recommendation: Recommendation, latency: Latency, *, current: int, ready: int, without_credit: int
) -> Recommendation:
    """The recommendation after the guard; it never falls below what it was.

    Args:
        recommendation: What the token rates ask for, or a hold where they are missing.
        latency: From `judge`.
        current: Replicas in the target's spec.
        ready: Ready replicas, at least one.
        without_credit: Replicas that are not ready and that nobody counts on.
    """
    if latency.needs_growth:
        return _grow(recommendation, latency, current=current, ready=ready, without_credit=without_credit)
    if latency.is_high:
        return _hold(recommendation, latency.message, least=current, current=current)
    if latency.missing:
        why = f"p95 {' and '.join(latency.missing)} is missing and the role is not known to be idle"
        return _hold(recommendation, why, least=recommendation.replicas, current=current)
    return recommendation


def _hold(recommendation: Recommendation, why: str, *, least: int, current: int) -> Recommendation:
    """No shrinkage in this pass, and no fewer than `least` in the windows of later ones.

    A missing latency says nothing about the load, so it leaves the count as it is: a role with rare long requests,
    whose latency is missing now and then, could otherwise never shrink.
    """
    if recommendation.replicas >= current:
        return replace(recommendation, holds_scale_down=True)
    return replace(
        recommendation,
        replicas=max(least, recommendation.replicas),
        reason=RoleReason.LATENCY_GUARD_HOLD,
        message=f"{why}: holding {replicas(current)}; otherwise {recommendation.message}",
        holds_scale_down=True,
    )


def _grow(
    recommendation: Recommendation, latency: Latency, *, current: int, ready: int, without_credit: int
) -> Recommendation:
    floor = one_extra(current=current, ready=ready, without_credit=without_credit)
    if recommendation.replicas >= floor and not recommendation.holds_growth:
        return replace(recommendation, holds_scale_down=True)
    if floor > current:
        reason, effect = RoleReason.LATENCY_GUARD_SCALE_UP, f"one more than the current {replicas(current)} = {floor}"
    else:
        warming = current - ready - without_credit
        reason = RoleReason.LATENCY_GUARD_HOLD
        effect = f"{replicas(warming)} beyond the {ready_replicas(ready)} already on the way: holding {floor}"
    return replace(
        recommendation,
        replicas=floor,
        reason=reason,
        message=f"{latency.message}, above {number(GROWTH_BREACH)} x: {effect}; otherwise {recommendation.message}",
        holds_scale_down=True,
        holds_growth=False,
    )
