"""Every word that users can match on: reasons of conditions, roles and events (spec/scaling.md, Status)."""

from enum import StrEnum


class ConditionType(StrEnum):
    """The four conditions of a scaler."""

    BOUND = "Bound"
    ACTIVE = "Active"
    METRICS_READY = "MetricsReady"
    BLOCKED = "Blocked"


class Reason(StrEnum):
    """Reasons of conditions."""

    BOUND = "Bound"
    ACTIVE = "Active"
    TARGET_NOT_FOUND = "TargetNotFound"
    ALREADY_BOUND = "AlreadyBound"
    TARGET_REPLACED = "TargetReplaced"
    INVALID_BINDING = "InvalidBinding"
    SUSPENDED = "Suspended"
    SHADOW_MODE = "ShadowMode"
    OBSERVED = "Observed"
    WAITING_FOR_METRICS = "WaitingForMetrics"
    RESOURCE_EXHAUSTED = "ResourceExhausted"
    BOUNDS_CONFLICT = "BoundsConflict"
    RATIO_CONFLICT = "RatioConflict"
    READY = "Ready"
    PACING_BOUNDED = "PacingBounded"
    SCALE_DOWN_ABORTED = "ScaleDownAborted"
    REBALANCE_NOT_APPLICABLE = "RebalanceNotApplicable"
    REBALANCE_BLOCKED = "RebalanceBlocked"
    COMMIT_REFUSED = "CommitRefused"


class RoleReason(StrEnum):
    """Why a role's recommendation or count is what it is (`status.roles[].reason`)."""

    PROPORTIONAL = "Proportional"
    TOKEN_THROUGHPUT = "TokenThroughput"
    PREDICTIVE = "Predictive"
    WITHIN_TOLERANCE = "WithinTolerance"
    PANIC = "Panic"
    NO_READY_REPLICAS = "NoReadyReplicas"
    LATENCY_GUARD_HOLD = "LatencyGuardHold"
    LATENCY_GUARD_SCALE_UP = "LatencyGuardScaleUp"
    PREDICTOR_WARMING_UP = "PredictorWarmingUp"
    PREDICTIVE_CONSOLIDATION_HOLD = "PredictiveConsolidationHold"
    RATIO_COUPLED = "RatioCoupled"
    WAITING_FOR_METRICS = "WaitingForMetrics"
    BOUNDS = "BoundsConflict"
    AT_MINIMUM = "AtMinimum"
    AT_MAXIMUM = "AtMaximum"
    STABILIZING = "Stabilizing"
    PACING_BOUNDED = "PacingBounded"
    RATIO_BOUNDED = "RatioBounded"
    RATIO_CONFLICT = "RatioConflict"
    INCOMPLETE_COVERAGE = "IncompleteCoverage"
    RETIREMENT_ACTIVE = "RetirementActive"
    ABORT_COOLDOWN = "AbortCooldown"
    DECODE_GRACE = "DecodePostScaleUpGrace"
    COHORT_PENDING = "CohortPending"
    WORKLOAD_PENDING = "WorkloadPending"
    RESOURCE_EXHAUSTED = "ResourceExhausted"


class RebalanceReason(StrEnum):
    """Where a rebalance transaction stands (`status.rebalance.reason`)."""

    RESOURCE_EXHAUSTED = "ResourceExhausted"
    DONOR_RELEASE = "DonorRelease"
    RECEIVER_ACQUIRE = "ReceiverAcquire"
    DONATION_ATTEMPTED = "DonationAttempted"
    REBALANCE_NOT_APPLICABLE = "RebalanceNotApplicable"
    REBALANCE_BLOCKED = "RebalanceBlocked"


class EventReason(StrEnum):
    """Reasons of events."""

    BOUND = "Bound"
    RELEASED = "Released"
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    SCALED = "Scaled"  # one vector that grows some roles and shrinks others
    ROLLED_BACK = "RolledBack"
    RESOURCE_EXHAUSTED = "ResourceExhausted"
    ADMITTED = "Admitted"
    SCALE_DOWN_ABORTED = "ScaleDownAborted"
    RESTORED = "Restored"
    RETIRED = "Retired"
    DONOR_RELEASED = "DonorReleased"
    RECEIVER_ACQUIRED = "ReceiverAcquired"
    REBALANCE_BLOCKED = "RebalanceBlocked"
    REBALANCE_NOT_APPLICABLE = "RebalanceNotApplicable"
    COMMIT_REFUSED = "CommitRefused"
    COMMIT_CONFLICTED = "CommitConflicted"
    COMMIT_EXPIRED = "CommitExpired"
    EXTERNAL_CHANGE = "ExternalChange"
    TRANSACTION_DROPPED = "TransactionDropped"
    TARGET_REPLACED = "TargetReplaced"
    ALREADY_BOUND = "AlreadyBound"
    INVALID_BINDING = "InvalidBinding"
    BOUNDS_CONFLICT = "BoundsConflict"
    RATIO_CONFLICT = "RatioConflict"
    FENCE_OPEN = "FenceOpen"
