"""What every word that a scaler says means, and what a person does about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scaler_core.api.reasons import ConditionType, EventReason, Reason, RebalanceReason, RoleReason

NOTHING: Final = "Nothing."


@dataclass(frozen=True, slots=True)
class Meaning:
    """A word in a sentence, and the remedy."""

    says: str
    remedy: str = NOTHING


CONDITIONS: Final[Mapping[ConditionType, str]] = {
    ConditionType.BOUND: "True while the scaler may speak for its target: it holds the binding, or nobody does and it "
    "only recommends. Unknown while it binds.",
    ConditionType.ACTIVE: "True while the scaler may commit counts.",
    ConditionType.METRICS_READY: "True while every signal that planning needs is there and covers every ready replica.",
    ConditionType.BLOCKED: "True while something keeps the counts from what is recommended, or planning from "
    "happening. Bounds, windows and ratios at work block nothing.",
}
REASONS: Final[Mapping[Reason, Meaning]] = {
    Reason.BOUND: Meaning("The binding is held, or the target is unclaimed and the scaler is in Shadow."),
    Reason.ACTIVE: Meaning("Counts may be committed."),
    Reason.TARGET_NOT_FOUND: Meaning(
        "The ModelDeployment does not exist or is being deleted. Transactions and timers stand.",
        "Create it, or delete the scaler.",
    ),
    Reason.ALREADY_BOUND: Meaning(
        "Another scaler owns the counts. A Shadow scaler computes all the same; an Active one waits.",
        "Keep one Active scaler for each deployment; see how to [recover an orphan](../how-to/recover-an-orphan.md).",
    ),
    Reason.TARGET_REPLACED: Meaning(
        "The deployment of that name has another UID: it was deleted and created again.",
        "Edit the scaler's spec to accept it, after this is reported (the message has the generation at which it was "
        "seen); histories and transactions of the old one are dropped.",
    ),
    Reason.INVALID_BINDING: Meaning(
        "The binding annotation cannot be read, or names this scaler under a term that its status does not know.",
        "Remove an unreadable annotation. For an unknown term set `spec.suspend=true`, then false.",
    ),
    Reason.SUSPENDED: Meaning(
        "`spec.suspend` is true, or the scaler is being deleted: the binding is released. The message says so if the "
        "target was replaced meanwhile: resuming then accepts the new one."
    ),
    Reason.SHADOW_MODE: Meaning("`spec.mode` is Shadow: recommendations appear in the status, nothing is written."),
    Reason.OBSERVED: Meaning("Every signal is available."),
    Reason.WAITING_FOR_METRICS: Meaning(
        "A signal is missing or stale, or does not cover every ready replica. The message names role and Pod.",
        "Right after a start or a scale-up wait for two samples. Else `mds probe` an engine.",
    ),
    Reason.RESOURCE_EXHAUSTED: Meaning(
        "Added replicas were not admitted in time and were rolled back. The same growth is tried again later.",
        "Add quota or nodes, or allow a [rebalance](../explanation/transactions.md#exhaustion-and-rebalance).",
    ),
    Reason.BOUNDS_CONFLICT: Meaning(
        "A count is outside its bounds, a role has none, or a role cannot be scaled (custom command, elastic width).",
        "Do what the message says; to set counts by hand suspend the scaler, edit them and resume.",
    ),
    Reason.RATIO_CONFLICT: Meaning(
        "The counts violate a ratio, or no step within the limits keeps every ratio.",
        "The message names the limit that would have to give: widen it, or correct the counts while suspended.",
    ),
    Reason.READY: Meaning(
        "No step limit, guard or failure is in the way. Bounds, windows and ratios may limit a count."
    ),
    Reason.PACING_BOUNDED: Meaning(
        "A step limit or a guard held a recommendation back in this pass. Usually it catches up by itself.",
        "If it lasts, `mds explain` names the guard.",
    ),
    Reason.SCALE_DOWN_ABORTED: Meaning(
        "The target aborted a retirement; removed replicas were restored, nothing shrinks during the cooldown.",
        "Find out why the replica could not drain.",
    ),
    Reason.REBALANCE_NOT_APPLICABLE: Meaning(
        "No other role may give a replica to the role that found no capacity.", "Add capacity, or change the policy."
    ),
    Reason.REBALANCE_BLOCKED: Meaning(
        "A rebalance would break a bound or a ratio, or its donation was already made.", "Add capacity, or widen it."
    ),
    Reason.COMMIT_REFUSED: Meaning(
        "An admission webhook refused a write of the target. It is tried again after 5 s, doubling to 5 minutes.",
        "The message is the refusal; policy engines that change counts must leave bound deployments alone.",
    ),
}
ROLE_REASONS: Final[Mapping[RoleReason, str]] = {
    RoleReason.PROPORTIONAL: "The metric over its target, rounded up.",
    RoleReason.TOKEN_THROUGHPUT: "Average demand over a replica's capacity, rounded up.",
    RoleReason.PREDICTIVE: "The forecast over the forecast capacity, where it asks for more than the averages do.",
    RoleReason.WITHIN_TOLERANCE: "The load for each replica is within the tolerance of its target.",
    RoleReason.PANIC: "Recent demand reached the panic threshold: the larger recommendation, and no shrinkage.",
    RoleReason.NO_READY_REPLICAS: "No replica is ready, so nothing can be judged: the count stays.",
    RoleReason.LATENCY_GUARD_HOLD: "Latency is above its target, or missing while there is work: no shrinkage.",
    RoleReason.LATENCY_GUARD_SCALE_UP: "Latency is above 1.2 times its target: one more than is ready.",
    RoleReason.PREDICTOR_WARMING_UP: "Too few observations for a forecast: the averages alone.",
    RoleReason.PREDICTIVE_CONSOLIDATION_HOLD: "One replica fewer would be loaded beyond 80 %: no shrinkage.",
    RoleReason.RATIO_COUPLED: "The role has no signal of its own and follows its neighbours.",
    RoleReason.WAITING_FOR_METRICS: "Signals are missing or stale: neither growth nor shrinkage.",
    RoleReason.BOUNDS: "Planning stopped, see the condition of that name.",
    RoleReason.AT_MINIMUM: "`minReplicas` is the limit.",
    RoleReason.AT_MAXIMUM: "`maxReplicas` is the limit.",
    RoleReason.STABILIZING: "A stabilization window has not yet seen the recommendation for its whole length.",
    RoleReason.PACING_BOUNDED: "One pass may not move further.",
    RoleReason.RATIO_BOUNDED: "A ratio moved the count, or kept it.",
    RoleReason.RATIO_CONFLICT: "Planning stopped, or no step keeps every ratio; see the condition of that name.",
    RoleReason.INCOMPLETE_COVERAGE: "A ready replica was not read: no shrinkage.",
    RoleReason.RETIREMENT_ACTIVE: "A replica of the target is being retired: one at a time, no further shrinkage.",
    RoleReason.ABORT_COOLDOWN: "A retirement was aborted a moment ago: no shrinkage of the target.",
    RoleReason.DECODE_GRACE: "A Decode role that just grew keeps its count for the grace period.",
    RoleReason.COHORT_PENDING: "Replicas that were just added are not all admitted.",
    RoleReason.WORKLOAD_PENDING: "A replica of the role waits for admission outside any of our scale-ups.",
    RoleReason.RESOURCE_EXHAUSTED: "Growth found no capacity and waits before it is tried again.",
}
REBALANCE_REASONS: Final[Mapping[RebalanceReason, str]] = {
    RebalanceReason.RESOURCE_EXHAUSTED: "Growth was rolled back; the next pass may look for a donor.",
    RebalanceReason.DONOR_RELEASE: "The donor gives a replica back; growth waits for its retirement.",
    RebalanceReason.RECEIVER_ACQUIRE: "The receiver's replica was asked for and waits for admission.",
    RebalanceReason.DONATION_ATTEMPTED: "The one donation of this episode is over, whatever became of it.",
    RebalanceReason.REBALANCE_NOT_APPLICABLE: "No role may donate.",
    RebalanceReason.REBALANCE_BLOCKED: "A donation would be illegal.",
}
EVENTS: Final[Mapping[EventReason, Meaning]] = {
    EventReason.BOUND: Meaning("The binding was taken; the message has its term."),
    EventReason.RELEASED: Meaning("The binding was given back; counts stay as they are."),
    EventReason.SCALED_UP: Meaning("Counts grew: both vectors, what was measured, and the limit if one changed it."),
    EventReason.SCALED_DOWN: Meaning(
        "Counts shrank: both vectors, what was measured, and the limit if one changed it."
    ),
    EventReason.SCALED: Meaning("One write grew some roles and shrank others."),
    EventReason.ROLLED_BACK: Meaning("Replicas that were not admitted in time were taken back.", "Look for capacity."),
    EventReason.RESOURCE_EXHAUSTED: Meaning("Growth stopped for lack of capacity, until its retry.", "Add capacity."),
    EventReason.ADMITTED: Meaning("All replicas of a scale-up have their capacity."),
    EventReason.SCALE_DOWN_ABORTED: Meaning(
        "The target gave up a retirement; the cooldown begins.", "Find out why the replica could not drain."
    ),
    EventReason.RESTORED: Meaning("Removed replicas are back after an abort, or a donor got its replica back."),
    EventReason.RETIRED: Meaning("Everything that a scale-down removed is gone."),
    EventReason.DONOR_RELEASED: Meaning("First leg of a rebalance: the donor gives one replica back."),
    EventReason.RECEIVER_ACQUIRED: Meaning("Second leg: the receiver asks for it."),
    EventReason.REBALANCE_BLOCKED: Meaning("A rebalance that was asked for would be illegal.", "Widen the policy."),
    EventReason.REBALANCE_NOT_APPLICABLE: Meaning("No role may donate.", "Add capacity."),
    EventReason.COMMIT_REFUSED: Meaning("A write of the target was refused; the message is the refusal.", "Read it."),
    EventReason.COMMIT_CONFLICTED: Meaning(
        "The target changed under a write, which did not land; the next pass looks again."
    ),
    EventReason.COMMIT_EXPIRED: Meaning(
        "A write got no answer, and the target does not show it after its deadline: it counts as not made, and the "
        "plan goes on. Should it arrive after all, it is taken over.",
        "Look at the API server if it repeats.",
    ),
    EventReason.EXTERNAL_CHANGE: Meaning(
        "Counts moved past the fence while it was down; they are the new base.", "Find out who wrote them."
    ),
    EventReason.TRANSACTION_DROPPED: Meaning(
        "Something under way ended with the binding, its term or its target; the message has its vectors, whether its "
        "write landed, and the counts now."
    ),
    EventReason.TARGET_REPLACED: Meaning(
        "The target has another UID, or the new one was accepted.",
        "Edit the spec after this event to accept it; resuming a suspended scaler is such an edit.",
    ),
    EventReason.ALREADY_BOUND: Meaning("Another scaler owns the counts.", "Keep one Active scaler."),
    EventReason.INVALID_BINDING: Meaning("A binding that nobody can vouch for.", "See the condition of that name."),
    EventReason.BOUNDS_CONFLICT: Meaning("Planning stopped.", "See the condition of that name."),
    EventReason.RATIO_CONFLICT: Meaning("Planning stopped, or a component cannot step.", "See the condition."),
    EventReason.FENCE_OPEN: Meaning(
        "A write that a working fence must refuse was admitted in a dry run: nothing is committed.",
        "Look at the webhook and its registration.",
    ),
}
