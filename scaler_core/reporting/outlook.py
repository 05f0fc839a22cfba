"""What a role waits for before its count can move: the planner's own limits, each with the moment that ends it.

Asked rule by rule, so a limit that the planner gets is one that is explained; nothing here decides anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.plan import PlanInput, RolePlan, Stage, StageResult
from scaler_core.planning.chain import CHAIN
from scaler_core.planning.history import RecommendationHistory
from scaler_core.planning.limits import Limit, RoleView
from scaler_core.planning.planner import views
from scaler_core.reporting.explained import Hold, Outlook

COMMIT_STAGE = "commit"
RECOMMENDATION_STAGE = "recommendation"
_OF_THE_SPEC = frozenset({RoleReason.AT_MINIMUM, RoleReason.AT_MAXIMUM, RoleReason.PACING_BOUNDED})
"""Reasons of bounds and of steps that only an edit of the spec ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Where the moments come from that end a hold."""

    spec: ScalerSpec
    status: ScalerStatus
    history: RecommendationHistory
    now: float

    def shrink_window_ends(self, current: int) -> float:
        """When the window could allow a shrink, if every recommendation from now on were below the count."""
        seconds = float(self.spec.behavior.scale_down.stabilization_window_seconds)
        return self._window_ends(seconds, [time for time, count in self._samples() if count >= current])

    def growth_window_ends(self, current: int) -> float:
        """When the window could allow growth, if every recommendation from now on were above the count."""
        seconds = float(self.spec.behavior.scale_up.stabilization_window_seconds)
        return self._window_ends(seconds, [time for time, count in self._samples() if count <= current])

    def cohort_ends(self) -> float | None:
        """When a pending cohort is rolled back at the latest."""
        cohort = self.status.pending_cohort
        return None if cohort is None else cohort.started_at + self.spec.sampling.pending_timeout_seconds

    def cooldown_ends(self) -> float | None:
        """When an abort's cooldown ends."""
        return None if self.status.last_scale_down is None else self.status.last_scale_down.cooldown_until

    def growth_is_retried(self) -> float | None:
        """When growth that found no capacity may be asked for again."""
        return None if self.status.exhaustion is None else self.status.exhaustion.retry_at

    def grace_ends(self, grew_at: float | None) -> float | None:
        """When a Decode role that grew may shrink."""
        grace = self.spec.behavior.scale_down.decode_post_scale_up_grace_seconds
        return None if grew_at is None else min(grew_at, self.now) + grace

    def _window_ends(self, seconds: float, against: Sequence[float]) -> float:
        since = self.history.unbroken_since
        return max([self.now if since is None else since, *against]) + seconds

    def _samples(self) -> Iterator[tuple[float, int]]:
        return zip(self.history.times, self.history.counts, strict=True)


def shrink_outlook(role: RolePlan, given: PlanInput, waiting: Waiting, binding: Hold | None) -> Outlook:
    """What keeps a role from losing a replica."""
    view = views(given)[role.role]
    current = view.role.current
    wants = role.recommended < current
    holds = list(_common(view, binding, wants=wants))
    for rules in CHAIN:
        limits = [limit for rule in rules.floors if (limit := rule(view)) is not None and limit.replicas >= current]
        holds += [_hold(rules.stage, limit, _shrink_ends(limit, view, waiting, wants=wants)) for limit in limits]
    return _outlook([*holds, *_ratios(role.stages, current, is_growth=False)], waiting.now)


def growth_outlook(role: RolePlan, given: PlanInput, waiting: Waiting, binding: Hold | None) -> Outlook:
    """What keeps a role from getting another replica."""
    view = views(given)[role.role]
    current = view.role.current
    wants = role.recommended > current
    holds = list(_common(view, binding, wants=wants))
    for rules in CHAIN:
        if rules.stage is Stage.STABILIZATION and not view.behavior.scale_up.stabilization_window_seconds:
            continue
        limits = [limit for rule in rules.ceilings if (limit := rule(view)) is not None and limit.replicas <= current]
        holds += [_hold(rules.stage, limit, _growth_ends(limit, view, waiting, wants=wants)) for limit in limits]
    return _outlook([*holds, *_ratios(role.stages, current, is_growth=True)], waiting.now)


def _common(view: RoleView, binding: Hold | None, *, wants: bool) -> Iterator[Hold]:
    if binding is not None:
        yield binding
    if not wants:
        wish, current = view.role.recommendation, view.role.current
        message = f"the load asks for {wish.replicas}, {current} {'is' if current == 1 else 'are'} there"
        yield Hold(stage=RECOMMENDATION_STAGE, reason=wish.reason, message=message)


def _shrink_ends(limit: Limit, view: RoleView, waiting: Waiting, *, wants: bool) -> float | None:
    match limit.reason:
        case RoleReason.STABILIZING:  # a window moves on for as long as the load does not ask for the change
            return waiting.shrink_window_ends(view.role.current) if wants else None
        case RoleReason.ABORT_COOLDOWN:
            return waiting.cooldown_ends()
        case RoleReason.DECODE_GRACE:
            return waiting.grace_ends(view.role.last_scale_up_at)
        case RoleReason.COHORT_PENDING:
            return waiting.cohort_ends()
        case _:
            return None


def _growth_ends(limit: Limit, view: RoleView, waiting: Waiting, *, wants: bool) -> float | None:
    match limit.reason:
        case RoleReason.STABILIZING:  # a window moves on for as long as the load does not ask for the change
            return waiting.growth_window_ends(view.role.current) if wants else None
        case RoleReason.RESOURCE_EXHAUSTED:
            return waiting.growth_is_retried()
        case RoleReason.COHORT_PENDING:
            return waiting.cohort_ends()
        case _:
            return None


def _ratios(stages: Sequence[StageResult], current: int, *, is_growth: bool) -> Iterator[Hold]:
    """The ratios, where they are what takes the move back."""
    if len(stages) < len(Stage):
        return
    wish, last = stages[-2].replicas, stages[-1]
    is_held = wish > current >= last.replicas if is_growth else wish < current <= last.replicas
    if last.reason is not None and is_held:
        yield Hold(stage=last.stage, reason=last.reason, message=last.message)


def _hold(stage: Stage, limit: Limit, until: float | None) -> Hold:
    return Hold(stage=stage, reason=limit.reason, message=limit.message, until=until)


def _outlook(holds: list[Hold], now: float) -> Outlook:
    barred = tuple(hold for hold in holds if _allows_no_move(hold))
    if barred:
        return Outlook(holds=barred)  # what would hold besides does not matter
    ends = [hold.until for hold in holds if hold.until is not None]
    return Outlook(holds=tuple(holds), earliest=max([now, *ends]) if len(ends) == len(holds) else None)


def _allows_no_move(hold: Hold) -> bool:
    """Whether neither time nor load ends it."""
    is_of_the_spec = hold.reason in _OF_THE_SPEC and hold.stage in {Stage.BOUNDS, Stage.PACING}
    return hold.stage == COMMIT_STAGE or is_of_the_spec
