"""The status of a `ModelDeploymentScaler` (spec/scaling.md, Status).

Members marked "ours" are not in the contract: they hold what a crash or a change of leader must not forget.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from scaler_core.api.base import KEYED_BY_NAME, Time, Wire, is_empty, keyed_by
from scaler_core.api.meta import Condition
from scaler_core.api.quantity import Quantity

Vector = Mapping[str, int]


class SignalState(StrEnum):
    """What is known of a role's signals."""

    FRESH = "Fresh"
    IDLE = "Idle"
    MISSING = "Missing"
    STALE = "Stale"


class Cause(StrEnum):
    """Why a vector was written."""

    PLAN = "Plan"
    ROLLBACK = "Rollback"
    RESTORE = "Restore"
    DONOR_RELEASE = "DonorRelease"
    RECEIVER_ACQUIRE = "ReceiverAcquire"
    DONOR_RESTORE = "DonorRestore"


class BindingStatus(Wire):
    """Which target the scaler speaks of."""

    target_uid: str = Field(alias="targetUID")
    """UID of the target; another UID under the same name is a replacement."""
    target_name: str
    """Name of the target."""
    term: int | None = None
    """Term of the binding; absent while nothing is bound."""
    term_floor: int = 0
    """Ours: the highest term ever seen for this target."""
    pending_term: int | None = None
    """Ours: the term of a binding that we asked for and have not seen yet, stored before it is asked for."""
    replaced_generation: int | None = None
    """Ours: the scaler's generation when a replaced target was reported; a later spec edit acknowledges it."""


class RecommendationSample(Wire):
    """One recommendation in a stabilization window."""

    timestamp: Time
    replicas: int


class RoleObservation(Wire):
    """What was measured and recommended for one role."""

    name: str
    current_replicas: int = 0
    """Count in the target's spec."""
    ready_replicas: int = 0
    """Complete replicas whose Pods are all ready."""
    signal_state: SignalState = SignalState.MISSING
    prompt_tokens_per_second: Quantity | None = None
    generation_tokens_per_second: Quantity | None = None
    running_requests: int | None = None
    waiting_requests: int | None = None
    kv_cache_usage: Quantity | None = None
    ttft_milliseconds: Quantity | None = None
    itl_milliseconds: Quantity | None = None
    raw_recommended_replicas: int | None = None
    """The algorithm's result."""
    constrained_replicas: int | None = None
    """The result after bounds, windows, guards, pacing and ratios."""
    reason: str = ""
    last_scale_up_time: Time | None = None
    stabilization_history: Annotated[tuple[RecommendationSample, ...], Field(max_length=256)] = ()


class Commit(Wire):
    """One write of a vector."""

    decision_id: str = Field(alias="decisionID")
    term: int
    vector: Vector
    baseline_vector: Vector
    timestamp: Time
    target_generation: int
    """Generation of the target after the write."""
    cause: Cause = Cause.PLAN
    """Ours."""
    stale_workloads: Mapping[str, str] = Field(default_factory=dict, exclude_if=is_empty)
    """Ours: UIDs of Workloads that existed for added ordinals before the write, by Workload name."""


class PendingCohort(Wire):
    """Replicas added by one commit that are not all admitted."""

    decision_id: str = Field(alias="decisionID")
    term: int
    baseline_vector: Vector
    target_vector: Vector
    started_at: Time
    stale_workloads: Mapping[str, str] = Field(default_factory=dict, exclude_if=is_empty)
    """Ours: UIDs of Workloads that do not count as this cohort's, by Workload name."""
    admitted_vector: Vector | None = None
    """Ours: what was admitted when the wait expired, kept for the rollback's record."""


class RebalanceStatus(Wire):
    """The rebalance transaction or the end of the last one."""

    receiver_role: str = ""
    donor_role: str = ""
    donor_target_replicas: int | None = None
    receiver_target_replicas: int | None = None
    started_at: Time | None = None
    exhaustion_episode_generation: int = 0
    donation_attempted: bool = False
    reason: str = ""
    message: str = ""
    """Ours."""


class Exhaustion(Wire):
    """Ours: growth that found no capacity, and when it may be asked for again."""

    admitted_vector: Vector
    """What was admitted; growth in this episode asks for no more until `retry_at`."""
    requested_vector: Vector
    episode_generation: int
    """Generation of the target after the rollback."""
    baseline_vector: Vector = Field(default_factory=dict)
    """Counts after the rollback: a recommendation back at them ends the episode."""
    scaler_generation: int = 0
    attempts: int = 1
    retry_at: Time


