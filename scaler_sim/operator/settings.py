"""Facts and knobs of the operator; all times in clock seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """How long things take, and how much there is."""

    warm_up_seconds: float = 45.0
    """From a Pod's start to Ready: loading weights, compiling. LLM Pods take 20 to 135 s in published traces."""
    warm_up_seconds_by_role: Mapping[str, float] = field(default_factory=dict)
    """Exceptions by role name."""
    admission_seconds: float = 1.0
    """From reserved quota to admission."""
    withdraw_seconds: float = 20.0
    """From the start of a retirement until its endpoint is withdrawn everywhere; the benchmark saw 21."""
    delete_seconds: float = 70.0
    """From the start of a retirement until its Pods are deleted, the handoff window included; the benchmark saw 70."""
    settle_seconds: float = 1.0
    """From the disappearance of Pods and Workload to the end of the retirement."""
    retirement_budget_seconds: float = 300.0
    """The deadline that the record names."""
    quota: Mapping[str, int] = field(default_factory=dict)
    """Pods that each instance type has room for; one that is not named has no limit."""
    pass_seconds: float = 0.15
    """Real seconds between two passes."""
    image: str = "registry.example/engine:1.0"
    """Of roles that name none; never pulled, there is no kubelet."""

    def warm_up(self, role: str) -> float:
        """Warm-up time of a role's Pods."""
        return self.warm_up_seconds_by_role.get(role, self.warm_up_seconds)
