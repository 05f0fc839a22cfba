"""GitOps tools in front of the fence: the recipe that works in all of them, and the contract's two, word for word.

golden/gitops.txt holds what users see. The writes are replayed as `e2e.gitops` tells; the API server and the fence are
real.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from e2e.controlplane import client_session
from e2e.fencing import GIT, LIVE, PERSON, USERS, Document, Fencing, fencing, manifest, scaler
from e2e.gitops import IGNORED, Sync, Tools
from e2e.transcript import Transcript
from scaler_core.api.ownership import BINDING
from scaler_kube import resources

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
NEW: Final = "engine:2"
MORE: Final = {"prefill": 5, "decode": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The API server with the fence, and the tools."""

    fence: Fencing
    tools: Tools
    transcript: Transcript

    async def run(self, what: str, work: Awaitable[Sync]) -> Sync:
        """Let a tool work, and write down what it sent and what its user sees."""
        before = await self.fence.counts()
        sync = await work
        after = await self.fence.counts()
        self.transcript.say(f"$ {what}")
        for write in sync.writes:
            self.transcript.say(f"  {write.sent}: {write.code}", *(f"  Warning: {text}" for text in write.warnings))
        self.transcript.say(f"  user sees: {sync.shown}")
        if before and before != after:
            self.transcript.say(f"  counts {before} -> {after}")
        return sync

    async def images(self) -> set[str]:
        """Images of the stored roles."""
        return {role["image"] for role in (await self.fence.target())["spec"]["roles"]}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with fencing(tmp_path) as fence, person(fence) as session:
        transcript = Transcript(name="gitops", versions=await fence.versions())
        yield World(fence=fence, tools=Tools(session=session), transcript=transcript)


def person(fence: Fencing) -> aiohttp.ClientSession:
    return client_session(fence.plane.endpoint, token=USERS[PERSON].token)


async def test_gitops_tools_and_the_fence(world: World) -> None:
    await the_recipe(world)
    await a_migration(world)
    await argo_snippet(world)
    await argo_without_the_snippet(world)
    await flux_snippet(world)
    await both_helms(world)
    world.transcript.compare()


Tool = Callable[[Document], Awaitable[Sync]]


async def the_recipe(world: World) -> None:
    """Server-side apply, no counts and no annotations in Git, roles in live order: nothing is ever refused."""
    tools = world.tools
    ways: dict[str, Tool] = {
        "Argo CD sync, ServerSideApply=true": tools.argo_server_side,
        "Flux reconciliation": tools.flux,
        "helm 4 upgrade": tools.helm4,
    }
    for title, tool in ways.items():
        world.transcript.heading(f"the recipe: {title}")
        await world.fence.clear()
        await follow_the_recipe(world, tool)


async def follow_the_recipe(world: World, tool: Tool) -> None:
    fence, git = world.fence, manifest(None)
    await passes(world, "first sync", tool(git), counts={"prefill": 1, "decode": 1})
    await set_once_by_hand(fence)
    await passes(world, "sync after a person set the counts once", tool(git), counts=GIT)
    await fence.admin.create(resources.scalers(), "default", scaler())
    await fence.bind()
    await passes(world, "sync after the scaler bound", tool(git), counts=GIT)
    await fence.commit(LIVE)
    await passes(world, "sync after a commit", tool(git), counts=LIVE)
    await passes(world, "comparison by ServerSideDiff", world.tools.argo_diff(git), counts=LIVE)
    newer = manifest(None, image=NEW)
    await passes(world, "sync of a new image", tool(newer), counts=LIVE)
    assert await world.images() == {NEW}
    await fence.commit(MORE)
    await passes(world, "sync after another commit", tool(newer), counts=MORE)
    await fence.release()
    await passes(world, "sync after the release", tool(newer), counts=MORE)
    await passes(world, "sync of the old image after the release", tool(git), counts=MORE)
    assert BINDING not in await fence.annotations()


async def a_migration(world: World) -> None:
    """The first commit has counts; they leave Git once the scaler is bound."""
    ways: dict[str, Tool] = {
        "Argo CD, ServerSideApply=true": world.tools.argo_server_side,
        "Flux": world.tools.flux,
        "helm 4": world.tools.helm4,
    }
    for title, tool in ways.items():
        world.transcript.heading(f"the recipe, with counts in the first commit: {title}")
        await world.fence.clear()
        await passes(world, "sync of the first commit", tool(manifest()), counts=GIT)
        await world.fence.admin.create(resources.scalers(), "default", scaler())
        await world.fence.bind()
        await passes(world, "sync of the first commit under the binding", tool(manifest()), counts=GIT)
        await passes(world, "sync without counts", tool(manifest(None)), counts=GIT)
        await world.fence.commit(LIVE)
        await passes(world, "sync of a new image", tool(manifest(None, image=NEW)), counts=LIVE)
        await world.fence.release()
        await passes(world, "sync after the release", tool(manifest(None)), counts=LIVE)


