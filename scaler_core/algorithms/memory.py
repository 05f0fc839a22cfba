"""What the algorithms remember between passes: a frozen, bounded value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from scaler_core.algorithms.history import DemandHistory
from scaler_core.algorithms.tracker import Tracker
from scaler_core.api.scaler_spec import AlgorithmType, Metric, ScalerSpec
from scaler_core.model.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What windows and filters belong to: they mean nothing under another type, metric or interval."""

    type: AlgorithmType
    metric: Metric | None
    interval_seconds: int

    @classmethod
    def of(cls, spec: ScalerSpec) -> Self:
        """The fingerprint of a spec; numeric targets are no part of it, so editing them keeps what was learned."""
        proportional = spec.algorithm.proportional
        return cls(
            type=spec.algorithm.type,
            metric=proportional.metric if proportional is not None else None,
            interval_seconds=spec.sampling.interval_seconds,
        )

    def __str__(self) -> str:
        return "/".join([self.type, *([self.metric] if self.metric else []), f"{self.interval_seconds}s"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleMemory:
    """What is remembered of one role."""

    history: DemandHistory = field(default_factory=DemandHistory)
    tracker: Tracker = field(default_factory=Tracker)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmMemory:
    """What is remembered of all roles of one scaler."""

    fingerprint: Fingerprint | None = None
    roles: Mapping[str, RoleMemory] = field(default_factory=dict)
    recommendations: Mapping[str, Recommendation] = field(default_factory=dict)
    """The last recommendation of each role, for passes between two samples."""

    def for_spec(self, spec: ScalerSpec) -> Self:
        """This memory, or an empty one where the type, the metric or the interval was edited."""
        wanted = Fingerprint.of(spec)
        if self.fingerprint == wanted:
            return self
        return replace(self, fingerprint=wanted, roles={}, recommendations={})
