"""What the target says of a role's replicas, beside what its engines say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scaler_core.api.deployment import RoleKind

CREDIT_SECONDS: Final = 1800.0
"""How long after its admission a replica may warm up before nobody counts on it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmingReplica:
    """A replica below the current count that is not ready."""

    ordinal: int
    admitted_at: float | None = None
    """When its Workload was admitted (or its Pods scheduled), Unix seconds; None while it still waits."""
    engine_restarts: int = 0
    """Container restarts of its engines since its Pods exist."""

    def has_credit(self, now: float) -> bool:
        """Whether it is still expected to relieve the role: no engine restart, and under 30 minutes since admission."""
        return self.engine_restarts == 0 and (self.admitted_at is None or now - self.admitted_at < CREDIT_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCounts:
    """One role of the target in this pass."""

    kind: RoleKind
    current: int
    """Replicas in the target's spec."""
    warming: Sequence[WarmingReplica] = ()
    """Replicas below the current count that are not ready."""

    def without_credit(self, now: float) -> int:
        """Replicas that are not ready and that nobody counts on."""
        return sum(not replica.has_credit(now) for replica in self.warming)
