"""Machines of every target, each with a fleet of its own, all on one clock."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from scaler_core.api.meta import ObjectKey
from scaler_core.model.scrape import Engine
from scaler_sim.engines.fleet import Fleet
from scaler_sim.engines.host import TICK_SECONDS, EngineHost
from scaler_sim.engines.profile import PROFILES, EngineProfile
from scaler_sim.engines.timeline import Timeline

MODEL_NAME = "Qwen/Qwen3-8B"


@dataclass(kw_only=True)
class EnginePark:
    """Makes a host for each target that the operator asks for, and moves the engines' time."""

    now: Callable[[], float]
    """Unix seconds of the clock."""
    profile: EngineProfile | None = None
    """Of every engine; the benchmark's for each when None."""
    seed: int
    _hosts: dict[ObjectKey, EngineHost] = field(default_factory=dict)

    def of(self, target: ObjectKey, engine: str) -> EngineHost:
        """The machines of a target; made with the engine of the first question."""
        if target not in self._hosts:
            spoken = next(known for known in Engine if known.value.lower() == engine.lower())
            fleet = Fleet(
                engine=spoken,
                profile=self.profile or PROFILES[spoken],
                timeline=Timeline(),
                random=Random(f"{self.seed}/{target}"),
            )
            self._hosts[target] = EngineHost(fleet=fleet, now=self.now, model_name=MODEL_NAME)
        return self._hosts[target]

    async def run(self) -> None:
        """Keep every engine at the clock's now, until cancelled."""
        while True:
            for host in self._hosts.values():
                host.catch_up()
            await asyncio.sleep(TICK_SECONDS)

    async def close(self) -> None:
        """End every engine."""
        for host in self._hosts.values():
            await host.close()
