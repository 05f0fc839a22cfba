"""The I/O at the end of a pass: status with the intent, then the target, then status with the outcome, then events.

A crash between any two of them is settled by the next pass (scaler_core.transactions); nothing here decides.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from scaler_controller.reconciler.numbers import role_numbers
from scaler_controller.reconciler.status_writer import StatusWriter
from scaler_controller.reconciler.target_writer import FENCE_IS_OPEN, TargetWriter
from scaler_controller.telemetry.metrics import Metrics
from scaler_core import transactions
from scaler_core.api.reasons import EventReason
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.decision import Decision
from scaler_core.model.action import (
    Action,
    Bind,
    Committed,
    CommitVector,
    Note,
    NoteType,
    Outcome,
    Refused,
    RemoveFinalizer,
    render_vector,
)
from scaler_core.model.world import World
from scaler_core.reporting.movement import has_moved
from scaler_kube.clock import Clock

_log = logging.getLogger(__name__)

BEFORE_INTENT = "before-intent"
BEFORE_COMMIT = "before-commit"
BEFORE_OUTCOME = "before-outcome"


def _go_on(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """Carries out what a pass decided."""

    statuses: StatusWriter
    targets: TargetWriter
    clock: Clock
    metrics: Metrics
    tell: Callable[[World, Note], None]
    """Takes an event for people; never blocks and never fails."""
    pause: Callable[[str], None] = _go_on
    """Called between the writes of a commit; crash tests stop the process here."""

    async def carry_out(self, decision: Decision, world: World) -> None:
        """Do and report what was decided.

        Raises:
            ConflictError: something changed since it was observed; nothing is lost, look again.
            KubeError: any other failure; the next pass settles what came of it.
        """
        if decision.action is None:
            if has_moved(world.scaler.status, decision.status):
                await self.statuses.write(world.scaler, decision.status)
            self._tell(world, decision.notes)
            return
        is_commit = isinstance(decision.action, CommitVector)
        self._pause(BEFORE_INTENT, is_commit)
        scaler = await self._store_intent(decision, world)
        self._tell(world, decision.notes)
        self._pause(BEFORE_COMMIT, is_commit)
        outcome = await self.targets.carry_out(decision.action, replace(world, scaler=scaler))
        self._log(decision, decision.action, outcome)
        self._count(world, decision.action, outcome)
        if isinstance(outcome, Refused) and outcome.message == FENCE_IS_OPEN:
            self.tell(world, Note(reason=EventReason.FENCE_OPEN, message=FENCE_IS_OPEN, type=NoteType.WARNING))
        self._pause(BEFORE_OUTCOME, is_commit)
        await self._store_outcome(decision, replace(world, scaler=scaler, now=self.clock.now()), outcome)

    async def _store_intent(self, decision: Decision, world: World) -> ModelDeploymentScaler:
        """The write ahead; an action without anything to remember needs none."""
        if not has_moved(world.scaler.status, decision.status):
            return world.scaler
        return await self.statuses.write(world.scaler, decision.status)

    async def _store_outcome(self, decision: Decision, world: World, outcome: Outcome) -> None:
        if decision.action is None or isinstance(decision.action, RemoveFinalizer):
            return  # without its finalizer a deleted scaler is gone, and with it the status
        status, notes = transactions.record(decision.status, decision.action, outcome, world)
        if has_moved(world.scaler.status, status):
            await self.statuses.write(world.scaler, status)
        self._tell(world, notes)
        if isinstance(outcome, Committed) and isinstance(decision.action, Bind):
            await self.targets.own_counts(world)

    def _tell(self, world: World, notes: tuple[Note, ...]) -> None:
        for note in notes:
            self.tell(world, note)

    def _pause(self, where: str, is_commit: bool) -> None:  # noqa: FBT001 -- a fact about the action
        if is_commit:
            self.pause(where)

    def _count(self, world: World, action: Action, outcome: Outcome) -> None:
        if isinstance(action, CommitVector) and isinstance(outcome, Committed):
            key = world.scaler.metadata.key
            self.metrics.decisions.labels(key.namespace, key.name, action.intent.cause).inc()

    def _log(self, decision: Decision, action: Action, outcome: Outcome) -> None:
        name, result = type(action).__name__, type(outcome).__name__
        self.metrics.commit_outcomes.labels(action=name, outcome=result).inc()
        extra = {"action": name, "outcome": result, "detail": getattr(outcome, "message", "")}
        if isinstance(action, CommitVector):
            extra |= {
                "decision": action.intent.decision_id,
                "vector": render_vector(action.intent.vector),
                "baseline": render_vector(action.intent.baseline_vector),
                "cause": action.intent.cause,
                "why": action.why,
                "roles": role_numbers(decision),
            }
        _log.info("Carried out", extra=extra)
