"""The process: settings, the way to the cluster, exit statuses."""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import Sequence
from typing import Final

from scaler_controller.assembly import Versions, assemble
from scaler_controller.manager.leadership import LeadershipLostError
from scaler_controller.manager.signals import stop_on_signals
from scaler_controller.sampling.http import make_session
from scaler_controller.settings import Settings
from scaler_core.api.scaler import VERSIONS
from scaler_kube import resources
from scaler_kube.client import KubeClient, connect
from scaler_kube.errors import AccessError, KubeError
from scaler_kube.logs import configure_logs
from scaler_kube.resources import Resource
from scaler_kube.settings import SettingError, read_settings

_log = logging.getLogger(__name__)
FIELD_MANAGER: Final = "model-deployment-scaler"
EXIT_USAGE: Final = 2
EXIT_LOST: Final = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the controller until it is asked to stop.

    Returns:
        0 after an orderly stop, 2 for wrong settings or no way to the cluster, 3 when leadership was lost.
    """
    settings = read_settings(Settings, arguments)
    if settings is None:
        return EXIT_USAGE
    configure_logs(settings.log_level)
    try:
        asyncio.run(_run(settings))
    except AccessError as error:
        _log.error("No way to the cluster", extra={"error": str(error)})
        return EXIT_USAGE
    except SettingError as error:
        _log.error("A setting cannot be used", extra={"error": str(error)})
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
        await connect(settings.access, field_manager=FIELD_MANAGER, user_agent=agent) as client,
        make_session(_engine_tls(settings)) as session,
    ):
        versions = await find_versions(settings, client)
        await assemble(settings, client, session, versions).run(stop)


async def find_versions(settings: Settings, client: KubeClient) -> Versions:
    """The configured versions where they are served, else the first other one that is."""
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
    if settings.engine_ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(settings.engine_ca))
    except OSError as error:
        why = error.strerror or str(error)
        raise SettingError(f"--engine-ca {settings.engine_ca}: {why}; give a readable PEM file") from error


if __name__ == "__main__":  # who starts this module means the process
    sys.exit(main())
