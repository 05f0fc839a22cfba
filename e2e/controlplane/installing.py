"""Definitions and webhook configurations for a test, through plain HTTP."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from e2e.controlplane.endpoint import Endpoint

Document = dict[str, Any]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1"
_POLL_SECONDS: Final = 0.05
_SERVED_SECONDS: Final = 20.0


def client_session(endpoint: Endpoint, *, token: str | None = None) -> aiohttp.ClientSession:
    """A session as the administrator, or as the user of a token."""
    context = endpoint.client_context() if token is None else _trusting(endpoint)
    headers = endpoint.headers() if token is None else {"Authorization": f"Bearer {token}"}
    return aiohttp.ClientSession(
        endpoint.url,
        headers=headers,
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=60),
    )


def _trusting(endpoint: Endpoint) -> Any:
    import ssl

    return ssl.create_default_context(cafile=str(endpoint.ca_file) if endpoint.ca_file else None)


async def install_definitions(session: aiohttp.ClientSession, documents: Iterable[Document]) -> None:
    """Create or replace CustomResourceDefinitions, and wait until every version of them is served."""
    definitions = list(documents)
    for definition in definitions:
        name = definition["metadata"]["name"]
        async with session.post(_DEFINITIONS, json=definition) as response:
            created, text = response.status, await response.text()
        if created == 409:
            await _replace(session, f"{_DEFINITIONS}/{name}", definition)
        elif created != 201:
            raise RuntimeError(f"creating {name}: {created} {text}")
    for definition in definitions:
        await _wait_until_served(session, definition)


async def _replace(session: aiohttp.ClientSession, path: str, document: Document) -> None:
    async with session.get(path) as response:
        version = (await response.json())["metadata"]["resourceVersion"]
    updated = {**document, "metadata": {**document["metadata"], "resourceVersion": version}}
    async with session.put(path, json=updated) as response:
        if response.status != 200:
            raise RuntimeError(f"replacing {path}: {response.status} {await response.text()}")


async def _wait_until_served(session: aiohttp.ClientSession, definition: Document) -> None:
    spec = definition["spec"]
    async with asyncio.timeout(_SERVED_SECONDS):
        for version in spec["versions"]:
            path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            while version["served"]:
                async with session.get(path, params={"limit": "1"}) as response:
                    if response.status == 200:
                        break
                await asyncio.sleep(_POLL_SECONDS)


@asynccontextmanager
async def webhook_configuration(
    session: aiohttp.ClientSession,
    kind: str,
    name: str,
    webhooks: Sequence[Mapping[str, Any]],
    *,
    url: str,
    authority: bytes,
) -> AsyncIterator[Document]:
    """A webhook configuration while the block runs.

    Args:
        session: as an administrator.
        kind: `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`.
        name: of the configuration.
        webhooks: entries without `clientConfig`, `sideEffects` and `admissionReviewVersions`, which are filled in; an
            entry's `path` is appended to `url`.
        url: `https://HOST:PORT` of the webhook server.
        authority: its CA in PEM.
    """
    path = f"{_WEBHOOKS}/{kind.lower()}s"
    bundle = base64.b64encode(authority).decode()
    entries = [_entry(webhook, url, bundle) for webhook in webhooks]
    api = "admissionregistration.k8s.io/v1"
    body = {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "webhooks": entries}
    async with session.post(path, json=body) as response:
        text = await response.text()
        if response.status != 201:
            raise RuntimeError(f"creating {kind} {name}: {response.status} {text}")
    try:
        yield json.loads(text)
    finally:
        async with session.delete(f"{path}/{name}") as response:
            await response.read()


def _entry(webhook: Mapping[str, Any], url: str, bundle: str) -> Document:
    entry = dict(webhook)
    config = {"url": url + entry.pop("path", "/"), "caBundle": bundle}
    defaults = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": config}
    return {**defaults, **entry}
