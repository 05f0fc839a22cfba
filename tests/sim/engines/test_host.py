"""Engines behind real loopback ports, right and broken."""

import asyncio
from random import Random

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.faults import HUGE_BYTES, Fault
from scaler_sim.engines.fleet import Fleet, ReplicaKey
from scaler_sim.engines.host import EngineHost
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.engines.request import Request
from scaler_sim.engines.timeline import Timeline

KEY = ReplicaKey("server", 0)


class Now:
    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
async def world():
    now = Now()
    fleet = Fleet(engine=Engine.VLLM, profile=EngineProfile(), timeline=Timeline(), random=Random(1))
    host = EngineHost(fleet=fleet, now=now, model_name="m")
    placement = await host.place(KEY, RoleKind.SERVER)
    host.admit(KEY)
    for identity in range(10):
        fleet.submit(Request(identity=identity, arrived_at=0.0, prompt_tokens=500, output_tokens=50))
    now.seconds += 1.0
    async with aiohttp.ClientSession(f"http://{placement.address}:{placement.port}") as session:
        yield now, host, session
    await host.close()


async def read(session):
    async with session.get("/metrics", allow_redirects=False, timeout=aiohttp.ClientTimeout(total=0.3)) as response:
        return response.status, await response.read()


def generated(body):
    return next(
        sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.name == "vllm:generation_tokens_total"
    )


async def test_a_text_shows_the_moment_of_the_question(world):
    now, _, session = world
    status, first = await read(session)
    now.seconds += 0.5
    _, second = await read(session)
    assert status == 200
    assert 0 < generated(first) < generated(second)


async def test_frozen_zeros_and_recovery(world):
    now, host, session = world
    host.break_with(KEY, Fault.FROZEN)
    frozen = (await read(session))[1]
    now.seconds += 0.5
    assert (await read(session))[1] == frozen
    host.break_with(KEY, Fault.ZEROS)
    assert generated((await read(session))[1]) == 0
    host.break_with(KEY, None)
    assert generated((await read(session))[1]) > generated(frozen)


async def test_answers_that_cannot_be_read(world):
    _, host, session = world
    host.break_with(KEY, Fault.ERROR)
    assert (await read(session))[0] == 500
    host.break_with(KEY, Fault.REDIRECT)
    assert (await read(session))[0] == 307
    host.break_with(KEY, Fault.GARBAGE)
    assert b"oops" in (await read(session))[1]
    host.break_with(KEY, Fault.HUGE)
    assert len((await read(session))[1]) > HUGE_BYTES


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.SLOW])
async def test_answers_that_do_not_come_in_time(world, fault):
    _, host, session = world
    host.break_with(KEY, fault)
    with pytest.raises(asyncio.TimeoutError):
        await read(session)


async def test_a_restart_shows_in_counters_and_container(world):
    now, host, session = world
    before = generated((await read(session))[1])
    placement = host.restart(KEY)
    now.seconds += 0.01
    assert generated((await read(session))[1]) == 0 < before
    assert placement.restart_count == 1
    assert placement.container_id.endswith("2")
