"""Fleets for the tests of engines."""

from collections.abc import Callable
from random import Random

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.fleet import Fleet, ReplicaKey
from scaler_sim.engines.profile import PROFILES, EngineProfile
from scaler_sim.engines.timeline import Timeline

MakeFleet = Callable[..., Fleet]


@pytest.fixture
def make_fleet() -> MakeFleet:
    def make(
        replicas: int,
        *kinds: RoleKind,
        engine: Engine = Engine.VLLM,
        profile: EngineProfile | None = None,
    ) -> Fleet:
        fleet = Fleet(engine=engine, profile=profile or PROFILES[engine], timeline=Timeline(), random=Random(1))
        for ordinal in range(replicas):
            for kind in kinds:
                key = ReplicaKey(kind.value.lower(), ordinal)
                fleet.add(key, kind)
                fleet.admit(key)
        return fleet

    return make
