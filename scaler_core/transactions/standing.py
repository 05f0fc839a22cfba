"""How the scaler stands to its target, by precedence, and what the `Bound` and `Active` conditions say of it.

| Standing       | Bound                | Active               | Planning     | Then                       |
|----------------|----------------------|----------------------|--------------|----------------------------|
| Deleting       | False Suspended      | False Suspended      | no           | release, let go            |
| Suspended      | False Suspended      | False Suspended      | no           | release                    |
| TargetNotFound | False TargetNotFound | False TargetNotFound | no           | fields and timers stand    |
| TargetReplaced | False TargetReplaced | False TargetReplaced | no           | a spec edit clears everything |
| InvalidBinding | False InvalidBinding | False InvalidBinding | no           | a person decides           |
| AlreadyBound   | False AlreadyBound   | False AlreadyBound   | no           | the owner stays            |
| ShadowBeside   | False AlreadyBound   | False AlreadyBound   | for status   |                            |
| Shadow         | True Bound           | False ShadowMode     | for status   | release                    |
| Free           | Unknown Bound        | Unknown Active       | for status   | finalizer, then bind       |
| Owner          | True Bound           | True Active          | and commit   | transactions               |

When is a binding that names us ours? When it rests on a write-ahead record: `status.binding` speaks of this very
target (UID), and the binding's term is the one that we hold (`term`) or the one that we stored before we asked for it
(`pendingTerm`), and no decision has a higher term. The same record makes an unknown decision of that term ours, so it
is adopted (intent.py). Every other binding that names us is one that we cannot vouch for: copied from another object
while no fence was there, or ours from before our status was restored from a backup. Adopting it could bring back a
term under which a late write of a paused process still passes its tests. So it is InvalidBinding: nothing is planned,
and the way out keeps terms rising: suspending (or deleting) the scaler releases any binding that names it, and resuming
binds again above every term seen. Transaction fields of such a status do not count, since that release clears them.
"""

from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ConditionStatus
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler_spec import Mode
from scaler_core.api.scaler_status import BindingStatus, ScalerStatus
from scaler_core.model.finding import Finding
from scaler_core.model.world import World
from scaler_core.transactions.claim import Claim, read_claim
from scaler_core.transactions.settled import Planning, Standing

_TRUE, _FALSE, _UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN
CONDITIONS: Final = {
    Standing.DELETING: ((_FALSE, Reason.SUSPENDED), (_FALSE, Reason.SUSPENDED)),
    Standing.SUSPENDED: ((_FALSE, Reason.SUSPENDED), (_FALSE, Reason.SUSPENDED)),
    Standing.TARGET_NOT_FOUND: ((_FALSE, Reason.TARGET_NOT_FOUND), (_FALSE, Reason.TARGET_NOT_FOUND)),
    Standing.TARGET_REPLACED: ((_FALSE, Reason.TARGET_REPLACED), (_FALSE, Reason.TARGET_REPLACED)),
    Standing.INVALID_BINDING: ((_FALSE, Reason.INVALID_BINDING), (_FALSE, Reason.INVALID_BINDING)),
    Standing.ALREADY_BOUND: ((_FALSE, Reason.ALREADY_BOUND), (_FALSE, Reason.ALREADY_BOUND)),
    Standing.SHADOW_BESIDE: ((_FALSE, Reason.ALREADY_BOUND), (_FALSE, Reason.ALREADY_BOUND)),
    Standing.SHADOW: ((_TRUE, Reason.BOUND), (_FALSE, Reason.SHADOW_MODE)),
    Standing.FREE: ((_UNKNOWN, Reason.BOUND), (_UNKNOWN, Reason.ACTIVE)),
    Standing.OWNER: ((_TRUE, Reason.BOUND), (_TRUE, Reason.ACTIVE)),
}
PLANNING: Final = {
    Standing.SHADOW_BESIDE: Planning.RECOMMEND,
    Standing.SHADOW: Planning.RECOMMEND,
    Standing.FREE: Planning.RECOMMEND,
    Standing.OWNER: Planning.COMMIT,
}
"""Standings that are not here plan nothing."""


def judge(world: World, status: ScalerStatus) -> tuple[Standing, str]:
    """The first standing that applies, and the sentence for its conditions."""
    if world.scaler.metadata.is_terminating:
        return Standing.DELETING, "the scaler is being deleted: it releases its binding and plans nothing"
    if world.scaler.spec.suspend:
        return Standing.SUSPENDED, _suspended(world, status)
    if world.target is None or world.target.metadata.is_terminating:
        return Standing.TARGET_NOT_FOUND, _missing(world)
    binding = status.binding
    if binding is not None and is_replaced(binding, world.target):
        reported = binding.replaced_generation or world.scaler.metadata.generation
        return Standing.TARGET_REPLACED, (
            f"ModelDeployment {binding.target_name} now has UID {world.target.metadata.uid}, not {binding.target_uid}: "
            f"edit the scaler's spec to accept the new deployment (this was seen at generation {reported}, and only a "
            "later edit accepts)"
        )
    return _judge_claim(world, status, read_claim(world.target))


