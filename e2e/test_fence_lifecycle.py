"""The fence and the real controller together: outages, second owners, broken bindings, and the GitOps recipe."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any, Final

import aiohttp
import pytest
import yaml

from e2e.controlplane import client_session
from e2e.gitops import Sync, Tools
from e2e.product import USERS, Product, product
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING
from scaler_kube import errors, resources
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.plane import Identity
from scaler_sim.workload.closed_loop import ClosedLoop, Phase, TextShape
from scaler_sim.workload.statistics import Recorder

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
ROLES: Final = ("prefill", "decode")
Document = dict[str, Any]


def deployment(
    *, name: str = "llm", namespace: str = "default", count: int | None = None, image: str = "engine:1"
) -> Document:
    counted = {} if count is None else {"replicas": count}
    roles = [
        {"name": role, "kind": role.capitalize(), "instanceType": "gpu", "image": image, **counted} for role in ROLES
    ]
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "model": {"name": "Qwen/Qwen3-8B"},
            "engine": {"name": "vLLM"},
            "router": {"name": "llm-d-router"},
            "roles": roles,
        },
    }


def scaler(*, name: str = "llm", namespace: str = "default", target: str = "llm", **spec: Any) -> Document:
    targets = [{"name": role, "target": "3"} for role in ROLES]
    return {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeploymentScaler",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "targetRef": {"name": target},
            "mode": "Active",
            "sampling": {"intervalSeconds": 10},
            "roles": [{"name": role, "maxReplicas": 4} for role in ROLES],
            "algorithm": {"proportional": {"metric": "RunningRequests", "roleTargets": targets}},
            **spec,
        },
    }


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Product]:
    operator = OperatorSettings(warm_up_seconds=10, withdraw_seconds=5, delete_seconds=10)
    async with product(tmp_path, operator=operator) as running:
        yield running


async def apply(world: Product, *documents: Document, namespace: str = "default") -> None:
    flags = ("--server-side", f"--namespace={namespace}")
    await world.kubectl("apply", *flags, "-f", "-", stdin=yaml.safe_dump_all(documents))


async def binding_of(world: Product, key: ObjectKey) -> str | None:
    """The binding's text, None when there is none or no deployment."""
    try:
        document = await world.scenario.target(key)
    except errors.NotFoundError:
        return None
    found: str | None = (document["metadata"].get("annotations") or {}).get(BINDING)
    return found


async def is_absent(world: Product, resource: resources.Resource, key: ObjectKey) -> bool:
    try:
        await world.scenario.admin.get(resource, key)
    except errors.NotFoundError:
        return True
    return False


def load(world: Product, key: ObjectKey, concurrency: int) -> ClosedLoop:
    loop = ClosedLoop(
        fleet=world.scenario.park.of(key, "vLLM").fleet,
        recorder=Recorder(),
        phases=(Phase(name="load", seconds=None, concurrency=concurrency),),
        shape=TextShape(),
        random=Random(1),
    )
    loop.start()
    return loop


KEY: Final = ObjectKey("default", "llm")
OTHER: Final = ObjectKey("doomed", "llm")


async def test_what_waits_while_the_webhook_is_down_is_done_when_it_is_back(world: Product) -> None:
    await world.kubectl("create", "namespace", "doomed")
    await apply(world, deployment(count=1), scaler())
    await apply(world, deployment(namespace="doomed", count=1), scaler(namespace="doomed"), namespace="doomed")
    await world.eventually("bound", lambda: binding_of(world, KEY))
    await world.eventually("the other bound", lambda: binding_of(world, OTHER))
    await world.scenario.webhook.stop()
    loop = load(world, KEY, 24)
    async with asyncio.timeout(60):
        while not await tells(world, "failed calling webhook"):  # noqa: ASYNC110 -- the other side is a process
            await asyncio.sleep(0.2)
    loop.stop()
    await world.kubectl("delete", "mds", "llm", "--wait=false")
    await world.kubectl("delete", "namespace", "doomed", "--wait=false")
    await asyncio.sleep(3)
    assert await binding_of(world, KEY) is not None
    assert (await world.kubectl.json("get", "mds", "llm"))["metadata"]["deletionTimestamp"]
    assert (await world.kubectl.json("get", "namespace", "doomed"))["status"]["phase"] == "Terminating"
    assert await world.counts("llm") == {"prefill": 1, "decode": 1}
    await world.scenario.start_webhook()
    await world.eventually("released", lambda: is_absent(world, resources.scalers(), KEY), seconds=60)
    assert await binding_of(world, KEY) is None
    await world.eventually(
        "namespace gone", lambda: is_absent(world, resources.NAMESPACES, ObjectKey("", "doomed")), seconds=90
    )
    assert await world.counts("llm") == {"prefill": 1, "decode": 1}


