"""The replicas that one commit added, until every one is admitted (spec, Pacing and guards).

| State   | Event     | State   | Then                                                                             |
|---------|-----------|---------|----------------------------------------------------------------------------------|
| None    | Grown     | Pending | growth of the target waits; components with a cohort role do not shrink          |
| Pending | Grown     | Pending | a decision was adopted that a restored status did not know: its growth waits     |
| Pending | Waiting   | Pending | within `pendingTimeoutSeconds`                                                   |
| Pending | Admitted  | None    | every added replica has an admission of its own                                  |
| Pending | Expired   | Pending | one write restores the baseline of the cohort's components: a rollback           |
| Pending | Restored  | None    | the rollback landed, or nothing legal lies between: growth found no capacity      |
| Pending | Dropped   | None    | suspended, released, counts changed by someone else                              |

A rollback bypasses stabilization, pacing, guards and cooldown, never the fence. Since components without a cohort role
may have shrunk meanwhile, and others not, restoring whole components breaks no band that the baseline kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import PendingCohort, Vector
from scaler_core.transactions.clock import elapsed
from scaler_core.transactions.draft import Draft
from scaler_core.transactions.legality import component_roles, step_back
from scaler_core.transactions.machine import Machine
from scaler_core.transactions.replicas import Replica, Replicas, between


class CohortState(StrEnum):
    """Whether replicas wait for admission."""

    NONE = "None"
    PENDING = "Pending"


class CohortEvent(StrEnum):
    """What happens to them."""

    GROWN = "Grown"
    WAITING = "Waiting"
    ADMITTED = "Admitted"
    EXPIRED = "Expired"
    RESTORED = "Restored"
    DROPPED = "Dropped"


COHORT: Final = Machine(
    name="cohort",
    start=CohortState.NONE,
    table={
        (CohortState.NONE, CohortEvent.GROWN): CohortState.PENDING,
        (CohortState.PENDING, CohortEvent.GROWN): CohortState.PENDING,
        (CohortState.PENDING, CohortEvent.WAITING): CohortState.PENDING,
        (CohortState.PENDING, CohortEvent.ADMITTED): CohortState.NONE,
        (CohortState.PENDING, CohortEvent.EXPIRED): CohortState.PENDING,
        (CohortState.PENDING, CohortEvent.RESTORED): CohortState.NONE,
        (CohortState.PENDING, CohortEvent.DROPPED): CohortState.NONE,
    },
)


def state_of(pending: PendingCohort | None) -> CohortState:
    """The state that a status holds."""
    return CohortState.NONE if pending is None else CohortState.PENDING


def begin(draft: Draft, cohort: PendingCohort) -> Draft:
    """With these replicas to wait for."""
    COHORT.after(state_of(draft.status.pending_cohort), CohortEvent.GROWN)
    return draft.having(pending_cohort=cohort)


def move(draft: Draft, event: CohortEvent) -> Draft:
    """After an event that ends the wait, or leaves it."""
    after = COHORT.after(state_of(draft.status.pending_cohort), event)
    return draft.having(pending_cohort=None) if after is CohortState.NONE else draft


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortView:
    """A pending cohort in this pass."""

    event: CohortEvent
    added: tuple[Replica, ...]
    missing: tuple[Replica, ...]
    """Added replicas without an admission of their own."""
    seconds_left: float

    def describe(self) -> str:
        """The wait in words."""
        if len(self.added) == 1:
            return f"the added replica {_names(self.missing)} waits for admission"
        verb = "waits" if len(self.missing) == 1 else "wait"
        return f"{len(self.missing)} of {len(self.added)} added replicas {verb} for admission ({_names(self.missing)})"

    def describe_admission(self) -> str:
        """Its end in words."""
        if len(self.added) == 1:
            return f"The added replica {_names(self.added)} is admitted"
        return f"All {len(self.added)} added replicas are admitted ({_names(self.added)})"


def _names(replicas: Sequence[Replica]) -> str:
    first = ", ".join(f"{role} {ordinal}" for role, ordinal in replicas[:3])
    return f"{first} and {len(replicas) - 3} more" if len(replicas) > 3 else first


def grown_roles(before: Vector, after: Vector) -> tuple[str, ...]:
    """Roles with a higher count, in role order."""
    return tuple(role for role, count in after.items() if count > before.get(role, count))


def observe(cohort: PendingCohort, replicas: Replicas, spec: ScalerSpec, now: float) -> CohortView:
    """Judge every added replica.

    When the wait expires, a replica whose earlier retirement the target took back counts as admitted: it serves, and
    rolling it back would be an error. Before that it does not, because a Workload that is about to be deleted looks
    the same.
    """
    added = between(cohort.baseline_vector, cohort.target_vector)
    missing = tuple(r for r in added if not replicas.is_admitted(r, cohort.stale_workloads))
    left = max(0.0, spec.sampling.pending_timeout_seconds - elapsed(cohort.started_at, now))
    if left == 0:
        missing = tuple(r for r in missing if not replicas.was_kept(r))
    if not missing:
        return CohortView(event=CohortEvent.ADMITTED, added=added, missing=(), seconds_left=0.0)
    event = CohortEvent.WAITING if left > 0 else CohortEvent.EXPIRED
    return CohortView(event=event, added=added, missing=missing, seconds_left=left)


def admitted_vector(cohort: PendingCohort, view: CohortView) -> dict[str, int]:
    """The counts that were admitted: the baseline and what follows it without a gap."""
    missing = set(view.missing)
    result = dict(cohort.baseline_vector)
    for role, ordinal in view.added:
        if ordinal == result[role] and (role, ordinal) not in missing:
            result[role] += 1
    return result


def rollback_vector(cohort: PendingCohort, current: Vector, spec: ScalerSpec) -> Mapping[str, int]:
    """The vector that undoes the cohort: its components back at their baseline, all others as they are."""
    seeds = grown_roles(cohort.baseline_vector, cohort.target_vector)
    return step_back(cohort.baseline_vector, current, component_roles(seeds, current, spec), spec)
