"""One replica from a donor to a receiver that found no capacity (spec, Resource rebalancing).

| State           | Event     | State             | Then                                                              |
|-----------------|-----------|-------------------|-------------------------------------------------------------------|
| None, ended     | Exhausted | ResourceExhausted | a cohort was rolled back: the plan may look for a donor           |
| waiting         | NoDonor   | NotApplicable     | no role may donate, pools differ                                  |
| waiting         | Illegal   | Blocked           | an intermediate vector is illegal, or the episode had its donation |
| waiting         | Released  | DonorRelease      | the donor leg landed; growth waits                                |
| DonorRelease    | Acquired  | ReceiverAcquire   | donor gone, everything checked again, the receiver leg landed     |
| DonorRelease    | Unfit     | Blocked           | a check failed: the donor is restored first when that is legal    |
| DonorRelease    | Aborted   | DonationAttempted | the donor's retirement aborted: its restore landed                |
| ReceiverAcquire | Admitted  | DonationAttempted | the receiver's replica has its admission                          |
| ReceiverAcquire | Exhausted | DonationAttempted | the receiver leg was rolled back                                  |
| any             | Dropped   | None              | the episode ended, suspended, released, counts changed            |

Waiting stands for ResourceExhausted, NotApplicable and Blocked. `donationAttempted` is set with the donor leg and
stays for the rest of the episode, whatever becomes of it.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import RebalanceReason
from scaler_core.api.scaler_spec import RebalancePolicy, ScalerSpec
from scaler_core.api.scaler_status import Exhaustion, RebalanceStatus, ScalerStatus
from scaler_core.transactions.legality import is_legal
from scaler_core.transactions.machine import Machine


class RebalanceState(StrEnum):
    """Where a rebalance stands: `status.rebalance.reason`, or nothing."""

    NONE = "None"
    RESOURCE_EXHAUSTED = RebalanceReason.RESOURCE_EXHAUSTED.value
    DONOR_RELEASE = RebalanceReason.DONOR_RELEASE.value
    RECEIVER_ACQUIRE = RebalanceReason.RECEIVER_ACQUIRE.value
    DONATION_ATTEMPTED = RebalanceReason.DONATION_ATTEMPTED.value
    NOT_APPLICABLE = RebalanceReason.REBALANCE_NOT_APPLICABLE.value
    BLOCKED = RebalanceReason.REBALANCE_BLOCKED.value


class RebalanceEvent(StrEnum):
    """What happens to it."""

    EXHAUSTED = "Exhausted"
    NO_DONOR = "NoDonor"
    ILLEGAL = "Illegal"
    RELEASED = "Released"
    ACQUIRED = "Acquired"
    UNFIT = "Unfit"
    ABORTED = "Aborted"
    ADMITTED = "Admitted"
    DROPPED = "Dropped"


_S, _E = RebalanceState, RebalanceEvent
WAITING: Final = (_S.RESOURCE_EXHAUSTED, _S.NOT_APPLICABLE, _S.BLOCKED)
UNDER_WAY: Final = (_S.DONOR_RELEASE, _S.RECEIVER_ACQUIRE)
REBALANCE: Final = Machine(
    name="rebalance",
    start=_S.NONE,
    table={
        **{(state, _E.EXHAUSTED): _S.RESOURCE_EXHAUSTED for state in (_S.NONE, *WAITING, _S.DONATION_ATTEMPTED)},
        **{(state, _E.NO_DONOR): _S.NOT_APPLICABLE for state in WAITING},
        **{(state, _E.ILLEGAL): _S.BLOCKED for state in WAITING},
        **{(state, _E.RELEASED): _S.DONOR_RELEASE for state in WAITING},
        (_S.DONOR_RELEASE, _E.ACQUIRED): _S.RECEIVER_ACQUIRE,
        (_S.DONOR_RELEASE, _E.UNFIT): _S.BLOCKED,
        (_S.DONOR_RELEASE, _E.ABORTED): _S.DONATION_ATTEMPTED,
        (_S.RECEIVER_ACQUIRE, _E.ADMITTED): _S.DONATION_ATTEMPTED,
        (_S.RECEIVER_ACQUIRE, _E.EXHAUSTED): _S.DONATION_ATTEMPTED,
        **{(state, _E.DROPPED): _S.NONE for state in RebalanceState},
    },
)


def state_of(rebalance: RebalanceStatus | None) -> RebalanceState:
    """The state that a status holds."""
    return RebalanceState(rebalance.reason) if rebalance is not None and rebalance.reason else RebalanceState.NONE


def move(rebalance: RebalanceStatus | None, event: RebalanceEvent, message: str) -> RebalanceStatus:
    """The transaction after an event that leaves one."""
    after = REBALANCE.after(state_of(rebalance), event)
    base = rebalance if rebalance is not None else RebalanceStatus()
    is_attempted = base.donation_attempted or event is RebalanceEvent.RELEASED
    return base.model_copy(update={"reason": after.value, "message": message, "donation_attempted": is_attempted})


def begin_episode(old: RebalanceStatus | None, exhaustion: Exhaustion, now: float) -> RebalanceStatus:
    """The transaction after a rollback: a new episode forgets the last one's donation."""
    episode = exhaustion.episode_generation
    message = "growth found no capacity"
    if old is not None and state_of(old) is RebalanceState.RECEIVER_ACQUIRE:
        old = move(old, RebalanceEvent.EXHAUSTED, f"{old.receiver_role} could not use what {old.donor_role} released")
        if old.exhaustion_episode_generation == episode:
            return old  # else an edit ended that episode while the leg was under way
    REBALANCE.after(state_of(old), RebalanceEvent.EXHAUSTED)
    is_same = old is not None and old.exhaustion_episode_generation == episode
    return RebalanceStatus(
        started_at=now,
        exhaustion_episode_generation=episode,
        donation_attempted=is_same and old is not None and old.donation_attempted,
        reason=RebalanceState.RESOURCE_EXHAUSTED.value,
        message=message,
    )


