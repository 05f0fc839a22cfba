"""The observing half of a pass: samples to readings and recommendations, and the memory that spans passes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from scaler_core.algorithms.memory import AlgorithmMemory, Fingerprint
from scaler_core.algorithms.persistence import restore
from scaler_core.algorithms.recommend import recall, recommend
from scaler_core.api.deployment import ModelDeployment, Role
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.model.counts import RoleCounts, WarmingReplica
from scaler_core.model.observation import Observation
from scaler_core.model.recommendation import Recommendation
from scaler_core.model.world import Snapshot, World
from scaler_core.planning.history import RecommendationHistory
from scaler_core.signals.readings import read_roles
from scaler_core.signals.replicas import replicas_of
from scaler_core.signals.windows import SignalMemory
from scaler_core.transactions.replicas import Replicas
from scaler_core.transactions.replicas import replicas_of as admissions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one scaler remembers between passes of one process; losing it costs time, never a scale-down."""

    target_uid: str = ""
    signals: SignalMemory = field(default_factory=SignalMemory)
    algorithm: AlgorithmMemory = field(default_factory=AlgorithmMemory)
    histories: Mapping[str, RecommendationHistory] = field(default_factory=dict)

    @classmethod
    def restore(cls, world: World) -> Self:
        """What the status kept of an earlier process; windows keep their floor and lose their span."""
        status, target = world.scaler.status, world.target
        uid = target.metadata.uid if target is not None else ""
        if status.binding is None or status.binding.target_uid != uid:
            return cls(target_uid=uid)
        return cls(
            target_uid=uid,
            algorithm=restore(status, world.scaler.spec, world.now),
            histories={
                role.name: RecommendationHistory.from_status(role.stabilization_history) for role in status.roles
            },
        )

    def for_world(self, world: World) -> Self:
        """This memory, without what a replaced target or an edit of type, metric or interval made meaningless."""
        uid = world.target.metadata.uid if world.target is not None else self.target_uid
        if uid != self.target_uid:
            return type(self)(target_uid=uid)
        known = self.algorithm.fingerprint
        if known is not None and known != Fingerprint.of(world.scaler.spec):
            return replace(self, algorithm=self.algorithm.for_spec(world.scaler.spec), histories={})
        return self


def observe(snapshot: Snapshot, target: ModelDeployment, memory: Memory) -> tuple[Observation, Memory]:
    """Read every role; a sample that this scaler has not consumed moves windows, filters and histories once."""
    world = snapshot.world
    spec = world.scaler.spec
    counts = count_roles(world, target)
    found, signals = read_roles(snapshot.scrape, target, world.pods, spec, memory.signals, world.now)
    readings = {reading.role: reading for reading in found}
    if signals.consumed_at is None or signals.consumed_at == memory.signals.consumed_at:
        recommendations = recall(memory.algorithm, counts)
        observation = Observation(readings=readings, recommendations=recommendations, counts=counts)
        return observation, replace(memory, signals=signals)
    advice = recommend(readings, counts, spec, memory.algorithm, world.now)
    histories = _remember(memory.histories, advice.recommendations, signals.consumed_at, spec)
    observation = Observation(readings=readings, recommendations=advice.recommendations, counts=counts)
    return observation, replace(memory, signals=signals, algorithm=advice.memory, histories=histories)


def count_roles(world: World, target: ModelDeployment) -> dict[str, RoleCounts]:
    """The target's roles with the replicas that are still warming up."""
    admissions = admissions_of(world, target)
    return {role.name: _count(world, target, role, admissions) for role in target.spec.roles}


def _count(world: World, target: ModelDeployment, role: Role, admissions: Replicas) -> RoleCounts:
    ready = {it.ordinal for it in replicas_of(target, role, world.pods) if it.is_ready}
    warming = tuple(
        WarmingReplica(
            ordinal=ordinal,
            admitted_at=admissions.admitted_at((role.name, ordinal)),
            engine_restarts=admissions.engine_restarts((role.name, ordinal)),
        )
        for ordinal in range(role.replicas)
        if ordinal not in ready
    )
    return RoleCounts(kind=role.kind, current=role.replicas, warming=warming)


def _remember(
    known: Mapping[str, RecommendationHistory],
    recommendations: Mapping[str, Recommendation],
    taken_at: float,
    spec: ScalerSpec,
) -> dict[str, RecommendationHistory]:
    """Only what was measured enters a window: after an outage it must span anew before anything shrinks."""
    return {
        role: known.get(role, RecommendationHistory())
        if recommendation.holds_growth
        else known.get(role, RecommendationHistory()).append(
            taken_at, recommendation.replicas, spec.sampling.interval_seconds
        )
        for role, recommendation in recommendations.items()
    }
