"""Certificates that the webhook keeps by itself, on a real API server: wiped bundles, many replicas at once."""

import asyncio
import ssl
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from e2e.fencing import LIVE, Fencing, fenced_plane, webhook_process
from e2e.person import allowed, perform, refused
from scaler_core.admission import registration
from scaler_core.api.meta import ObjectKey
from scaler_kube import resources
from scaler_kube.access import KubeConfig
from scaler_kube.client import KubeClient, connect
from scaler_sim.scenario.process import free_port
from scaler_webhook.bundles import Bundles
from scaler_webhook.certificates import SecretSource, tls_context

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
NAME: Final = ObjectKey("", registration.CONFIGURATION)
SECRET: Final = ObjectKey("default", "scaler-webhook-ca")
KINDS: Final = (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS)
REPLICAS, ROUNDS = 8, 40
MOVE: Final = """patch md llm --type=json -p '[{"op":"replace","path":"/spec/roles/0/replicas","value":8}]'"""
LABEL: Final = "label --overwrite md llm team=search"


@asynccontextmanager
async def self_managed(folder: Path) -> AsyncIterator[Fencing]:
    """A webhook that makes its own certificates; the configurations are installed without a bundle."""
    async with fenced_plane(folder) as world:
        await world.begin_bound()
        port, health = free_port(), free_port()
        await install(world.admin, f"https://127.0.0.1:{port}")
        child = webhook_process(
            folder,
            *("--kubeconfig", str(world.webhook_kubeconfig), "--extra-name", "127.0.0.1", "--refresh-seconds", "0.5"),
            port=port,
            health=health,
        )
        try:
            await child.start()
            await child.wait_until_answers(f"http://127.0.0.1:{health}/readyz", 60)
            yield world
        finally:
            await child.stop()


async def install(admin: KubeClient, base: str) -> None:
    documents = registration.build(registration.Url(base=base))
    for kind, document in zip(KINDS, (documents.mutating, documents.validating), strict=True):
        await admin.create(kind, "", document)


async def bundles(client: KubeClient) -> list[bytes]:
    documents = [await client.get(kind, NAME) for kind in KINDS]
    return [
        b64decode(hook["clientConfig"].get("caBundle", "")) for document in documents for hook in document["webhooks"]
    ]


async def trusted_again(world: Fencing, broken: bytes) -> None:
    """Wait until every bundle is another one than what broke it, and the API server has followed."""
    async with asyncio.timeout(20):
        while any(bundle in (b"", broken) for bundle in await bundles(world.admin)):  # noqa: ASYNC110 -- the other side is a process
            await asyncio.sleep(0.1)
        while (await world.kubectl.run(*LABEL.split()))[0] != 0:  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.1)


async def test_a_wiped_bundle_is_healed_and_nothing_passes_meanwhile(tmp_path: Path) -> None:
    async with self_managed(tmp_path) as world:
        assert "(bound-counts)" in " ".join(await perform(world, refused(MOVE)))
        await perform(world, allowed(LABEL))
        good = await bundles(world.admin)
        for wiped in ("", "Cg=="):
            for kind in KINDS:
                operations = [
                    {"op": "replace", "path": f"/webhooks/{place}/clientConfig/caBundle", "value": wiped}
                    for place in (0, 1)
                ]
                await world.admin.patch_json(kind, NAME, operations)
            await perform(world, refused(MOVE))
            await trusted_again(world, b64decode(wiped))
            assert await bundles(world.admin) == good
            assert "(bound-counts)" in " ".join(await perform(world, refused(MOVE)))
        await reinstalled(world)
        await another_authority(world)


async def reinstalled(world: Fencing) -> None:
    """An upgrade that replaces both configurations leaves them without a bundle."""
    documents = [await world.admin.get(kind, NAME) for kind in KINDS]
    for kind, document in zip(KINDS, documents, strict=True):
        for hook in document["webhooks"]:
            del hook["clientConfig"]["caBundle"]
        del document["metadata"]["resourceVersion"]
        await world.admin.delete(kind, NAME)
        await world.admin.create(kind, "", {**document, "metadata": {"name": NAME.name}})
    await trusted_again(world, b"")
    assert "(bound-counts)" in " ".join(await perform(world, refused(MOVE)))


async def another_authority(world: Fencing) -> None:
    """A deleted Secret is made anew, and bundles and leaf follow."""
    before = (await bundles(world.admin))[0]
    await world.admin.delete(resources.SECRETS, SECRET)
    await trusted_again(world, before)
    assert "(bound-counts)" in " ".join(await perform(world, refused(MOVE)))
    assert await world.counts() == LIVE


async def test_eight_replicas_that_start_at_once_are_all_trusted_in_every_round(tmp_path: Path) -> None:
    async with fenced_plane(tmp_path) as world:
        await install(world.admin, "https://127.0.0.1:1")
        access = KubeConfig(path=str(world.webhook_kubeconfig))
        clients = [await connect(access, field_manager="webhook", user_agent="e2e") for _ in range(REPLICAS)]
        try:
            for number in range(ROUNDS):
                replicas = [Replica(client) for client in clients]
                await asyncio.gather(*(replica.start() for replica in replicas))
                stored = await bundles(world.admin)
                assert len(stored) == 4
                untrusted = [replica for replica in replicas if not all(replica.is_trusted(one) for one in stored)]
                assert not untrusted, f"round {number}: {len(untrusted)} of {REPLICAS} are not trusted"
                await world.admin.delete(resources.SECRETS, SECRET)
        finally:
            for client in clients:
                await client.close()


class Replica:
    """The certificate half of one webhook process."""

    def __init__(self, client: KubeClient) -> None:
        self._context = tls_context()
        self._source = SecretSource(client=client, secret=SECRET, names=("localhost",), context=self._context)
        self._bundles = Bundles(client=client, name=NAME.name, namespace="default")

    async def start(self) -> None:
        """What a process does before it says that it is ready."""
        await self._source.refresh(time.time())
        while await self._bundles.heal(self._source.trusted) is not None:  # noqa: ASYNC110 -- others write, too
            await asyncio.sleep(0.01)

    def is_trusted(self, bundle: bytes) -> bool:
        """Whether a client with that bundle completes a handshake with what is served."""
        client = ssl.create_default_context(cadata=bundle.decode())
        client.verify_flags &= ~ssl.VERIFY_X509_STRICT  # API servers do not ask for key identifiers, either
        return _shake_hands(client, self._context)


def _shake_hands(client_context: ssl.SSLContext, server_context: ssl.SSLContext) -> bool:
    """A handshake in memory."""
    forth, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(back, forth, server_hostname="localhost")
    server = server_context.wrap_bio(forth, back, server_side=True)
    done = set[str]()
    for _ in range(8):
        for name, side in (("client", client), ("server", server)):
            try:
                side.do_handshake()
                done.add(name)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return done == {"client", "server"}
