"""The third stage: reasons not to move a role at all, in one direction or in both (spec/scaling.md, Pacing and guards).

A guard holds a role at its current count, whoever wants to move it: its own recommendation or a ratio.
"""

from typing import Final

from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import RoleReason
from scaler_core.planning.limits import Limit, RoleView, Rule


def cohort_pends(view: RoleView) -> Limit | None:
    """A pending cohort stops growth of the whole target."""
    blocked = view.target.growth_blocked
    return _hold(view, RoleReason.COHORT_PENDING, blocked) if blocked else None


def workload_pends(view: RoleView) -> Limit | None:
    """An unadmitted Workload outside any cohort stops growth of its role."""
    blocked = view.role.growth_blocked
    return _hold(view, RoleReason.WORKLOAD_PENDING, blocked) if blocked else None


def capacity_was_exhausted(view: RoleView) -> Limit | None:
    """After growth found no capacity, ask for no more than was admitted."""
    cap = view.role.growth_cap
    if cap is None:
        return None
    message = f"growth beyond {cap} found no capacity and waits before it is tried again"
    return Limit(replicas=max(view.role.current, cap), reason=RoleReason.RESOURCE_EXHAUSTED, message=message)


def nothing_was_measured(view: RoleView) -> Limit | None:
    """Without usable signals a role moves neither way."""
    recommendation = view.role.recommendation
    if not recommendation.holds_growth:
        return None
    return _hold(view, RoleReason.WAITING_FOR_METRICS, f"no usable signals: {recommendation.message}")


def algorithm_holds(view: RoleView) -> Limit | None:
    """The algorithm forbids shrinkage: panic, latency above target, missing latency, consolidation."""
    recommendation = view.role.recommendation
    if not recommendation.holds_scale_down:
        return None
    return _hold(view, recommendation.reason, f"the algorithm holds scale-down: {recommendation.message}")


def no_replica_is_ready(view: RoleView) -> Limit | None:
    """A role without a ready replica does not shrink."""
    is_ready = view.role.ready > 0
    return None if is_ready else _hold(view, RoleReason.NO_READY_REPLICAS, "no replica is ready, so none is removed")


def last_ready_replica_stays(view: RoleView) -> Limit | None:
    """A removal does not leave a role without a ready replica, where it could neither serve nor grow.

    The highest ordinals leave first, so the lowest ready one is the last of them.
    """
    lowest = view.role.lowest_ready
    if not lowest:
        return None
    message = f"replica {lowest} is the lowest that is ready, so fewer than {lowest + 1} would leave none"
    return Limit(replicas=min(view.role.current, lowest + 1), reason=RoleReason.NO_READY_REPLICAS, message=message)


def coverage_is_incomplete(view: RoleView) -> Limit | None:
    """Load on replicas that were not read may need every one of them."""
    if view.role.is_complete:
        return None
    return _hold(view, RoleReason.INCOMPLETE_COVERAGE, "not every ready replica was read, so none is removed")


def target_may_not_shrink(view: RoleView) -> Limit | None:
    """An active retirement or an abort cooldown stops shrinkage of the whole target."""
    blocked = view.target.shrink_blocked
    reason = view.target.shrink_blocked_reason or RoleReason.RETIREMENT_ACTIVE
    return _hold(view, reason, blocked) if blocked else None


def cohort_may_roll_back(view: RoleView) -> Limit | None:
    """Roles of a component with a pending cohort stay, so that a rollback restores a vector inside every band."""
    if not view.is_in_cohort_component:
        return None
    return _hold(view, RoleReason.COHORT_PENDING, "replicas that were just added here are not all admitted yet")


def decode_settles(view: RoleView) -> Limit | None:
    """A Decode role that grew keeps its count for its grace period; a growth time in the future counts as now."""
    grew_at = view.role.last_scale_up_at
    grace = view.behavior.scale_down.decode_post_scale_up_grace_seconds
    if view.role.kind is not RoleKind.DECODE or grew_at is None:
        return None
    left = grace - max(0.0, view.now - grew_at)
    if left <= 0:
        return None
    return _hold(view, RoleReason.DECODE_GRACE, f"the role grew less than {grace} s ago; {left:.0f} s are left")


def _hold(view: RoleView, reason: RoleReason, message: str) -> Limit:
    return Limit(replicas=view.role.current, reason=reason, message=message)


CEILINGS: Final[tuple[Rule, ...]] = (
    cohort_pends,  # the last growth must be admitted first
    workload_pends,  # replicas that exist already wait for capacity
    nothing_was_measured,  # no number, no growth
    capacity_was_exhausted,  # asking again at once would only be refused again
)
FLOORS: Final[tuple[Rule, ...]] = (
    cohort_may_roll_back,  # a rollback must find its baseline legal
    target_may_not_shrink,  # one retirement at a time, and none right after a failed one
    nothing_was_measured,  # no number, no shrinkage
    algorithm_holds,  # panic and latency need what is there
    no_replica_is_ready,  # zero load on zero ready replicas is no sign of idleness
    last_ready_replica_stays,  # replicas that do not serve cannot stand in for one that does
    coverage_is_incomplete,  # unread replicas may be busy
    decode_settles,  # added decode replicas have not taken their share yet
)
