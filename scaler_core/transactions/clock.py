"""Stored moments against `now`: the clocks of two leaders differ, and a clock may step.

A start in the future counts as now, and an end lies at most its own length ahead. Both are stored back, so a wait is
never longer than its length from the moment that this was noticed. A step backwards can start a wait anew, which never
shortens it.
"""

from typing import Final, TypeVar

from scaler_core.api.base import Wire
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import Exhaustion, ScalerStatus

WireT = TypeVar("WireT", bound=Wire)

REQUEST_DEADLINE: Final = 30.0
"""Seconds after which a write that got no answer can no longer arrive: the longest timeout of a write of the target."""
CACHE_PATIENCE: Final = 5.0
"""Seconds that a cache gets to show our own write before the target is read directly."""
LONGEST_RETRY: Final = 1800.0
"""Seconds: the longest wait before growth that found no capacity is tried again."""
FIRST_REFUSAL: Final = 5.0
LONGEST_REFUSAL: Final = 300.0
"""Seconds: first and longest wait after a refused write; it doubles with each refusal."""


def elapsed(since: float, now: float) -> float:
    """Seconds since a stored moment, never negative."""
    return max(0.0, now - since)


def retry_wait(attempts: int, pending_timeout: float) -> float:
    """Seconds before the same growth is tried again: `min(30 min, pendingTimeout x 2^k)`, k from zero."""
    return min(LONGEST_RETRY, pending_timeout * 2.0 ** min(attempts - 1, 16))


def refusal_wait(attempts: int) -> float:
    """Seconds before a refused write is tried again."""
    return min(LONGEST_REFUSAL, FIRST_REFUSAL * 2.0 ** min(attempts - 1, 16))


def clamp(status: ScalerStatus, spec: ScalerSpec, now: float) -> ScalerStatus:
    """The status with no start after `now`, and no end further ahead than its own length."""
    cooldown = float(spec.behavior.scale_down.cooldown_after_abort_seconds)
    changed = {
        "pending_commit": _not_after(status.pending_commit, now, "timestamp"),
        "last_commit": _not_after(status.last_commit, now, "timestamp"),
        "pending_cohort": _not_after(status.pending_cohort, now, "started_at"),
        "last_scale_down": _not_after(
            _not_after(status.last_scale_down, now, "aborted_at", "committed_at"), now + cooldown, "cooldown_until"
        ),
        "exhaustion": _clamp_exhaustion(status.exhaustion, spec, now),
        "roles": tuple(_not_after(role, now, "last_scale_up_time") or role for role in status.roles),
        "refusal": None
        if status.refusal is None
        else _not_after(status.refusal, now + refusal_wait(status.refusal.attempts), "retry_at"),
    }
    return status.model_copy(update=changed)


def thaw(status: ScalerStatus, now: float) -> ScalerStatus:
    """The status with its waits moved on by the time that the target was missing, as its `Bound` condition tells.

    Timers stand while there is no target: what they wait for (admission, room, an abort's cause, replicas that settle)
    happens on a target alone. The deadline of a request and the backoff after a refusal spare the API server, and pass
    without a target too. The condition's transition time is when it stopped being True; the pass that sees the target
    again gives it another reason, so the waits are moved once.
    """
    bound = status.condition(ConditionType.BOUND)
    if bound is None or bound.reason != Reason.TARGET_NOT_FOUND:
        return status
    gap = elapsed(bound.last_transition_time, now)
    return status.model_copy(
        update={
            "pending_cohort": _later(status.pending_cohort, gap, "started_at"),
            "exhaustion": _later(status.exhaustion, gap, "retry_at"),
            "last_scale_down": _later(status.last_scale_down, gap, "cooldown_until"),
            "roles": tuple(_later(role, gap, "last_scale_up_time") or role for role in status.roles),
        }
    )


def _later(value: WireT | None, gap: float, member: str) -> WireT | None:
    moment = None if value is None else getattr(value, member)
    return value if value is None or moment is None else value.model_copy(update={member: moment + gap})


def _clamp_exhaustion(exhaustion: Exhaustion | None, spec: ScalerSpec, now: float) -> Exhaustion | None:
    if exhaustion is None:
        return None
    length = retry_wait(exhaustion.attempts, spec.sampling.pending_timeout_seconds)
    return _not_after(exhaustion, now + length, "retry_at")


def _not_after(value: WireT | None, latest: float, *members: str) -> WireT | None:
    late = {
        member: latest
        for member in members
        if value is not None and (moment := getattr(value, member)) is not None and moment > latest
    }
    return value.model_copy(update=late) if value is not None and late else value
