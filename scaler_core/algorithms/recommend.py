"""Recommendations of all roles from one sample: the dispatch to the algorithms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scaler_core.algorithms import holding, predictive_roles, proportional, token_roles
from scaler_core.algorithms.coupling import couple
from scaler_core.algorithms.memory import AlgorithmMemory, RoleMemory
from scaler_core.algorithms.token_roles import Moment
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import ScalerSpec, TokenThroughput
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.counts import RoleCounts
from scaler_core.model.reading import RoleReading
from scaler_core.model.recommendation import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Recommendations of one sample and what is remembered after it."""

    recommendations: Mapping[str, Recommendation]
    memory: AlgorithmMemory


def recommend(
    readings: Mapping[str, RoleReading],
    counts: Mapping[str, RoleCounts],
    spec: ScalerSpec,
    memory: AlgorithmMemory,
    now: float,
) -> Advice:
    """What the load alone asks for, for every role of the target.

    Call it once for each new sample; a repeated sample does no harm. Passes between samples use `recall`.

    Args:
        readings: The sample by role; a role that is not in it waits for metrics.
        counts: The target's roles, in the target's order.
        spec: The scaler's spec after defaulting.
        memory: What `recommend` or `restore` returned last.
        now: Unix seconds, for the credit of replicas that warm up.
    """
    memory = memory.for_spec(spec)
    roles: dict[str, RoleMemory] = {}
    own: dict[str, Recommendation] = {}
    for role, count in counts.items():
        roles[role] = memory.roles.get(role, RoleMemory())
        reading = readings.get(role)
        held = _held(role, reading, count, spec)
        if held is not None:
            own[role] = held
        elif reading is not None and has_signal(role, count.kind, spec):
            own[role], roles[role] = _from_signal(reading, count, spec, roles[role], now)
    recommendations = {**_coupled(own, counts, spec), **own}
    ordered = {role: recommendations[role] for role in counts}
    return Advice(recommendations=ordered, memory=replace(memory, roles=roles, recommendations=ordered))


def recall(memory: AlgorithmMemory, counts: Mapping[str, RoleCounts]) -> Mapping[str, Recommendation]:
    """The last recommendations, for a pass between two samples; a role without one holds its count."""
    return {
        role: memory.recommendations.get(role) or holding.waiting(count.current, "the role was not sampled yet")
        for role, count in counts.items()
    }


def has_signal(role: str, kind: RoleKind, spec: ScalerSpec) -> bool:
    """Whether the role is scaled on its own measurements; any other role is coupled to its neighbours."""
    if spec.algorithm.proportional is not None:
        return proportional.target_of(role, spec.algorithm.proportional) is not None
    return kind is not RoleKind.ENCODE


def _held(role: str, reading: RoleReading | None, count: RoleCounts, spec: ScalerSpec) -> Recommendation | None:
    if reading is not None and reading.ready_replicas < 1:
        return holding.no_ready_replica(count.current)
    if not has_signal(role, count.kind, spec):
        return None
    if reading is None:
        return holding.waiting(count.current, "the role was not sampled yet")
    return holding.stale(reading, count.current) if reading.state is SignalState.STALE else None


def _from_signal(
    reading: RoleReading, count: RoleCounts, spec: ScalerSpec, memory: RoleMemory, now: float
) -> tuple[Recommendation, RoleMemory]:
    block = spec.algorithm.proportional
    target = proportional.target_of(reading.role, block) if block is not None else None
    if block is not None and target is not None:
        return proportional.recommend(reading, target=target, spec=block, current=count.current), memory
    moment = Moment(interval_seconds=spec.sampling.interval_seconds, now=now)
    if spec.algorithm.predictive is not None:
        return predictive_roles.advise(reading, count, spec.algorithm.predictive, memory, moment)
    tokens = spec.algorithm.token_throughput or TokenThroughput()
    return token_roles.advise(reading, count, tokens, memory, moment)


def _coupled(
    own: Mapping[str, Recommendation], counts: Mapping[str, RoleCounts], spec: ScalerSpec
) -> Mapping[str, Recommendation]:
    lone = {
        role: holding.waiting(count.current, "no signal of its own and no ratio to a role that has one")
        for role, count in counts.items()
        if role not in own
    }
    return {**lone, **couple(own, {role: count.current for role, count in counts.items()}, spec.ratios)}