async def tells(world: Product, text: str) -> bool:
    """Whether a condition says so."""
    found = [await world.condition("llm", type_) for type_ in ("Active", "Blocked", "Bound")]
    return any(text in message for _, _, message in found)


async def test_a_second_owner_waits_and_a_broken_binding_is_shown_until_somebody_removes_it(world: Product) -> None:
    await apply(world, deployment(count=1), scaler())
    first = await world.eventually("bound", lambda: binding_of(world, KEY))
    await apply(world, scaler(name="second"))
    await world.eventually("told to wait", lambda: says(world, "second", "Bound", "AlreadyBound"))
    assert await binding_of(world, KEY) == first
    await break_the_binding(world)
    await world.eventually("told as broken", lambda: says(world, "llm", "Bound", "InvalidBinding"))
    await world.eventually("told as broken, twice", lambda: says(world, "second", "Bound", "InvalidBinding"))
    refused = await world.kubectl("annotate", "md", "llm", "--overwrite", f"{BINDING}={first}", expect=1)
    assert "(unreadable-binding)" in refused
    await world.kubectl("delete", "mds", "second", "--timeout=20s")
    await world.kubectl("annotate", "md", "llm", f"{BINDING}-")
    again = await world.eventually("bound again", lambda: binding_of(world, KEY))
    assert json.loads(again)["term"] > json.loads(first)["term"]
    await world.eventually("active again", lambda: says(world, "llm", "Active", "True"))


async def break_the_binding(world: Product) -> None:
    """Only while nobody judges can anything unreadable come in."""
    for kind in (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS):
        await world.scenario.admin.delete(kind, ObjectKey("", "model-deployment-scaler"))
    body = {"metadata": {"annotations": {BINDING: "broken"}}}

    async def written() -> bool:
        try:
            await world.scenario.admin.patch_merge(resources.deployments(), KEY, body)
        except errors.ForbiddenError:
            return False
        return True

    await world.eventually("the fence is open", written)
    await world.scenario.register_webhook()


async def says(world: Product, name: str, type_: str, word: str) -> bool:
    return word in (await world.condition(name, type_))[:2]


async def test_the_recipe_holds_over_a_scalers_whole_life(world: Product) -> None:
    """Server-side apply with force, no counts and no annotations in Git, a sync after every step."""
    async with person(world) as session:
        tools = Tools(session=session)
        git = deployment()
        await synced(world, tools, git)
        patches = [{"op": "replace", "path": f"/spec/roles/{place}/replicas", "value": 2} for place in (0, 1)]
        await world.kubectl("patch", "md", "llm", "--type=json", "-p", json.dumps(patches))
        await synced(world, tools, git)
        await apply(world, scaler())
        await world.eventually("active", lambda: says(world, "llm", "Active", "True"))
        await synced(world, tools, git)
        loop = load(world, KEY, 24)
        await world.eventually("grew", lambda: differs(world, {"prefill": 2, "decode": 2}), seconds=60)
        loop.stop()
        newer = deployment(image="engine:2")
        for _ in range(5):  # commits may come in between
            await synced(world, tools, newer)
        assert {role["image"] for role in (await world.scenario.target(KEY))["spec"]["roles"]} == {"engine:2"}
        await world.kubectl("patch", "mds", "llm", "--type=merge", "-p", '{"spec":{"suspend":true}}')
        await world.eventually("released", lambda: says(world, "llm", "Bound", "False"))
        before = await world.counts("llm")
        await synced(world, tools, git)
        await synced(world, tools, newer)
        assert await world.counts("llm") == before
        assert min(before.values()) >= 1
        assert before != {"prefill": 1, "decode": 1}


async def synced(world: Product, tools: Tools, git: Document) -> None:
    """A sync by Argo CD and one by Flux, each without a word of the fence, leaving no difference."""
    steps: tuple[Sync, ...] = (await tools.argo_server_side(git), await tools.flux(git), await tools.argo_diff(git))
    for step in steps:
        assert step.is_done, step.shown
        assert not [text for write in step.writes for text in write.warnings]
    assert steps[-1].shown == "Synced"


async def differs(world: Product, counts: dict[str, int]) -> bool:
    return await world.counts("llm") != counts


def person(world: Product) -> aiohttp.ClientSession:
    return client_session(world.plane.endpoint, token=USERS[Identity.USER].token)
