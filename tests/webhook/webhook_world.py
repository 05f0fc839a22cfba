"""Reviews as the API server sends them, and the webhook process in this one."""

import asyncio
import io
import json
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import jsonpatch
import trustme

from scaler_sim.apiserver.cluster import EmbeddedCluster
from scaler_webhook import main
from scaler_webhook.settings import Settings


def review(
    new: Any,
    old: Any = None,
    *,
    user: str = "jane",
    operation: str | None = None,
    dry_run: bool = False,
    uid: str = "0b5c-42",
    **members: Any,
) -> dict[str, Any]:
    request = {
        "uid": uid,
        "operation": operation or ("CREATE" if old is None else "UPDATE"),
        "namespace": "default",
        "name": "llm",
        "userInfo": {"username": user},
        "object": new,
        "oldObject": old,
        "dryRun": dry_run,
        **members,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def patched(document: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = jsonpatch.apply_patch(document, json.loads(b64decode(response["patch"])))
    return result


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A running webhook and how to talk to it."""

    session: aiohttp.ClientSession
    context: ssl.SSLContext
    ports: main.Ports
    stop: asyncio.Event

    async def post(self, path: str, body: Any, *, content_type: str = "application/json") -> tuple[int, dict[str, Any]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"https://localhost:{self.ports.admission}{path}"
        headers = {"Content-Type": content_type}
        async with self.session.post(url, data=io.BytesIO(data), headers=headers, ssl=self.context) as answer:
            document = json.loads(await answer.read())
            assert document["kind"] == "AdmissionReview"
            return answer.status, document["response"]

    async def health(self, path: str) -> tuple[int, str]:
        async with self.session.get(f"http://localhost:{self.ports.health}{path}") as answer:
            return answer.status, await answer.text()

    async def until(self, status: int) -> str:
        """What /readyz says once it answers with the status."""
        async with asyncio.timeout(10):
            while True:
                found, text = await self.health("/readyz")
                if found == status:
                    return text
                await asyncio.sleep(0.02)


def certificate_files(folder: Path, authority: trustme.CA) -> tuple[Path, Path]:
    leaf = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    key.write_bytes(leaf.private_key_pem.bytes())
    return certificate, key


def settings(cluster: EmbeddedCluster, **members: Any) -> Settings:
    return Settings(
        **{
            "kube_url": cluster.url,
            "kube_token": cluster.token("webhook"),
            "host": "127.0.0.1",
            "port": 0,
            "health_host": "127.0.0.1",
            "health_port": 0,
            "operator_user": ("operator",),
            "lame_duck_seconds": 0,
            "refresh_seconds": 0.05,
            **members,
        }
    )


@asynccontextmanager
async def serving(chosen: Settings, context: ssl.SSLContext) -> AsyncIterator[Webhook]:
    stop = asyncio.Event()
    async with main.serving(chosen, stop) as ports, aiohttp.ClientSession() as session:
        yield Webhook(session=session, context=context, ports=ports, stop=stop)


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def nested(depth: int) -> Iterator[str]:
    yield '{"a":' * depth
    yield "1"
    yield "}" * depth
