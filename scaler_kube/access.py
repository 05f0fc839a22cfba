"""Where the API server is and who we are: three ways to say it, one transport.

The client library is used for exactly this: reading in-cluster and kubeconfig credentials, keeping a service account's
token fresh, TLS, and sending bytes. It costs 0.6 s to import, so that happens when the first connection is made.
"""

import asyncio
import ipaddress
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import aiohttp
import yaml

from scaler_kube.errors import AccessError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient, Configuration

_READ_BUFFER_BYTES: Final = 2**21
TOKEN_SECONDS: Final = 60.0
"""As the library does with a service account's token."""
_UNREADABLE: Final = (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError)
_log = logging.getLogger(__name__)


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
    from kubernetes_asyncio.config import ConfigException

    try:
        api = ApiClient(await _configuration(access))
    except (ConfigException, *_UNREADABLE) as error:
        raise _unusable(access, error) from error
    api.user_agent = user_agent
    if _is_loopback(api.configuration.host or ""):
        await _ignore_proxies(api)
    return api


async def default_namespace(access: Access) -> str:
    """The namespace that kubectl would use: that of the context, or `default`.

    Raises:
        AccessError: the kubeconfig cannot be read.
    """
    if not isinstance(access, KubeConfig):
        return "default"
    await asyncio.to_thread(_import_library)
    from kubernetes_asyncio.config import ConfigException, list_kube_config_contexts

    _require_file(access.path)
    try:
        contexts, current = list_kube_config_contexts(config_file=access.path)
    except (ConfigException, *_UNREADABLE) as error:
        raise _unusable(access, error) from error
    chosen = next((context for context in contexts or () if context["name"] == access.context), current)
    return str((chosen or {}).get("context", {}).get("namespace") or "default")


def _unusable(access: Access, error: Exception) -> AccessError:
    why = " ".join(str(error).split())
    match access:
        case InCluster():
            return AccessError(f"no kubeconfig and no Pod's service account ({why}); give a kubeconfig or run in a Pod")
        case KubeConfig(path=path):
            return AccessError(f"kubeconfig {path!r} cannot be used: {why}; correct it or give another")
        case Endpoint(url=url, ca_file=ca_file):
            return AccessError(f"API server {url!r} with CA {ca_file!r} cannot be used: {why}; correct URL and CA")


def _import_library() -> None:
    import kubernetes_asyncio.client
    import kubernetes_asyncio.config  # noqa: F401 -- imported here for its cost alone


async def _configuration(access: Access) -> "Configuration":
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import load_incluster_config

    configuration = Configuration()
    match access:
        case InCluster():
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        case KubeConfig(path=path, context=context):
            _require_file(path)
            await _load(path, context, configuration)
            configuration.refresh_api_key_hook = TokenReload(path=path, context=context)
        case Endpoint(url=url, token=token, ca_file=ca_file):
            if urlsplit(url).scheme not in {"http", "https"}:
                raise ValueError("a URL begins with http:// or https://")
            configuration.host = url.rstrip("/")
            configuration.ssl_ca_cert = ca_file
            configuration.api_key["BearerToken"] = f"Bearer {token}"
    return configuration


async def _load(path: str, context: str | None, configuration: "Configuration") -> None:
    from kubernetes_asyncio.config import load_kube_config

    await load_kube_config(config_file=path, context=context, client_configuration=configuration, persist_config=False)


@dataclass(kw_only=True)
class TokenReload:
    """Reads a kubeconfig's token anew once a minute, since those of exec plugins and login tools expire.

    The library calls it before each request that carries a token.
    """

    path: str
    context: str | None
    due_at: float = field(init=False)
    """When the token counts as old, in seconds of the event loop's clock."""

    def __post_init__(self) -> None:
        self._postpone()

    async def __call__(self, configuration: "Configuration") -> None:
        """Renew the token where it is due; the old one stays when that fails, and the server says whether it is."""
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config import ConfigException

        if asyncio.get_running_loop().time() < self.due_at:
            return
        self._postpone()  # first, so that requests which come meanwhile do not start it again
        fresh = Configuration()
        try:
            await _load(self.path, self.context, fresh)
        except (ConfigException, *_UNREADABLE) as error:
            _log.warning("Kubeconfig was not read again", extra={"path": self.path, "error": str(error)})
            return
        configuration.api_key = fresh.api_key

    def _postpone(self) -> None:
        self.due_at = asyncio.get_running_loop().time() + TOKEN_SECONDS


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
