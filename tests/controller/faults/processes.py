"""One controller process: the product's own reconciler on a transport that can fail at every request."""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scaler_controller.reconciler.caches import Caches
from scaler_controller.reconciler.carry_out import BEFORE_INTENT, Executor
from scaler_controller.reconciler.observe import Observer
from scaler_controller.reconciler.own_writes import OwnWrites
from scaler_controller.reconciler.reconciler import Reconciler
from scaler_controller.reconciler.sampling_wishes import SamplingWishes
from scaler_controller.reconciler.status_writer import StatusWriter
from scaler_controller.reconciler.target_writer import TargetWriter
from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api import defaulting
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.api.workload import Workload
from scaler_core.model.action import Note
from scaler_core.model.scrape import TargetScrape
from scaler_core.model.world import World
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.reflector import Reflector
from scaler_kube.transport import Call, Document
from scaler_kube.watch import EventType, WatchEvent
from tests.controller.faults.server import CONTROLLER, KEY, PODS, SCALERS, TARGETS, WORKLOADS, Direct, Server

LEASE_SECONDS = 15.0
WRITE_SECONDS = 10.0
SERVER_SECONDS = 15.0
"""How long after it was sent the server may still serve a request: the `timeout` that every write carries."""
KINDS = (SCALERS, TARGETS, PODS, WORKLOADS)


class Fate(StrEnum):
    """What becomes of one request."""

    SERVED = "served"
    RACED = "somebody edits the target just before"
    CONFLICT = "409"
    GONE = "410"
    INVALID = "422"
    THROTTLED = "429"
    BROKEN = "500"
    BROKEN_AFTER = "500 after it took effect"
    FENCE_DOWN = "the webhook does not answer"
    LOST = "the connection drops before it took effect"
    UNANSWERED = "the connection drops after it took effect"
    LATE = "no answer, and it may take effect later"
    KILLED_BEFORE = "the process is killed before it is sent"
    KILLED_AFTER = "the process is killed after it took effect"
    PAUSED = "the process stops before it is sent"


CODES = {Fate.CONFLICT: 409, Fate.GONE: 410, Fate.INVALID: 422, Fate.THROTTLED: 429, Fate.BROKEN: 500}


class Killed(BaseException):
    """kill -9: nothing of the process runs any more."""


class Flight:
    """A request whose sender gave up on it."""

    def __init__(self, sent_at: float, serve: Callable[[], Any]) -> None:
        self.sent_at, self.serve = sent_at, serve


