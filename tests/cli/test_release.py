"""Scalers are suspended, followed until they have let go, and named when they have not."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from scaler_cli.release import render
from scaler_cli.releasing import Outcome, Releasing
from scaler_core.api import crd
from scaler_core.api.meta import ObjectKey
from scaler_core.api.ownership import BINDING, Binding
from scaler_core.api.scaler import FINALIZER
from scaler_kube import resources
from scaler_kube.access import Endpoint
from scaler_kube.client import KubeClient, connect
from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster, neighbour_definitions

LLM, CHAT = ObjectKey("default", "llm"), ObjectKey("team", "chat")
Step = Callable[[KubeClient], Awaitable[None]]


@dataclass
class Play:
    """A clock on which the controller acts while somebody sleeps."""

    client: KubeClient
    steps: list[Step]
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    monotonic = now

    def real_seconds(self, seconds: float) -> float:
        return seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self.steps:
            await self.steps.pop(0)(self.client)

    def releasing(self, namespace: str | None = None) -> Releasing:
        return Releasing(
            client=self.client,
            clock=self,
            scalers=resources.scalers(),
            targets=resources.deployments(),
            namespace=namespace,
            say=self.said.append,
        )


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    definitions = (crd.definition(), *neighbour_definitions())
    async with EmbeddedCluster(ClusterSettings(definitions=definitions)) as cluster:
        access = Endpoint(url=cluster.url, token=cluster.token("admin", "system:masters"))
        async with await connect(access, field_manager="test", user_agent="test") as made:
            await made.create(
                resources.NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
            )
            yield made


async def install(client: KubeClient, key: ObjectKey, *, bound: bool = True, finalizer: bool = True) -> None:
    meta: dict[str, Any] = {"name": key.name, "namespace": key.namespace}
    kept = {"finalizers": [FINALIZER]} if finalizer else {}
    roles = [{"name": "server", "maxReplicas": 2}]
    scaler = await client.create(
        resources.scalers(),
        key.namespace,
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "ModelDeploymentScaler",
            "metadata": meta | kept,
            "spec": {"targetRef": {"name": key.name}, "roles": roles, "algorithm": {}},
        },
    )
    uid = scaler["metadata"]["uid"]
    text = Binding(scaler_name=key.name, scaler_uid=uid, term=1).render()
    await target(client, key, {BINDING: text} if bound else {})


async def target(client: KubeClient, key: ObjectKey, annotations: dict[str, str]) -> None:
    await client.create(
        resources.deployments(),
        key.namespace,
        {
            "apiVersion": "worker.gpustack.ai/v1",
            "kind": "ModelDeployment",
            "metadata": {"name": key.name, "namespace": key.namespace, "annotations": annotations},
            "spec": {
                "model": {"name": "m"},
                "engine": {"name": "vLLM"},
                "roles": [{"name": "server", "kind": "Server", "instanceType": "gpu", "replicas": 2}],
            },
        },
    )


def lets_go(key: ObjectKey) -> Step:
    """What the controller does with a suspended scaler: the binding first, then the status."""

    async def step(client: KubeClient) -> None:
        scaler = await client.get(resources.scalers(), key)
        assert scaler["spec"]["suspend"] is True
        await client.patch_merge(resources.deployments(), key, {"metadata": {"annotations": {BINDING: None}}})
        status = {"status": {"observedGeneration": scaler["metadata"]["generation"]}}
        await client.patch_merge(resources.scalers(), key, status, subresource="status")

    return step


async def nothing(_: KubeClient) -> None:
    return


async def test_waits_until_each_has_let_go(client: KubeClient) -> None:
    await install(client, LLM)
    await install(client, CHAT)
    play = Play(client, [nothing, lets_go(CHAT), lets_go(LLM)])
    outcome = await play.releasing().run(60)
    assert set(outcome.released) == {LLM, CHAT}
    assert outcome.left == ()
    assert play.said == ["2 of 2 scalers have not let go yet", "1 of 2 scalers have not let go yet"]
    assert (await client.get(resources.deployments(), LLM))["spec"]["roles"][0]["replicas"] == 2


async def test_names_those_that_are_left_and_what_they_hold(client: KubeClient) -> None:
    await install(client, LLM)
    await install(client, CHAT)
    outcome = await Play(client, [lets_go(LLM)]).releasing().run(5)
    assert outcome.released == (LLM,)
    assert "left: ModelDeploymentScaler team/chat: it holds ModelDeployment team/chat" in render(outcome)


async def test_a_controller_that_has_not_seen_the_suspension_may_still_bind(client: KubeClient) -> None:
    await install(client, LLM, bound=False)
    outcome = await Play(client, []).releasing().run(3)
    assert [one.why for one in outcome.left] == ["the controller has not seen its suspension yet"]


async def test_a_scaler_that_never_bound_waits_for_nobody(client: KubeClient) -> None:
    await install(client, LLM, bound=False, finalizer=False)
    assert (await Play(client, []).releasing().run(3)).released == (LLM,)


async def test_only_the_namespace_that_was_named(client: KubeClient) -> None:
    await install(client, LLM)
    await install(client, CHAT)
    outcome = await Play(client, [lets_go(CHAT)]).releasing("team").run(5)
    assert outcome.released == (CHAT,)
    assert "suspend" not in (await client.get(resources.scalers(), LLM))["spec"]


async def test_a_binding_of_nobody_is_told_and_fails_nothing(client: KubeClient) -> None:
    await target(client, LLM, {BINDING: Binding(scaler_name="gone", scaler_uid="u", term=3).render()})
    await target(client, CHAT, {BINDING: "{"})
    outcome = await Play(client, []).releasing().run(5)
    assert outcome.left == ()
    assert set(outcome.orphans) == {LLM, CHAT}
    command = "kubectl annotate -n team modeldeployment chat modeldeployment.gpustack.ai/scaler-binding-"
    assert any(command in line for line in render(outcome))


async def test_for_good_lets_scalers_be_deleted_without_a_controller(client: KubeClient) -> None:
    await install(client, LLM)
    releasing = Play(client, [lets_go(LLM)]).releasing()
    outcome = await releasing.run(5)
    await releasing.drop_finalizers(outcome.released)
    await client.delete(resources.scalers(), LLM)
    listing = await client.list_all(resources.scalers())
    assert listing.items == ()


async def test_a_cluster_without_the_kinds_has_nothing_to_release() -> None:
    async with EmbeddedCluster() as cluster:
        access = Endpoint(url=cluster.url, token=cluster.token("admin", "system:masters"))
        async with await connect(access, field_manager="test", user_agent="test") as made:
            outcome = await Play(made, []).releasing().run(5)
    assert outcome == Outcome(released=(), left=(), orphans=())
