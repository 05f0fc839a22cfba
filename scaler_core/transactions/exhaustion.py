"""Growth that found no capacity.

An episode begins with the rollback of a timed-out cohort; its name is the target generation after that rollback, so the
scaler's own commits do not begin another one. Within it the same growth waits `min(30 min, pendingTimeout x 2^k)`, and
until then a role may ask for what was admitted and no more. The episode ends with a spec edit of the scaler, a target
generation that is not our last commit's, a recommendation back at the baseline, or growth that was admitted in full.

| State     | Event      | State     |
|-----------|------------|-----------|
| None      | RolledBack | Exhausted |
| Exhausted | RolledBack | Exhausted |
| Exhausted | Edited     | None      |
| Exhausted | Relaxed    | None      |
| Exhausted | Satisfied  | None      |
| Exhausted | Dropped    | None      |
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import Commit, Exhaustion, PendingCohort, ScalerStatus, Vector
from scaler_core.model.plan import Plan
from scaler_core.model.world import World
from scaler_core.transactions.clock import retry_wait
from scaler_core.transactions.legality import component_roles
from scaler_core.transactions.machine import Machine


class ExhaustionState(StrEnum):
    """Whether an episode runs."""

    NONE = "None"
    EXHAUSTED = "Exhausted"


class ExhaustionEvent(StrEnum):
    """What begins and ends it."""

    ROLLED_BACK = "RolledBack"
    EDITED = "Edited"
    RELAXED = "Relaxed"
    SATISFIED = "Satisfied"
    DROPPED = "Dropped"


_NONE, _EXHAUSTED = ExhaustionState.NONE, ExhaustionState.EXHAUSTED
EXHAUSTION: Final = Machine(
    name="exhaustion",
    start=_NONE,
    table={
        (_NONE, ExhaustionEvent.ROLLED_BACK): _EXHAUSTED,
        (_EXHAUSTED, ExhaustionEvent.ROLLED_BACK): _EXHAUSTED,
        (_EXHAUSTED, ExhaustionEvent.EDITED): _NONE,
        (_EXHAUSTED, ExhaustionEvent.RELAXED): _NONE,
        (_EXHAUSTED, ExhaustionEvent.SATISFIED): _NONE,
        (_EXHAUSTED, ExhaustionEvent.DROPPED): _NONE,
    },
)


def state_of(exhaustion: Exhaustion | None) -> ExhaustionState:
    """The state that a status holds."""
    return ExhaustionState.NONE if exhaustion is None else ExhaustionState.EXHAUSTED


def move(exhaustion: Exhaustion | None, event: ExhaustionEvent) -> Exhaustion | None:
    """The episode after an event that ends it: nothing."""
    return None if EXHAUSTION.after(state_of(exhaustion), event) is ExhaustionState.NONE else exhaustion


def after_rollback(
    old: Exhaustion | None, cohort: PendingCohort, counts: Vector, generation: int, world: World
) -> Exhaustion:
    """The episode after a rollback left the target at `counts` under `generation`."""
    EXHAUSTION.after(state_of(old), ExhaustionEvent.ROLLED_BACK)
    attempts = 1 if old is None else old.attempts + 1
    wait = retry_wait(attempts, world.scaler.spec.sampling.pending_timeout_seconds)
    admitted = cohort.admitted_vector or cohort.baseline_vector
    return Exhaustion(
        admitted_vector={role: max(count, admitted.get(role, count)) for role, count in counts.items()},
        requested_vector=dict(cohort.target_vector),
        baseline_vector=dict(counts),
        episode_generation=generation if old is None else old.episode_generation,
        scaler_generation=world.scaler.metadata.generation,
        attempts=attempts,
        retry_at=world.now + wait,
    )


def is_edited(
    exhaustion: Exhaustion, scaler: ModelDeploymentScaler, target: ModelDeployment, last: Commit | None
) -> bool:
    """Whether an edit of the scaler, or someone else's of the target, ended the episode."""
    if exhaustion.scaler_generation != scaler.metadata.generation:
        return True
    return last is None or target.metadata.generation != last.target_generation


def exhausted_roles(exhaustion: Exhaustion) -> tuple[str, ...]:
    """Roles that asked for more than was admitted, in role order."""
    requested = exhaustion.requested_vector
    return tuple(r for r, count in exhaustion.admitted_vector.items() if requested.get(r, count) > count)


def growth_caps(status: ScalerStatus, now: float) -> dict[str, int]:
    """The most that each exhausted role may ask for now."""
    exhaustion = status.exhaustion
    if exhaustion is None or now >= exhaustion.retry_at:
        return {}
    return {role: exhaustion.admitted_vector[role] for role in exhausted_roles(exhaustion)}


def is_relaxed(
    exhaustion: Exhaustion, recommended: Mapping[str, int], current: Mapping[str, int], spec: ScalerSpec
) -> bool:
    """Whether every exhausted role's recommendation is back at the baseline, and no neighbour asks for its growth.

    Args:
        exhaustion: the episode.
        recommended: of the roles whose recommendation rests on complete readings.
        current: the target's counts.
        spec: its ratios tie neighbours to the exhausted roles, which grow when these do.
    """
    baseline = exhaustion.baseline_vector
    roles = exhausted_roles(exhaustion)
    if any(role not in recommended or recommended[role] > baseline.get(role, 0) for role in roles):
        return False
    tied = component_roles(roles, current, spec)
    return all(recommended.get(role, 0) <= max(current[role], baseline.get(role, 0)) for role in tied)


def is_wanted(exhaustion: Exhaustion, pending: PendingCohort | None, plan: Plan, spec: ScalerSpec) -> bool:
    """Whether an exhausted role, or its neighbour by a ratio, asks for more than was admitted, or nobody can tell.

    The episode outlives the need (it remembers how long the next attempt waits), but it holds nothing without one.
    """
    tied = component_roles(exhausted_roles(exhaustion), plan.vector, spec)
    admitted = {} if pending is None else pending.baseline_vector
    roles = [plan.roles[role] for role in tied if role in plan.roles and plan.roles[role].is_conclusive]
    return len(roles) < len(tied) or any(r.recommended > min(r.current, admitted.get(r.role, r.current)) for r in roles)


def is_satisfied(exhaustion: Exhaustion, cohort: PendingCohort) -> bool:
    """Whether an admitted cohort has everything that once found no capacity."""
    return all(
        cohort.target_vector.get(role, 0) >= exhaustion.requested_vector.get(role, 0)
        for role in exhausted_roles(exhaustion)
    )


def describe(exhaustion: Exhaustion, spec: ScalerSpec, now: float) -> str:
    """The episode in words, without a number that changes from pass to pass."""
    wait = f"{retry_wait(exhaustion.attempts, spec.sampling.pending_timeout_seconds):.0f} s"
    asked = " ".join(
        f"{role} {exhaustion.requested_vector[role]} (admitted {exhaustion.admitted_vector[role]})"
        for role in exhausted_roles(exhaustion)
    )
    again = "may be asked for again" if now >= exhaustion.retry_at else f"waits {wait} after the rollback"
    return f"no capacity for {asked or 'the last growth'} within {spec.sampling.pending_timeout_seconds} s; it {again}"