class Faulty(Direct):
    """The transport of one process."""

    def __init__(self, server: Server, agent: str, flights: list[Flight]) -> None:
        super().__init__(server, CONTROLLER, agent)
        self.fates: deque[Fate] = deque()
        self.flights = flights
        self.gate: asyncio.Future[None] | None = None
        self.valid_until = float("inf")
        self.trace: list[str] = []

    def deadline(self) -> float:
        """As the product computes it: an answer in time, and never beyond our lease."""
        return min(self.server.clock.monotonic() + WRITE_SECONDS, self.valid_until)

    async def exchange(self, call: Call, *, deadline: float | None = None) -> Document:
        fate = self.fates.popleft() if self.fates else Fate.SERVED
        self.trace.append(f"{call.method} {call.path} {fate.value}")
        if fate is Fate.PAUSED:
            await self.pause()
        if deadline is not None and deadline <= self.server.clock.monotonic():
            raise errors.UnavailableError(call.request, "not sent: its deadline has passed", may_have_happened=False)
        return await self.meet(fate, call)

    async def pause(self) -> None:
        now = self.server.clock.monotonic()
        self.valid_until = min(self.valid_until, now + LEASE_SECONDS)
        self.gate = asyncio.get_running_loop().create_future()
        await self.gate

    async def meet(self, fate: Fate, call: Call) -> Document:
        match fate:
            case Fate.SERVED | Fate.PAUSED:
                return await super().exchange(call)
            case Fate.RACED:
                await self.server.edit_image()
                return await super().exchange(call)
            case Fate.FENCE_DOWN:
                return await self.without_fence(call)
            case Fate.LOST | Fate.LATE:
                if fate is Fate.LATE and call.method != "GET":
                    self.flights.append(Flight(self.server.clock.now(), lambda: super(Faulty, self).exchange(call)))
                raise self.unanswered(call)
            case Fate.KILLED_BEFORE:
                raise Killed
            case Fate.UNANSWERED | Fate.BROKEN_AFTER | Fate.KILLED_AFTER:
                return await self.cut(fate, call)
            case _:
                code = CODES[fate]
                status = errors.Status(reason="Injected", message="injected by a test", details={})
                raise errors.from_answer(call.request, code, status)

    async def without_fence(self, call: Call) -> Document:
        self.server.judges.are_down = True
        try:
            return await super().exchange(call)
        finally:
            self.server.judges.are_down = False

    async def cut(self, fate: Fate, call: Call) -> Document:
        with contextlib.suppress(errors.KubeError):
            await super().exchange(call)
        if fate is Fate.KILLED_AFTER:
            raise Killed
        if fate is Fate.BROKEN_AFTER:
            status = errors.Status(reason="InternalError", message="etcdserver: request timed out", details={})
            raise errors.from_answer(call.request, 500, status)
        raise self.unanswered(call)

    def unanswered(self, call: Call) -> errors.KubeError:
        return errors.UnavailableError(call.request, "no answer in time", may_have_happened=call.request.is_write)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a decision rests on."""

    sampled_at: float | None
    scaler_generation: int


class _Streams:
    """Samples are fed as values, so nothing is subscribed."""

    def subscribe(self, key: Any, subscription: Any) -> None:
        return None

    def unsubscribe(self, key: Any) -> None:
        return None


class Controller:
    """A process with caches, memory and a pass that may be under way."""

    ids = itertools.count(1)

    def __init__(
        self,
        server: Server,
        loop: asyncio.AbstractEventLoop,
        flights: list[Flight],
        tell: Callable[["Controller", World, Note], None],
    ) -> None:
        self.server, self.loop = server, loop
        self.name = f"process-{next(self.ids)}"
        self.transport = Faulty(server, f"model-deployment-scaler/controller ({self.name})", flights)
        self.caches = Caches()
        self.scrape: TargetScrape | None = None
        self.notes: list[Note] = []
        self.bases: dict[str, Basis] = {}
        """What each decision rests on."""
        self.task: asyncio.Task[Any] | None = None
        self.is_dead = False
        self.reflectors: Mapping[str, Reflector[Any]] = {
            SCALERS.plural: Reflector(self.caches.scalers, defaulting.load),
            TARGETS.plural: Reflector(self.caches.targets, ModelDeployment.from_wire),
            PODS.plural: Reflector(self.caches.pods, Pod.from_wire),
            WORKLOADS.plural: Reflector(self.caches.workloads, Workload.from_wire),
        }
        self.versions = dict.fromkeys(self.reflectors, 0)
        self._tell = tell
        self.reconciler = self._assemble()

    def _assemble(self) -> Reconciler:
        client = KubeClient(transport=self.transport, field_manager="model-deployment-scaler")  # type: ignore[arg-type]
        clock, metrics, own_writes = self.server.clock, Metrics(), OwnWrites(self.caches)
        statuses = StatusWriter(
            client=client,
            clock=clock,
            resource=SCALERS,
            own_writes=own_writes,
            metrics=metrics,
            deadline=self.transport.deadline,
        )
        targets = TargetWriter(
            client=client,
            clock=clock,
            scaler_resource=SCALERS,
            target_resource=TARGETS,
            own_writes=own_writes,
            deadline=self.transport.deadline,
        )
        observer = Observer(
            client=client,
            clock=clock,
            caches=self.caches,
            own_writes=own_writes,
            scaler_resource=SCALERS,
            target_resource=TARGETS,
            newest_scrape=lambda uid: self.scrape if self.scrape and self.scrape.target_uid == uid else None,
            serves_workloads=lambda: True,
        )
        executor = Executor(
            statuses=statuses,
            targets=targets,
            clock=clock,
            metrics=metrics,
            tell=self._note,
            pause=self._remember_basis,
        )
        return Reconciler(
            observer=observer,
            executor=executor,
            wishes=SamplingWishes(streams=_Streams()),  # type: ignore[arg-type]
            metrics=metrics,
            new_decision_id=lambda: f"{self.name}-decision-{next(self.ids)}",
        )

    def _note(self, world: World, note: Note) -> None:
        self.notes.append(note)
        self._tell(self, world, note)

    def _remember_basis(self, where: str) -> None:
        if where == BEFORE_INTENT:
            last = self.reconciler.last[KEY]
            self.bases[last.decision_id] = Basis(
                sampled_at=self.reconciler.memories[KEY].signals.consumed_at,
                scaler_generation=last.snapshot.world.scaler.metadata.generation,
            )

    # -- caches -------------------------------------------------------------------------------------------------------

    def sync(self, without: Iterable[str] = ()) -> None:
        """Bring the caches up to date by what a watch would have sent, some of them left behind."""
        left = set(without)
        for resource in KINDS:
            if resource.plural in left:
                continue
            reflector, version = self.reflectors[resource.plural], self.versions[resource.plural]
            if not version:
                reflector.on_listed(map(reflector.read, self.server.all(resource)), str(self.server.version))
            else:
                for change in self.server.changes(resource, version):
                    reflector.on_event(WatchEvent(type=EventType(change.type.value), document=change.stored.document))
                bookmark = {"metadata": {"resourceVersion": str(self.server.version)}}
                reflector.on_event(WatchEvent(type=EventType.BOOKMARK, document=bookmark))
            self.versions[resource.plural] = self.server.version

    # -- passes -------------------------------------------------------------------------------------------------------

    @property
    def is_paused(self) -> bool:
        return self.transport.gate is not None and not self.transport.gate.done()

    def run(self, fates: Iterable[Fate] | None = None) -> Any:
        """A pass, or what is left of a paused one, until it ends, pauses or dies; its result, if it had one.

        Args:
            fates: of the next requests; those of the last call go on when None.
        """
        if fates is not None:
            self.transport.fates = deque(fates)
        if self.task is None:
            self.transport.trace.clear()
            self.task = self.loop.create_task(self.reconciler.reconcile(KEY))
        else:
            assert self.transport.gate is not None
            self.transport.gate.set_result(None)
            self.transport.gate = None
        return self.loop.run_until_complete(self._until_quiet(self.task))

    async def _until_quiet(self, task: "asyncio.Task[Any]") -> Any:
        while not task.done() and not self.is_paused:  # noqa: ASYNC110 -- a pass has no other event than its end
            await asyncio.sleep(0)
        if not task.done():
            return None
        self.task = None
        self.is_dead = self.is_dead or self.server.clock.monotonic() > self.transport.valid_until
        try:
            return task.result()
        except errors.KubeError as error:
            return error
        except Killed:
            self.is_dead = True
            return None

    def kill(self) -> None:
        """kill -9, whatever it was doing."""
        self.is_dead = True
        if self.task is not None:
            self.task.cancel()
            self.task = None
