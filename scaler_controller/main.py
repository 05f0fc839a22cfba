"""The process: settings, the way to the cluster, exit statuses."""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from scaler_controller.assembly import Versions, assemble
from scaler_controller.manager.leadership import LeadershipLostError
from scaler_controller.manager.signals import stop_on_signals
from scaler_controller.sampling.http import make_session
from scaler_controller.settings import Settings
from scaler_core.api.scaler import VERSIONS
from scaler_kube import resources
from scaler_kube.access import Access, Endpoint, InCluster, KubeConfig
from scaler_kube.client import KubeClient, connect
from scaler_kube.errors import AccessError, KubeError
from scaler_kube.logs import configure_logs
from scaler_kube.resources import Resource

_log = logging.getLogger(__name__)
FIELD_MANAGER: Final = "model-deployment-scaler"
EXIT_USAGE: Final = 2
EXIT_LOST: Final = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the controller until it is asked to stop.

    Returns:
        0 after an orderly stop, 2 for wrong settings or no way to the cluster, 3 when leadership was lost.
    """
    try:
        settings = Settings(_cli_parse_args=list(sys.argv[1:] if arguments is None else arguments))
    except ValidationError as error:
        for problem in error.errors():
            flag = "--" + "-".join(str(part) for part in problem["loc"]).replace("_", "-")
            sys.stderr.write(f"scaler-controller: {flag}: {problem['input']!r}: {problem['msg']}\n")
        return EXIT_USAGE
    configure_logs(settings.log_level)
    try:
        asyncio.run(_run(settings))
    except AccessError as error:
        _log.error("No way to the cluster", extra={"error": str(error)})
        return EXIT_USAGE
    except LeadershipLostError as error:
        _log.error("Leadership was lost; a fresh process may begin", extra={"error": str(error)})
        return EXIT_LOST
    return 0


async def _run(settings: Settings) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    if not settings.identity:
        settings = settings.model_copy(update={"identity": f"{socket.gethostname()}-{os.getpid()}"})
    agent = f"{FIELD_MANAGER}/controller ({settings.identity})"
    async with (
        await connect(access_of(settings), field_manager=FIELD_MANAGER, user_agent=agent) as client,
        make_session(_engine_tls(settings)) as session,
    ):
        versions = await find_versions(settings, client)
        await assemble(settings, client, session, versions).run(stop)


def access_of(settings: Settings) -> Access:
    """The way to the API server that the settings name."""
    if settings.kube_url:
        ca = str(settings.kube_ca) if settings.kube_ca else None
        return Endpoint(url=settings.kube_url, token=settings.kube_token.get_secret_value(), ca_file=ca)
    return KubeConfig(path=str(settings.kubeconfig)) if settings.kubeconfig else InCluster()


async def find_versions(settings: Settings, client: KubeClient) -> Versions:
    """The configured versions where they are served, else the first other one that is (design.md 2.2)."""
    scalers = [resources.scalers(version, settings.api_group) for version in _from(settings.scaler_version)]
    targets = [resources.deployments(version, settings.api_group) for version in _from(settings.target_version)]
    return Versions(scalers=await _served(client, scalers), targets=await _served(client, targets))


def _from(first: str) -> tuple[str, ...]:
    return (first, *(version for version in VERSIONS if version != first))


async def _served(client: KubeClient, candidates: Sequence[Resource]) -> Resource:
    for candidate in candidates:
        try:
            if await client.serves(candidate):
                return candidate
        except KubeError as error:
            _log.warning("Discovery failed, taking the configured version", extra={"error": str(error)})
            break
    return candidates[0]


def _engine_tls(settings: Settings) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=str(settings.engine_ca)) if settings.engine_ca else None
