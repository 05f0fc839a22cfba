"""One pass over one scaler: observe, decide, carry out, report."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from scaler_controller.reconciler.carry_out import Executor
from scaler_controller.reconciler.measure import measure
from scaler_controller.reconciler.numbers import role_numbers
from scaler_controller.reconciler.observe import Gone, Lagging, Observer
from scaler_controller.reconciler.sampling_wishes import SamplingWishes
from scaler_controller.runtime.requeue import AT_ONCE, AWAIT_CHANGE, RequeueAfter
from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api.meta import ObjectKey
from scaler_core.decision import decide
from scaler_core.model.world import Snapshot
from scaler_core.observation import Memory
from scaler_core.recording import Recording
from scaler_kube.errors import ConflictError
from scaler_kube.logs import pass_context

_log = logging.getLogger(__name__)


def _new_decision_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, kw_only=True)
class Reconciler:
    """Runs passes; holds what outlives them within this process."""

    observer: Observer
    executor: Executor
    wishes: SamplingWishes
    metrics: Metrics
    clock_factor: float = 1.0
    """Clock seconds in a real second."""
    new_decision_id: Callable[[], str] = _new_decision_id
    memories: dict[ObjectKey, Memory] = field(default_factory=dict)
    last: dict[ObjectKey, Recording] = field(default_factory=dict)
    """The last pass of each scaler, to be explained when somebody asks."""

    async def reconcile(self, key: ObjectKey) -> RequeueAfter:
        """One pass; raises KubeError when the API server did not do what was asked."""
        observed = await self.observer.observe(key)
        match observed:
            case Gone():
                self._forget(key)
                return AWAIT_CHANGE
            case Lagging(seconds=seconds):
                return RequeueAfter(seconds=seconds * self.clock_factor)
            case Snapshot():
                with pass_context(scaler=str(key), pass_id=uuid.uuid4().hex[:8]):
                    return await self._pass(key, observed)
            case _:
                assert_never(observed)

    def last_pass(self, key: ObjectKey) -> Recording | None:
        """The last pass of a scaler, for the debug endpoint."""
        return self.last.get(key)

    async def _pass(self, key: ObjectKey, snapshot: Snapshot) -> RequeueAfter:
        recording = Recording(snapshot=snapshot, memory=self.memories.get(key), decision_id=self.new_decision_id())
        decision, memory = decide(snapshot, recording.memory, recording.decision_id)
        self.memories[key] = memory
        self.wishes.follow(snapshot.world, decision)
        measure(self.metrics, snapshot.world.scaler, decision)
        if decision.reads_target:
            self.observer.direct.add(key)
            if not decision.wake_after:
                return AT_ONCE  # what the cache showed proves nothing, so nothing of it is reported
        self.last[key] = recording
        _log.debug("Decided", extra={"action": type(decision.action).__name__, "roles": role_numbers(decision)})
        try:
            await self.executor.carry_out(decision, snapshot.world)
        except ConflictError as error:
            _log.info("Something changed meanwhile, looking again", extra={"error": str(error)})
            return AT_ONCE
        if decision.action is not None:
            return AT_ONCE
        return AWAIT_CHANGE if decision.wake_after is None else RequeueAfter(seconds=decision.wake_after)

    def _forget(self, key: ObjectKey) -> None:
        self.memories.pop(key, None)
        self.last.pop(key, None)
        self.observer.own_writes.forget(key)
        self.wishes.forget(key)
        self.metrics.forget(key)
