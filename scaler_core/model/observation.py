"""What the engines say at the time of a pass, and what that asks for."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaler_core.model.counts import RoleCounts
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Readings, recommendations and replicas of every role of the target, by role."""

    readings: Mapping[str, RoleReading]
    recommendations: Mapping[str, Recommendation]
    counts: Mapping[str, RoleCounts]
