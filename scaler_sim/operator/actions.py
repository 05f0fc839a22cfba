"""Everything that a pass may do to the cluster, one value each."""

from dataclasses import dataclass

from scaler_core.api.meta import ConditionStatus
from scaler_sim.engines.fleet import ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePods:
    """Start the members of a replica that do not exist."""

    key: ReplicaKey
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePods:
    """Delete the Pods of a replica at once."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkReady:
    """The model is loaded: every member becomes Ready."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualify:
    """Let a replica have traffic."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Disqualify:
    """Let a replica have no new traffic."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateWorkload:
    """Ask for the admission of a replica."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWorkload:
    """Let a Workload be owned by the Pods that exist now."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWorkload:
    """Give a replica's quota back."""

    key: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One condition of a Workload to set."""

    type: str
    status: ConditionStatus
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeWorkload:
    """Set conditions of a Workload."""

    key: ReplicaKey
    verdicts: tuple[Verdict, ...]


Action = (
    CreatePods
    | DeletePods
    | MarkReady
    | Qualify
    | Disqualify
    | CreateWorkload
    | OwnWorkload
    | DeleteWorkload
    | JudgeWorkload
)
