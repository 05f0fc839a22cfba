"""What happened to counts, from what a client of the API server sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler_status import RoleObservation, ScalerStatus
from scaler_sim.demo.manifests import MINIMUM


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One committed vector."""

    at: float
    """Clock seconds since the load began; negative before it."""
    phase: str
    baseline: Mapping[str, int]
    vector: Mapping[str, int]
    cause: str

    def sentence(self) -> str:
        """The decision in one line."""
        changes = ", ".join(
            f"{role} {self.baseline.get(role, count)} → {count}"
            for role, count in self.vector.items()
            if self.baseline.get(role) != count
        )
        return f"{changes}: {self.cause}"


@dataclass(kw_only=True)
class Journal:
    """Collects decisions, the first growth, and the replica-seconds that were paid for."""

    decisions: list[Decision] = field(default_factory=list)
    ramp_at: float | None = None
    """Clock seconds at which the ramp began."""
    first_above_at: float | None = None
    """Clock seconds at which a count was first seen above the minimum."""
    counts: Mapping[str, int] = field(default_factory=dict)
    replica_seconds: float = 0.0
    _began_at: float | None = None
    _last_at: float | None = None
    _held: int = 0
    _decision_id: str = ""

    def begin(self, at: float) -> None:
        """The load begins."""
        self._began_at = self._last_at = at

    @property
    def lead_seconds(self) -> float | None:
        """From the ramp's start to the first count above the minimum; zero when it was above already."""
        if self.ramp_at is None or self.first_above_at is None:
            return None
        return max(0.0, self.first_above_at - self.ramp_at)

    @property
    def was_above_before_ramp(self) -> bool:
        """Whether a count was above the minimum before the ramp began."""
        return self.ramp_at is not None and self.first_above_at is not None and self.first_above_at < self.ramp_at

    def observe(self, at: float, phase: str, target: ModelDeployment, status: ScalerStatus) -> Decision | None:
        """Take note of a moment; the decision that is new in it, if there is one.

        Args:
            at: clock seconds.
            phase: of the load.
            target: as it is stored.
            status: of the scaler.
        """
        self.counts = target.vector
        if self._last_at is not None:
            self.replica_seconds += self._held * (at - self._last_at)
            self._last_at = at
        self._held = sum(max(role.desired, role.ready) for role in target.status.roles)
        if self.first_above_at is None and any(count > MINIMUM for count in target.vector.values()):
            self.first_above_at = at
        return self._new_decision(at, phase, status)

    def _new_decision(self, at: float, phase: str, status: ScalerStatus) -> Decision | None:
        commit = status.last_commit
        if commit is None or commit.decision_id == self._decision_id:
            return None
        self._decision_id = commit.decision_id
        changed = [
            role for role in status.roles if commit.vector.get(role.name) != commit.baseline_vector.get(role.name)
        ]
        decision = Decision(
            at=at - (self._began_at if self._began_at is not None else at),
            phase=phase,
            baseline=commit.baseline_vector,
            vector=commit.vector,
            cause=f"{commit.cause.value}, " + "; ".join(_because(role) for role in changed),
        )
        self.decisions.append(decision)
        return decision


def _because(role: RoleObservation) -> str:
    return f"{role.name} {role.reason} at {demand(role)}, wants {role.raw_recommended_replicas}"


def demand(role: RoleObservation) -> str:
    """What was measured of a role, in the units that matter to it."""
    parts = []
    if role.prompt_tokens_per_second is not None and float(str(role.prompt_tokens_per_second)):
        parts.append(f"{_number(role.prompt_tokens_per_second)} prompt tok/s")
    elif role.generation_tokens_per_second is not None:
        parts.append(f"{_number(role.generation_tokens_per_second)} tok/s")
    if role.running_requests is not None:
        parts.append(f"{role.running_requests}+{role.waiting_requests or 0} requests")
    return ", ".join(parts) or role.signal_state.value


def _number(quantity: object) -> str:
    return f"{float(str(quantity)):.0f}"
