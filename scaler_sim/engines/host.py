"""The machines of a simulated deployment: engines that live on a clock and listen on loopback ports."""

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines import metrics_text
from scaler_sim.engines.faults import Fault
from scaler_sim.engines.fleet import Fleet, ReplicaKey
from scaler_sim.engines.listener import ADDRESS, EngineListener
from scaler_sim.engines.readings import IDLE, Readings
from scaler_sim.engines.replica import Replica

TICK_SECONDS = 0.02  # real seconds between two looks at the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where an engine runs: the facts that its Pod reports."""

    address: str
    port: int
    container_id: str
    restart_count: int


@dataclass(slots=True, kw_only=True)
class _Machine:
    listener: EngineListener
    port: int
    process: int
    restarts: int = 0


class EngineHost:
    """Starts, loads, restarts and removes engines, and lets their time follow a clock."""

    def __init__(self, *, fleet: Fleet, now: Callable[[], float], model_name: str) -> None:
        """Make a host without engines.

        Args:
            fleet: its timeline is 0 now.
            now: Unix seconds of the clock that everything runs on.
            model_name: of the texts.
        """
        self.fleet = fleet
        self._now = now
        self._epoch = now()
        self._model_name = model_name
        self._machines: dict[ReplicaKey, _Machine] = {}
        self._processes = itertools.count(1)

    @property
    def epoch(self) -> float:
        """Unix seconds of the timeline's zero."""
        return self._epoch

    @property
    def engine(self) -> Engine:
        """The engine that all replicas run."""
        return self.fleet.engine

    async def place(self, key: ReplicaKey, kind: RoleKind) -> Placement:
        """Start the container of a replica; the model is not loaded, so it gets no requests."""
        self.catch_up()
        replica = self.fleet.add(key, kind)
        listener = EngineListener(lambda fault: self._text(replica, fault))
        machine = _Machine(listener=listener, port=await listener.start(), process=next(self._processes))
        self._machines[key] = machine
        return self._placement(machine)

    def admit(self, key: ReplicaKey) -> None:
        """Let a replica have requests."""
        self.catch_up()
        self.fleet.admit(key)

    def withdraw(self, key: ReplicaKey) -> None:
        """Give a replica no new requests; it finishes what it has."""
        self.catch_up()
        self.fleet.withdraw(key)

    def is_idle(self, key: ReplicaKey) -> bool:
        """Whether a replica has no request left."""
        self.catch_up()
        return self.fleet.is_idle(key)

    async def remove(self, key: ReplicaKey) -> None:
        """End a replica; requests that it still had fail."""
        self.catch_up()
        self.fleet.remove(key)
        machine = self._machines.pop(key, None)
        if machine is not None:
            await machine.listener.close()

    def restart(self, key: ReplicaKey) -> Placement:
        """Let the engine of a replica crash: counters start anew in another container."""
        self.catch_up()
        self.fleet.restart(key)
        machine = self._machines[key]
        machine.process = next(self._processes)
        machine.restarts += 1
        return self._placement(machine)

    def break_with(self, key: ReplicaKey, fault: Fault | None) -> None:
        """Let `/metrics` of a replica go wrong from now on, or be right again."""
        self.catch_up()
        self._machines[key].listener.break_with(fault)

    def catch_up(self) -> None:
        """Bring the engines to the clock's now."""
        self.fleet.advance(self._now() - self._epoch)

    async def run(self) -> None:
        """Keep the engines at the clock's now, until cancelled."""
        while True:
            self.catch_up()
            await asyncio.sleep(TICK_SECONDS)

    async def close(self) -> None:
        """End every engine."""
        for key in list(self._machines):
            await self.remove(key)

    def _placement(self, machine: _Machine) -> Placement:
        return Placement(
            address=ADDRESS,
            port=machine.port,
            container_id=f"containerd://{machine.process:064x}",
            restart_count=machine.restarts,
        )

    def _text(self, replica: Replica, fault: Fault | None) -> str:
        self.catch_up()
        zeros = fault is Fault.ZEROS
        readings = Readings.starting(replica.engine, 0.0) if zeros else replica.readings
        process = metrics_text.Process(
            engine=replica.engine,
            kind=replica.kind,
            model_name=self._model_name,
            started_at=self._epoch + replica.readings.started_at,
            readings=readings,
            gauges=IDLE if zeros else replica.gauges(),
        )
        return metrics_text.render(process)
