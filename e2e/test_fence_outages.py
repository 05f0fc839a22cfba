"""The fence while its webhook is down, slow or confused, and the ways out of what outages leave behind.

Whatever happens, the counts of a bound deployment do not move. golden/outages.txt holds what a person sees.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from e2e.fencing import KEY, LIVE, Fencing, fenced_plane, fencing, scaler
from e2e.person import Step, allowed, perform, refused
from e2e.standin import NONSENSE, silent, talking_nonsense
from e2e.transcript import Transcript
from scaler_core.api.ownership import BINDING, DECISION
from scaler_core.api.scaler import FINALIZER
from scaler_kube import errors, resources

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
MOVE: Final = """patch md llm --type=json -p '[{"op":"replace","path":"/spec/roles/0/replicas","value":8}]'"""
STATUS: Final = """patch md llm --subresource=status --type=merge -p '{"status":{"phase":"Ready"}}'"""
KEEP: Final = """patch md llm --type=merge -p '{"metadata":{"finalizers":["example.org/keep"]}}'"""
LOSE: Final = """patch mds llm --type=merge -p '{"metadata":{"finalizers":null}}'"""
UNBIND: Final = f"annotate md llm {BINDING}-"
UNBIND_BOTH: Final = f"annotate md llm {BINDING}- {DECISION}-"
SLOW_SECONDS: Final = 2


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Fencing]:
    async with fencing(tmp_path) as running:
        yield running


async def test_outages_and_the_ways_out(world: Fencing) -> None:
    transcript = Transcript(name="outages", versions=await world.versions())
    await while_it_is_down(world, transcript)
    await an_orphan(world, transcript)
    await a_scaler_that_newer_rules_refuse(world, transcript)
    await a_deletion_while_it_is_down(world, transcript)
    transcript.compare()


async def play(world: Fencing, transcript: Transcript, *steps: Step) -> None:
    for step in steps:
        transcript.say(*await perform(world, step))


async def bound_with_a_finalizer(world: Fencing) -> None:
    await world.begin_bound()
    await world.admin.patch_merge(resources.scalers(), KEY, {"metadata": {"finalizers": [FINALIZER]}})


async def while_it_is_down(world: Fencing, transcript: Transcript) -> None:
    transcript.heading("the webhook is down")
    await bound_with_a_finalizer(world)
    await world.webhook.stop()
    await play(
        world, transcript,
        refused("label md llm team=search"),
        refused(MOVE),
        refused(KEEP),
        refused(UNBIND),
        refused("apply -f git.yaml"),
        allowed(STATUS),
        allowed("delete mds llm --wait=false"),
        refused(LOSE),
    )  # fmt: skip
    with pytest.raises(errors.UnavailableError):
        await world.commit({"prefill": 5, "decode": 6})
    with pytest.raises(errors.UnavailableError):
        await world.release()
    transcript.heading("it is back")
    await world.start_webhook()
    await play(world, transcript, refused(MOVE), allowed("label md llm team=search"))
    await world.release()
    await play(world, transcript, allowed(LOSE), refused("get mds llm"), allowed(STATUS))
    assert await world.counts() == LIVE


async def an_orphan(world: Fencing, transcript: Transcript) -> None:
    transcript.heading("the scaler was deleted while its controller was gone for good")
    await bound_with_a_finalizer(world)
    await play(
        world, transcript,
        allowed("delete mds llm --wait=false"),
        refused(UNBIND),
        allowed(LOSE),
        allowed(f"{UNBIND_BOTH} --dry-run=server"),
        allowed(UNBIND),
    )  # fmt: skip
    assert BINDING not in await world.annotations()
    transcript.heading("an orphan loses both annotations in one write")
    await world.begin_bound()
    await play(world, transcript, allowed("delete mds llm"), allowed(UNBIND_BOTH))
    assert not {BINDING, DECISION} & set(await world.annotations())
    transcript.heading("a scaler of the same name is another one")
    await world.begin_bound()
    await world.admin.delete(resources.scalers(), KEY)
    await world.admin.create(resources.scalers(), KEY.namespace, scaler())
    await play(world, transcript, refused(MOVE), allowed(UNBIND))


async def a_scaler_that_newer_rules_refuse(world: Fencing, transcript: Transcript) -> None:
    """Stored while nobody judged it, as by an older release."""
    transcript.heading("a stored scaler that the rules refuse")
    await world.begin_bound()
    await world.unregister()
    reversed_bounds = [{"name": "prefill", "minReplicas": 9, "maxReplicas": 8}]
    body = {"metadata": {"finalizers": [FINALIZER]}, "spec": {"roles": reversed_bounds}}
    await world.admin.patch_merge(resources.scalers(), KEY, body)
    await world.register(f"https://127.0.0.1:{world.admission_port}")
    await play(
        world, transcript,
        refused("""patch mds llm --type=merge -p '{"spec":{"suspend":true}}'"""),
        allowed("label mds llm team=search"),
        allowed("delete mds llm --wait=false"),
        allowed(LOSE),
        refused("get mds llm"),
    )  # fmt: skip


async def a_deletion_while_it_is_down(world: Fencing, transcript: Transcript) -> None:
    transcript.heading("the deployment is deleted while the webhook is down")
    await world.begin_bound()
    await world.webhook.stop()
    await play(world, transcript, allowed("delete md llm", counts={}))
    await world.start_webhook()


async def test_a_webhook_that_does_not_answer_is_waited_for_only_so_long(world: Fencing) -> None:
    await world.begin_bound()
    await world.register(f"https://127.0.0.1:{world.admission_port}", timeout_seconds=SLOW_SECONDS)
    world.webhook.signal(signal.SIGSTOP)
    try:
        for step in (refused("label md llm team=search"), refused(MOVE), allowed(STATUS)):
            began = time.monotonic()
            shown = " ".join(await perform(world, step))
            assert not step.fails or "failed calling webhook" in shown, shown
            # An API server of 1.20 asks twice.
            assert time.monotonic() - began < 2 * SLOW_SECONDS + 5
    finally:
        world.webhook.signal(signal.SIGCONT)
    await perform(world, refused(MOVE))
    await perform(world, allowed("label md llm team=search"))


async def test_a_read_that_hangs_is_told_in_time_and_holds_up_nothing_else(tmp_path: Path) -> None:
    async with silent() as port, fenced_plane(tmp_path, *hanging(port)) as world:
        await world.webhook.start()
        await accepting(world.admission_port)
        await world.begin_bound()
        await world.register(f"https://127.0.0.1:{world.admission_port}")
        began = time.monotonic()
        shown = " ".join(await perform(world, refused(UNBIND)))
        assert "ModelDeploymentScaler llm could not be read (timeout after 1 s); try again (unbind-unread)" in shown
        assert time.monotonic() - began < 8
        assert "(bound-counts)" in " ".join(await perform(world, refused(MOVE)))
        await perform(world, allowed("label md llm team=search"))


async def test_nonsense_admits_nothing(tmp_path: Path) -> None:
    async with fenced_plane(tmp_path) as world:
        await world.begin_bound()  # while nobody judges
        for name in NONSENSE:
            async with talking_nonsense(world.authority, name) as base:
                await world.register(base)
                await believes_nothing(world, name)


async def believes_nothing(world: Fencing, name: str) -> None:
    for command in (MOVE, UNBIND_BOTH, "label md llm team=search"):
        shown = " ".join(await perform(world, refused(command)))
        assert "InternalError" in shown, f"{name}: {shown}"
    with pytest.raises(errors.UnavailableError):
        await world.commit({"prefill": 5, "decode": 6})
    await perform(world, allowed(STATUS))
    assert BINDING in await world.annotations()


def hanging(port: int) -> tuple[str, ...]:
    """Flags of a webhook whose own reads are never answered."""
    return ("--kube-url", f"http://127.0.0.1:{port}", "--read-timeout-seconds", "1")


async def accepting(port: int) -> None:
    """Wait until somebody listens."""
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return
