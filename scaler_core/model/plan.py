"""The planner's input and output: recommendations, limits, and the vector with its explanation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import Reason, RoleReason
from scaler_core.api.scaler_spec import Behavior, Ratio
from scaler_core.model.recommendation import Recommendation


class Stage(StrEnum):
    """The stages of constraining, in order."""

    BOUNDS = "bounds"
    STABILIZATION = "stabilization"
    GUARDS = "guards"
    PACING = "pacing"
    RATIOS = "ratios"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleInput:
    """One role as the planner sees it."""

    name: str
    kind: RoleKind
    current: int
    ready: int
    minimum: int
    maximum: int
    recommendation: Recommendation
    is_complete: bool
    """Signals cover every ready replica."""
    stabilized_up: int | None
    """Lowest recommendation of the growth window; None while its history does not span the window."""
    stabilized_down: int | None
    """Highest recommendation of the shrink window; None while its history does not span the window."""
    lowest_ready: int | None = None
    """The lowest ordinal that is ready; None where none is, or where nobody looked."""
    last_scale_up_at: float | None = None
    growth_blocked: str | None = None
    """Why this role may not grow (an unadmitted Workload that is not our cohort's), in words."""
    growth_cap: int | None = None
    """The most that may be asked for while growth found no capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLimits:
    """What holds for the whole target in this pass."""

    growth_blocked: str | None = None
    """A pending cohort, in words."""
    shrink_blocked: str | None = None
    """An active retirement or a cooldown, in words."""
    shrink_blocked_reason: RoleReason | None = None
    cohort_roles: frozenset[str] = frozenset()
    """Roles of a pending cohort: components with one of them may not shrink."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput:
    """Everything that one planning pass depends on."""

    now: float
    roles: tuple[RoleInput, ...]
    ratios: tuple[Ratio, ...]
    behavior: Behavior
    limits: TargetLimits = TargetLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """The count after one stage; `reason` and `message` only where the stage changed it."""

    stage: Stage
    replicas: int
    reason: RoleReason | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlan:
    """How one role's recommendation became its count."""

    role: str
    current: int
    recommended: int
    replicas: int
    reason: RoleReason
    message: str
    stages: tuple[StageResult, ...]
    asked: str = ""
    """The recommendation's own sentence, with what was measured."""
    release_blocked: str = ""
    """What forbids taking even one replica away now, direction and window aside (no ready replica, coverage, a hold of
    the algorithm, grace, a zero step), in words; empty when nothing does. A rebalance asks this of a donor."""
    is_conclusive: bool = True
    """The recommendation rests on complete readings: where it is low, less is needed. A hold for want of signals, or a
    part of the load, says nothing of the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """Why the plan is not what was recommended: the `Blocked` condition."""

    reason: Reason
    message: str
    stops_planning: bool = False
    """The current vector is illegal: nothing is planned at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One vector, one explanation."""

    vector: Mapping[str, int]
    roles: Mapping[str, RolePlan] = field(default_factory=dict)
    blocked: Blocked | None = None
