"""The commit behind a decision of our term that the status does not know: it outlived its intent (intent.py).

The last intent that expired is kept until another commit lands, which is when it can never arrive any more. Should it
arrive, it is taken over as what it was: a restore starts its cooldown, a donor's release is followed by its receiver.
Any other unknown decision counts as a plan's.
"""

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import DecisionRecord
from scaler_core.api.scaler_status import Cause, Commit, ScalerStatus
from scaler_core.transactions import rebalance, retirement
from scaler_core.transactions.rebalance import RebalanceState
from scaler_core.transactions.retirement import RetirementState


def adopt(decision: DecisionRecord, status: ScalerStatus, target: ModelDeployment, now: float) -> Commit:
    """The commit that the decision stands for; without its intent the last reported counts are its baseline."""
    generation, expired = target.metadata.generation, status.expired_commit
    if expired is not None and expired.decision_id == decision.decision_id:
        cause = expired.cause if _still_fits(expired, status) else Cause.PLAN
        return expired.model_copy(update={"timestamp": now, "target_generation": generation, "cause": cause})
    reported = {role.name: role.current_replicas for role in status.roles}
    return Commit(
        decision_id=decision.decision_id,
        term=decision.term,
        vector=dict(decision.vector),
        baseline_vector={role: reported.get(role) or count for role, count in decision.vector.items()},
        timestamp=now,
        target_generation=generation,
    )


def _still_fits(expired: Commit, status: ScalerStatus) -> bool:
    """Whether the transaction that wanted the write still waits for it."""
    current = status.rebalance
    match expired.cause:
        case Cause.PLAN:
            return True
        case Cause.ROLLBACK:
            return status.pending_cohort is not None
        case Cause.RESTORE:
            return retirement.state_of(status.last_scale_down) is RetirementState.RUNNING
        case Cause.DONOR_RELEASE:
            has_legs = current is not None and expired.vector.get(current.donor_role) == current.donor_target_replicas
            return has_legs and rebalance.state_of(current) in rebalance.WAITING
        case Cause.RECEIVER_ACQUIRE | Cause.DONOR_RESTORE:
            return rebalance.state_of(current) is RebalanceState.DONOR_RELEASE