async def set_once_by_hand(fence: Fencing) -> None:
    for place, count in enumerate(GIT.values()):
        patch = f'[{{"op":"replace","path":"/spec/roles/{place}/replicas","value":{count}}}]'
        await fence.kubectl("patch", "md", "llm", "--type=json", "-p", patch)


async def argo_snippet(world: World) -> None:
    """With RespectIgnoreDifferences nothing is refused, and no edit of a role ever arrives."""
    world.transcript.heading("the contract's Argo CD snippet: ignoreDifferences and RespectIgnoreDifferences=true")
    await world.fence.begin_bound()
    for image in ("engine:1", NEW):
        git = manifest(image=image)
        await passes(world, f"sync of {image}", world.tools.argo(git, respecting=IGNORED), counts=LIVE)
        work = world.tools.argo_server_side(git, respecting=IGNORED)
        await passes(world, f"sync of {image}, ServerSideApply=true", work, counts=LIVE)
        work = world.tools.argo_diff(git, ignoring=IGNORED)
        await passes(world, f"comparison with {image} by ServerSideDiff", work, counts=LIVE)
    assert await world.images() == {"engine:1"}, "the price: the whole list of roles comes from the cluster"
    git = manifest(image=NEW)
    await world.fence.commit(MORE)
    await passes(world, "sync after a commit", world.tools.argo(git, respecting=IGNORED), counts=MORE)
    await world.fence.release()
    await passes(world, "sync after the release", world.tools.argo(git, respecting=IGNORED), counts=MORE)
    work = world.tools.argo_server_side(git, respecting=IGNORED)
    await passes(world, "sync after the release, ServerSideApply=true", work, counts=MORE)


async def argo_without_the_snippet(world: World) -> None:
    world.transcript.heading("Argo CD with counts in Git, and nothing ignored")
    await world.fence.begin_bound()
    git = manifest(image=NEW)
    await fails(world, "sync", world.tools.argo(git))
    await fails(world, "sync, ServerSideApply=true", world.tools.argo_server_side(git))
    await passes(world, "comparison by ServerSideDiff", world.tools.argo_diff(git), counts=LIVE)
    await fails(world, "sync without counts", world.tools.argo(manifest(None, image=NEW)))
    await passes(world, "sync of the live counts", world.tools.argo(manifest(LIVE, image=NEW)), counts=LIVE)


async def flux_snippet(world: World) -> None:
    """The dry run carries Git's counts, so it must not be refused for them alone."""
    world.transcript.heading("the contract's Flux snippet: spec.ignore")
    await world.fence.begin_bound()
    await passes(world, "reconciliation", world.tools.flux(manifest(), ignoring=IGNORED), counts=LIVE)
    work = world.tools.flux(manifest(image=NEW), ignoring=IGNORED)
    await passes(world, "reconciliation of a new image", work, counts=LIVE)
    assert await world.images() == {NEW}
    await world.fence.commit(MORE)
    work = world.tools.flux(manifest(image="engine:3"), ignoring=IGNORED)
    await passes(world, "reconciliation of a newer image after a commit", work, counts=MORE)
    swapped = manifest(image=NEW)
    swapped["spec"]["roles"].reverse()
    work = world.tools.flux(swapped, ignoring=IGNORED)
    await world.run("reconciliation of roles in another order", work)
    assert await world.fence.counts() == MORE
    world.transcript.heading("Flux with counts in Git, and nothing ignored")
    await world.fence.begin_bound()
    await fails(world, "reconciliation", world.tools.flux(manifest(image=NEW)))


async def both_helms(world: World) -> None:
    world.transcript.heading("helm with counts in the chart")
    await world.fence.begin_bound()
    labelled = manifest()
    labelled["metadata"]["labels"] = {"team": "search"}
    await passes(world, "helm 3 upgrade of a label", world.tools.helm3(manifest(), labelled), counts=LIVE)
    await fails(world, "helm 3 upgrade of an image", world.tools.helm3(manifest(), manifest(image=NEW)))
    await fails(world, "helm 4 upgrade of a label", world.tools.helm4(labelled))
    await passes(world, "helm 4 upgrade without counts", world.tools.helm4(manifest(None)), counts=LIVE)


async def passes(world: World, what: str, work: Awaitable[Sync], *, counts: dict[str, int]) -> None:
    sync = await world.run(what, work)
    assert sync.is_done, f"{what}: {sync.shown}"
    assert await world.fence.counts() == counts


async def fails(world: World, what: str, work: Awaitable[Sync]) -> None:
    before = await world.fence.counts()
    sync = await world.run(what, work)
    assert not sync.is_done, f"{what}: {sync.shown}"
    assert await world.fence.counts() == before
