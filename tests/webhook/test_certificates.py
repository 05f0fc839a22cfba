"""Self-managed certificates against the embedded API server: many replicas, wiped bundles, refused files."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
import trustme

from scaler_core.admission import registration
from scaler_core.api import crd
from scaler_core.api.meta import ObjectKey
from scaler_kube import access
from scaler_kube.client import KubeClient, connect
from scaler_kube.errors import ForbiddenError
from scaler_kube.resources import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS, deployments, scalers
from scaler_kube.transport import Call, Document
from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster, neighbour_definitions
from scaler_webhook.authority import is_trusted
from scaler_webhook.bundles import Bundles
from scaler_webhook.certificates import CertificateError, FileSource, SecretSource, tls_context
from tests.core.admission import fence_world, scaler_world
from tests.webhook import webhook_world

NOW = 1_800_000_000.0
SECRET = ObjectKey("default", "scaler-webhook-ca")
CONFIGURATION = ObjectKey("", registration.CONFIGURATION)
KINDS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    definitions = (*neighbour_definitions(), crd.definition())
    async with EmbeddedCluster(ClusterSettings(definitions=definitions)) as running:
        yield running


@pytest.fixture
async def client(cluster: EmbeddedCluster) -> AsyncIterator[KubeClient]:
    way = access.Endpoint(url=cluster.url, token=cluster.token("system:admin", "system:masters"))
    async with await connect(way, field_manager="tests", user_agent="tests") as connected:
        yield connected


async def install(client: KubeClient, reach: registration.Service | registration.Url) -> None:
    documents = registration.build(reach)
    await client.create(MUTATING_WEBHOOKS, "", documents.mutating)
    await client.create(VALIDATING_WEBHOOKS, "", documents.validating)


async def bundles(client: KubeClient) -> list[bytes]:
    documents = [await client.get(kind, CONFIGURATION) for kind in KINDS]
    return [
        b64decode(hook["clientConfig"].get("caBundle", "")) for document in documents for hook in document["webhooks"]
    ]


def source(client: KubeClient) -> SecretSource:
    return SecretSource(client=client, secret=SECRET, names=("localhost",), context=tls_context())


SERVICE = registration.Service(namespace="default", name="scaler-webhook")


async def test_eight_replicas_that_start_at_once_trust_one_authority(client: KubeClient) -> None:
    await install(client, SERVICE)
    keeper = Bundles(client=client, name=registration.CONFIGURATION, namespace="default")
    for _ in range(5):
        replicas = [source(client) for _ in range(8)]

        async def start(replica: SecretSource) -> str | None:
            await replica.refresh(NOW)
            return await keeper.heal(replica.trusted)

        await asyncio.gather(*(start(replica) for replica in replicas))
        assert len({replica.trusted for replica in replicas}) == 1
        assert await bundles(client) == [replicas[0].trusted] * 4
        await client.delete(SECRETS, SECRET)


async def test_the_secret_holds_authorities_and_no_leaf(client: KubeClient) -> None:
    await source(client).refresh(NOW)
    data = (await client.get(SECRETS, SECRET))["data"]
    assert set(data) == {"ca.crt", "ca.key", "promoted"}


async def test_a_leaf_is_kept_until_half_of_its_life(client: KubeClient) -> None:
    replica = source(client)
    assert await replica.refresh(NOW)
    assert not await replica.refresh(NOW + 6 * 86400)
    assert await replica.refresh(NOW + 8 * 86400)


async def test_a_broken_secret_is_named(client: KubeClient) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET.name}, "data": {}}
    await client.create(SECRETS, "default", body)
    with pytest.raises(CertificateError, match="delete it to start anew"):
        await source(client).refresh(NOW)


@pytest.mark.parametrize("wiped", ["", "Cg==", b64encode(b"another").decode()])
async def test_a_wiped_bundle_is_healed(client: KubeClient, wiped: str) -> None:
    await install(client, SERVICE)
    replica = source(client)
    await replica.refresh(NOW)
    keeper = Bundles(client=client, name=registration.CONFIGURATION, namespace="default")
    assert await keeper.heal(replica.trusted) is None
    operation = {"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": wiped}
    await client.patch_json(VALIDATING_WEBHOOKS, CONFIGURATION, [operation])
    assert await keeper.heal(replica.trusted) is None
    assert await bundles(client) == [replica.trusted] * 4


async def test_a_steady_configuration_is_not_written(client: KubeClient) -> None:
    await install(client, SERVICE)
    keeper = Bundles(client=client, name=registration.CONFIGURATION, namespace="default")
    replica = source(client)
    await replica.refresh(NOW)
    await keeper.heal(replica.trusted)
    before = [(await client.get(kind, CONFIGURATION))["metadata"] for kind in KINDS]
    await keeper.heal(replica.trusted)
    assert [(await client.get(kind, CONFIGURATION))["metadata"] for kind in KINDS] == before
    assert [owner["name"] for owner in before[0]["ownerReferences"]] == ["default"]


@dataclass
class NoOwners:
    """An API server on which changing owners needs the right to delete (OpenShift)."""

    inner: Any
    refused: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def exchange(self, call: Call, *, deadline: float | None = None) -> Document:
        if "ownerReferences" in str(call.body):
            self.refused += 1
            raise ForbiddenError(call.request, "cannot set ownerReferences without delete")
        document: Document = await self.inner.exchange(call, deadline=deadline)
        return document


async def test_a_cluster_that_forbids_owners_gets_its_bundles_all_the_same(client: KubeClient) -> None:
    await install(client, SERVICE)
    replica = source(client)
    await replica.refresh(NOW)
    transport = NoOwners(client.transport)
    strict = replace(client, transport=cast(Any, transport))
    keeper = Bundles(client=strict, name=registration.CONFIGURATION, namespace="default")
    for _ in range(3):
        assert await keeper.heal(replica.trusted) is None
    assert await bundles(client) == [replica.trusted] * 4
    assert transport.refused == len(KINDS), "asked once for each, not with every look"


async def test_a_missing_configuration_is_named(client: KubeClient) -> None:
    keeper = Bundles(client=client, name=registration.CONFIGURATION, namespace="default")
    assert await keeper.heal(b"x") == "MutatingWebhookConfiguration model-deployment-scaler does not exist; install it"


def test_files_that_do_not_fit_are_named_and_the_last_good_ones_stay(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate, key = webhook_world.certificate_files(tmp_path, authority)
    files = FileSource(certificate=certificate, key=key, context=tls_context())
    assert files.refresh()
    assert not files.refresh()
    assert is_trusted(files.chain, authority.cert_pem.bytes())
    expires = files.expires
    key.write_text("junk")
    with pytest.raises(CertificateError, match="mount a certificate and its key"):
        files.refresh()
    assert files.expires == expires


async def test_the_fence_stands_in_a_cluster_that_knows_nothing_but_our_service(
    cluster: EmbeddedCluster, client: KubeClient
) -> None:
    await install(client, SERVICE)
    settings = webhook_world.settings(cluster, extra_name=("localhost",))
    async with webhook_world.serving(settings, tls_context()) as webhook:
        cluster.services["default/scaler-webhook"] = f"127.0.0.1:{webhook.ports.admission}"
        await webhook.until(200)
        await _write_and_be_refused(client)


async def _write_and_be_refused(client: KubeClient) -> None:
    stored = await client.create(scalers(), "default", _typed(scaler_world.server(), "ModelDeploymentScaler"))
    assert stored["spec"]["sampling"] == {"intervalSeconds": 15, "pendingTimeoutSeconds": 300}
    broken = scaler_world.change(scaler_world.server(), "roles", 0, "minReplicas", 17)
    broken["metadata"]["name"] = "broken"
    with pytest.raises(ForbiddenError, match=r"scaler-rules\.gpustack\.ai.*\(bounds-order\)"):
        await client.create(scalers(), "default", _typed(broken, "ModelDeploymentScaler"))
    copied = fence_world.put(fence_world.target(fence_world.BOUND), "spec", "model", {"name": "m"})
    created = await client.create(deployments(), "default", _typed(copied, "ModelDeployment"))
    assert "annotations" not in created["metadata"] or not created["metadata"]["annotations"]


def _typed(document: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"apiVersion": "worker.gpustack.ai/v1", "kind": kind, **document}