class ScaleDownOutcome(StrEnum):
    """How a scale-down ended."""

    COMMITTED = "Committed"
    ABORTED = "Aborted"


class LastScaleDown(Wire):
    """The last scale-down."""

    role: str
    ordinal: int
    """First ordinal removed from this role, counted from zero."""
    pre_scale_down_vector: Vector
    outcome: ScaleDownOutcome
    aborted_at: Time | None = None
    cooldown_until: Time | None = None
    decision_id: str = Field(default="", alias="decisionID")
    """Ours: the commit that removed the ordinals."""
    target_generation: int = 0
    """Ours: generation of the target after that commit; an older retirement record is not ours."""
    committed_at: Time | None = None
    """Ours."""
    is_rollback: bool = False
    """Ours: the removals undo a cohort, so an abort restores nothing."""
    is_finished: bool = False
    """Ours: every removed replica is gone."""


class Covariance(Wire):
    """Uncertainty of the filter, in units per second."""

    p00: Quantity
    p01: Quantity
    p10: Quantity
    p11: Quantity


class DemandSample(Wire):
    """One observation of demand."""

    timestamp: Time
    tokens_per_second: Quantity
    is_partial: bool | None = None
    """Ours: some Pods could not be read, so this is a lower bound; absent means that all were."""


class Predictor(Wire):
    """Demand history and filter of one role."""

    name: str
    level: Quantity | None = None
    trend: Quantity | None = None
    """Change of demand per second."""
    covariance: Covariance | None = None
    sample_count: int = 0
    innovation_ratio: Quantity | None = None
    """Ours: moving mean of squared innovation over its predicted variance."""
    surprise: int = 0
    """Ours: sign of the last innovation where it was a surprise, else 0."""
    trend_since: Time | None = None
    """Ours: since when a trend of the present sign is believed."""
    updated_at: Time | None = None
    """Ours: time of the filter's last observation."""
    last_demand: Quantity | None = None
    """Ours: the filter's last observation, tokens per second."""
    miss_squares: Quantity | None = None
    """Ours: discounted sum of squares of what forecasts one interval ahead missed, (tokens/s)^2."""
    miss_products: Quantity | None = None
    """Ours: likewise of what was missed times what was left of it one interval later; divided by the squares it is the
    share of a miss that lasts."""
    shown_since: Time | None = None
    """Ours: since when served tokens show demand, and not the capacity of a saturated role."""
    fingerprint: str = ""
    """Ours: type, metric and interval that the history and the filter belong to."""
    history: Annotated[tuple[DemandSample, ...], Field(max_length=256)] = ()


class Refusal(Wire):
    """Ours: a write of the target that an admission refused."""

    message: str
    attempts: int = 1
    """Refusals in a row; each doubles the wait."""
    retry_at: Time


class ScalerStatus(Wire):
    """Observations, decisions and recovery state."""

    observed_generation: int = 0
    """Generation of the scaler's spec that this status speaks of."""
    binding: BindingStatus | None = None
    """The target and the term of the binding."""
    roles: Annotated[tuple[RoleObservation, ...], KEYED_BY_NAME] = ()
    """What was measured and recommended for each role."""
    pending_commit: Commit | None = None
    """Ours: the intent of a write, from before it until its outcome is stored; after a crash for up to 30 s."""
    expired_commit: Commit | None = None
    """Ours: the last intent whose write was given up; should it arrive after all, this tells what it was for."""
    last_commit: Commit | None = None
    """The last write of counts."""
    pending_cohort: PendingCohort | None = None
    """Added replicas that are not all admitted."""
    rebalance: RebalanceStatus | None = None
    """The rebalance transaction or the end of the last one."""
    exhaustion: Exhaustion | None = None
    """Ours: growth that found no capacity."""
    last_scale_down: LastScaleDown | None = None
    """The last scale-down."""
    refusal: Refusal | None = None
    """Ours: the last write, when it was refused, and when the next may be tried."""
    predictors: Annotated[tuple[Predictor, ...], KEYED_BY_NAME, Field(exclude_if=is_empty)] = ()
    """Demand histories and filters."""
    conditions: Annotated[tuple[Condition, ...], keyed_by("type")] = ()
    """Bound, Active, MetricsReady and Blocked."""

    def condition(self, type_: str) -> Condition | None:
        """The condition of that type."""
        return next((c for c in self.conditions if c.type == type_), None)

    def role(self, name: str) -> RoleObservation | None:
        """The observation of that role."""
        return next((r for r in self.roles if r.name == name), None)