def is_replaced(binding: BindingStatus, target: ModelDeployment | None) -> bool:
    """Whether a deployment with another UID than the recorded one has the name; one that is being deleted has not."""
    return target is not None and not target.metadata.is_terminating and target.metadata.uid != binding.target_uid


def findings(standing: Standing, message: str) -> tuple[Finding, Finding]:
    """The `Bound` and `Active` conditions of a standing."""
    (bound, bound_reason), (active, active_reason) = CONDITIONS[standing]
    return (
        Finding(type=ConditionType.BOUND, status=bound, reason=bound_reason, message=message),
        Finding(type=ConditionType.ACTIVE, status=active, reason=active_reason, message=message),
    )


def is_recorded(status: ScalerStatus, claim: Claim) -> bool:
    """Whether a binding that names us rests on a write-ahead record of ours (see above)."""
    record, binding = status.binding, claim.binding
    if record is None or binding is None:
        return False
    decided = claim.decision.term if claim.decision is not None else 0
    return binding.term in {record.term, record.pending_term} and decided <= binding.term


def needs_direct_read(world: World, status: ScalerStatus, standing: Standing) -> bool:
    """Whether a lagging cache would explain the binding just as well: we hold one and see none, or the other way.

    A scaler must not forget (or go) while a binding that it asked for may be there: nobody would release it then.
    """
    if world.target_read_at is not None or status.binding is None:
        return False
    names_us = world.target is not None and read_claim(world.target).names(world.scaler)
    match standing:
        case Standing.FREE | Standing.ALREADY_BOUND | Standing.SHADOW_BESIDE:
            return status.binding.term is not None
        case Standing.INVALID_BINDING:
            return names_us
        case Standing.DELETING | Standing.SUSPENDED | Standing.SHADOW:
            return not names_us and (status.binding.term is not None or status.binding.pending_term is not None)
        case _:
            return False


def _suspended(world: World, status: ScalerStatus) -> str:
    sentence = "spec.suspend is true: nothing is planned and the binding is released"
    if status.binding is None or world.target is None or not is_replaced(status.binding, world.target):
        return sentence
    return (
        f"{sentence}; meanwhile ModelDeployment {status.binding.target_name} was replaced by one with UID "
        f"{world.target.metadata.uid}: resuming, like any edit of the spec, accepts it"
    )


def _missing(world: World) -> str:
    name = world.scaler.spec.target_ref.name
    if world.target is None:
        return f"ModelDeployment {name} does not exist in namespace {world.scaler.metadata.namespace}"
    return f"ModelDeployment {name} is being deleted"


def _judge_claim(world: World, status: ScalerStatus, claim: Claim) -> tuple[Standing, str]:
    is_shadow = world.scaler.spec.mode is Mode.SHADOW
    if claim.unreadable:
        return Standing.INVALID_BINDING, (
            f"the scaler-binding annotation cannot be read ({claim.unreadable}): remove it to let a scaler bind"
        )
    if claim.binding is None:
        if is_shadow:
            return Standing.SHADOW, "Shadow mode: recommendations only, the target is unclaimed"
        return Standing.FREE, "the target is unclaimed and is being bound"
    if not claim.names(world.scaler):
        owner = f"ModelDeploymentScaler {claim.binding.scaler_name} (UID {claim.binding.scaler_uid})"
        return (
            Standing.SHADOW_BESIDE if is_shadow else Standing.ALREADY_BOUND,
            f"{owner} owns the counts under term {claim.binding.term}",
        )
    return _judge_own(status, claim, claim.binding.term, world.scaler.spec.mode)


def _judge_own(status: ScalerStatus, claim: Claim, term: int, mode: Mode) -> tuple[Standing, str]:
    if not is_recorded(status, claim):
        return Standing.INVALID_BINDING, (
            f"the scaler-binding annotation names this scaler under term {term}, which its status does not know "
            "(copied, or a status restored from a backup): set spec.suspend=true so that it is released, then false "
            "to bind again"
        )
    if mode is Mode.SHADOW:
        return Standing.SHADOW, f"Shadow mode: the binding under term {term} is released"
    return Standing.OWNER, f"holds the counts under term {term}"
