"""The retirement record of a target."""

from enum import StrEnum
from typing import Final

from pydantic import Field

from scaler_core.api.base import Time, Wire
from scaler_sim.engines.fleet import ReplicaKey


class RetirementState(StrEnum):
    """Where a retirement stands."""

    ADMITTED = "Admitted"
    DISQUALIFIED = "Disqualified"
    WITHDRAWING = "Withdrawing"
    DRAINING = "Draining"
    DELETING = "Deleting"
    SETTLING = "Settling"
    ABORTED = "Aborted"


BEFORE_DELETING: Final = frozenset(
    {
        RetirementState.ADMITTED,
        RetirementState.DISQUALIFIED,
        RetirementState.WITHDRAWING,
        RetirementState.DRAINING,
    }
)
"""States in which a retirement can still be called off."""


class RetirementRecord(Wire):
    """The one retirement of a target."""

    role_name: str
    replica_ordinal: int
    observed_generation: int
    target_member_uids: tuple[str, ...] = Field(default=(), alias="targetMemberUIDs")
    target_workload_uid: str = Field(default="", alias="targetWorkloadUID")
    state: RetirementState
    reason: str = ""
    started_at: Time
    phase_started_at: Time
    deadline: Time

    @property
    def key(self) -> ReplicaKey:
        """The replica that retires."""
        return ReplicaKey(self.role_name, self.replica_ordinal)