def end_of_episode(rebalance: RebalanceStatus | None) -> RebalanceStatus | None:
    """What remains when the episode ends: legs under way go on, an attempt stays as history."""
    return drop(rebalance) if state_of(rebalance) in WAITING else rebalance


def drop(rebalance: RebalanceStatus | None) -> RebalanceStatus | None:
    """What remains when it ends for a cause from outside: nothing."""
    after = REBALANCE.after(state_of(rebalance), RebalanceEvent.DROPPED)
    return None if after is RebalanceState.NONE else rebalance


def had_donation(status: ScalerStatus) -> bool:
    """Whether this episode has used its one donation."""
    rebalance, exhaustion = status.rebalance, status.exhaustion
    return (
        rebalance is not None
        and exhaustion is not None
        and rebalance.donation_attempted
        and rebalance.exhaustion_episode_generation == exhaustion.episode_generation
    )


def same_pool(target: ModelDeployment, donor: str, receiver: str) -> bool:
    """Whether both roles exist and use the same nonempty instance type."""
    giving, taking = target.role(donor), target.role(receiver)
    return (
        giving is not None
        and taking is not None
        and giving.instance_type != ""
        and giving.instance_type == taking.instance_type
    )


def recheck(rebalance: RebalanceStatus, target: ModelDeployment, spec: ScalerSpec, growth_blocked: str) -> str:
    """Why the receiver leg must not follow any more, in words; empty when it may."""
    return growth_blocked or next(_problems(rebalance, target, spec), "")


def _problems(rebalance: RebalanceStatus, target: ModelDeployment, spec: ScalerSpec) -> Iterator[str]:
    donor, receiver, vector = rebalance.donor_role, rebalance.receiver_role, target.vector
    if spec.rebalance.policy is RebalancePolicy.DISABLED:
        yield "spec.rebalance.policy is Disabled now"
    if not same_pool(target, donor, receiver):
        yield f"{donor} and {receiver} do not share an instanceType any more"
    if spec.rebalance.policy is RebalancePolicy.PRIORITY and donor not in donors_after(receiver, spec):
        yield f"{donor} does not come after {receiver} in spec.rebalance.priority any more"
    wanted = rebalance.receiver_target_replicas
    if vector[donor] != rebalance.donor_target_replicas or wanted is None or vector[receiver] + 1 != wanted:
        yield f"counts changed meanwhile to {donor}={vector[donor]} {receiver}={vector[receiver]}"
    elif not is_legal({**vector, receiver: wanted}, spec):
        yield f"{receiver}={wanted} with {donor}={vector[donor]} breaks bounds or ratios"


def donors_after(receiver: str, spec: ScalerSpec) -> tuple[str, ...]:
    """The roles that a receiver may take from under Priority, next one first."""
    listed = spec.rebalance.priority
    return listed[listed.index(receiver) + 1 :] if receiver in listed else ()
