"""What happened to counts, from what a client of the API server sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler_status import Commit, ScalerStatus
from scaler_core.model.action import render_vector
from scaler_sim.demo.manifests import MINIMUM

MOST_LOOKS: Final = 15
"""Looks at the events before a decision is told without its cause."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A vector whose cause is not known yet: the event that tells it is on its way."""

    at: float
    phase: str
    commit: Commit
    demands: Mapping[str, str]
    """By role, what the load alone asks for, in words."""
    looks: int = 0
    """How often it was looked for."""


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
    untold: list[Committed] = field(default_factory=list)
    _began_at: float | None = None
    _last_at: float | None = None
    _held: int = 0
    _decision_id: str = ""
    _used: set[str] = field(default_factory=set)

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

    def observe(
        self, at: float, phase: str, target: ModelDeployment, status: ScalerStatus, demands: Mapping[str, str]
    ) -> None:
        """Take note of a moment.

        Args:
            at: clock seconds.
            phase: of the load.
            target: as it is stored.
            status: of the scaler.
            demands: by role, what the load alone asks for, in words.
        """
        self.counts = target.vector
        if self._last_at is not None:
            self.replica_seconds += self._held * (at - self._last_at)
            self._last_at = at
        self._held = sum(max(role.desired, role.ready) for role in target.status.roles)
        if self.first_above_at is None and any(count > MINIMUM for count in target.vector.values()):
            self.first_above_at = at
        commit = status.last_commit
        if commit is not None and commit.decision_id != self._decision_id:
            self._decision_id = commit.decision_id
            since = at - (self._began_at if self._began_at is not None else at)
            self.untold.append(Committed(at=since, phase=phase, commit=commit, demands=demands))

    def explain(self, notes: Mapping[str, str]) -> list[Decision]:
        """Join commits with the events that tell their causes; the decisions that are complete now.

        Args:
            notes: of the scaler's events, by the event's name.
        """
        told, waiting = [], []
        for committed in self.untold:
            cause = self._cause(committed.commit, notes)
            if cause is None and committed.looks < MOST_LOOKS:
                waiting.append(replace(committed, looks=committed.looks + 1))
                continue
            told.append(_decision(committed, cause))
        self.untold = waiting
        self.decisions += told
        return told

    def _cause(self, commit: Commit, notes: Mapping[str, str]) -> str | None:
        prefix = f"{render_vector(commit.baseline_vector)} -> {render_vector(commit.vector)}"
        for name, note in notes.items():
            if name not in self._used and note.startswith(prefix):
                self._used.add(name)
                return note.removeprefix(prefix).removeprefix(": ") or None
        return None


def _decision(committed: Committed, cause: str | None) -> Decision:
    """The decision with its cause: the event's, and the demand where the event only names a limit."""
    commit = committed.commit
    moved = [role for role, count in commit.vector.items() if commit.baseline_vector.get(role) != count]
    demands = [committed.demands[role] for role in moved if committed.demands.get(role)]
    parts = [cause or commit.cause.value, *(demand for demand in demands if demand not in (cause or ""))]
    return Decision(
        at=committed.at,
        phase=committed.phase,
        baseline=commit.baseline_vector,
        vector=commit.vector,
        cause="; ".join(parts),
    )
