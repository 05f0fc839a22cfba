"""Where the API server is and who we are: three ways to say it, one transport.

The client library is used for exactly this: reading in-cluster and kubeconfig credentials, keeping a service account's
token fresh, TLS, and sending bytes. It costs 0.6 s to import, so that happens when the first connection is made.
"""

import asyncio
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp

from scaler_kube.errors import AccessError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient, Configuration

_READ_BUFFER_BYTES = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class InCluster:
    """The service account of the Pod that we run in; its token is read again every minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeConfig:
    """A kubeconfig file, as kubectl reads it."""

    path: str
    """One path, or several joined by colons, as in KUBECONFIG."""
    context: str | None = None
    """The current context when None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address, a bearer token and the CA that signed the server's certificate."""

    url: str
    token: str = field(repr=False)
    ca_file: str | None = None
    """The system's CAs when None."""


Access = InCluster | KubeConfig | Endpoint


async def open_transport(access: Access, user_agent: str) -> "ApiClient":
    """Read the credentials and make the library's transport; nothing is sent yet.

    Raises:
        AccessError: credentials are missing or cannot be read.
    """
    await asyncio.to_thread(_import_library)
    from kubernetes_asyncio.client import ApiClient

    api = ApiClient(await _configuration(access))
    api.user_agent = user_agent
    if _is_loopback(api.configuration.host or ""):
        await _ignore_proxies(api)
    return api


def _import_library() -> None:
    import kubernetes_asyncio.client
    import kubernetes_asyncio.config  # noqa: F401 -- imported here for its cost alone


async def _configuration(access: Access) -> "Configuration":
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

    configuration = Configuration()
    try:
        match access:
            case InCluster():
                load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            case KubeConfig(path=path, context=context):
                _require_file(path)
                await load_kube_config(
                    config_file=path, context=context, client_configuration=configuration, persist_config=False
                )
            case Endpoint(url=url, token=token, ca_file=ca_file):
                configuration.host = url.rstrip("/")
                configuration.ssl_ca_cert = ca_file
                configuration.api_key["BearerToken"] = f"Bearer {token}"
    except ConfigException as error:
        raise AccessError(f"{access!r} cannot be used: {error}") from error
    return configuration


def _require_file(paths: str) -> None:
    if not any(Path(path).expanduser().is_file() for path in paths.split(":") if path):
        raise AccessError(f"kubeconfig {paths!r} does not exist; set KUBECONFIG to a readable file")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _ignore_proxies(api: "ApiClient") -> None:
    # aiohttp sends even loopback traffic to the environment's proxy, unlike kubectl, and no proxy can reach it.
    session = api.rest_client.pool_manager
    connector = session.connector
    session.detach()
    api.rest_client.pool_manager = aiohttp.ClientSession(
        connector=connector, trust_env=False, read_bufsize=_READ_BUFFER_BYTES
    )
    await session.close()
