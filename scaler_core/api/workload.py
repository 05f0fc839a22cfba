"""The part of a Kueue `Workload` that a scaler reads, and its name."""

from typing import Final

from scaler_core.api.base import Time, Wire
from scaler_core.api.meta import ConditionStatus, ObjectMeta

_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


def workload_name(namespace: str, deployment: str, role: str, ordinal: int) -> str:
    """The group name of one replica: 64-bit FNV-1a over `namespace/deployment/role/ordinal`."""
    digest = _FNV_OFFSET
    for byte in f"{namespace}/{deployment}/{role}/{ordinal}".encode():
        digest = ((digest ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return f"gpustack-fnv64-{digest:016x}"


class WorkloadCondition(Wire):
    """One condition of a Workload."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class WorkloadSpec(Wire):
    """A Workload's spec as far as a scaler reads it."""

    active: bool | None = None


class WorkloadStatus(Wire):
    """A Workload's status as far as a scaler reads it."""

    conditions: tuple[WorkloadCondition, ...] = ()


_ENDED: Final = ("Evicted", "Finished")


class Workload(Wire):
    """The admission of one replica."""

    metadata: ObjectMeta
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    def has(self, condition: str) -> bool:
        """Whether a condition is True."""
        return any(c.type == condition and c.status is ConditionStatus.TRUE for c in self.status.conditions)

    @property
    def is_admitted(self) -> bool:
        """Admitted, and neither evicted, finished, inactive nor leaving."""
        true = {c.type for c in self.status.conditions if c.status is ConditionStatus.TRUE}
        return (
            "Admitted" in true
            and true.isdisjoint(_ENDED)
            and self.spec.active is not False
            and not self.metadata.is_terminating
        )
