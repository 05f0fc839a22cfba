"""Assembling the webhook process: settings, the door to the API server, certificates, two listeners, an orderly end."""

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from scaler_core.api import scaler
from scaler_core.api.meta import ObjectKey
from scaler_kube.client import KubeClient, connect
from scaler_kube.clock import SteadyClock
from scaler_kube.errors import AccessError
from scaler_kube.logs import configure_logs
from scaler_kube.resources import Resource
from scaler_kube.settings import SettingError, cannot_listen, read_settings
from scaler_webhook import certificates, handlers, server
from scaler_webhook.bundles import Bundles
from scaler_webhook.lookups import Lookups
from scaler_webhook.metrics import WebhookMetrics
from scaler_webhook.settings import Settings
from scaler_webhook.upkeep import Upkeep, stop_quietly

LOG: Final = logging.getLogger(__name__)
FIELD_MANAGER: Final = "model-deployment-scaler-webhook"
EXIT_USAGE: Final = 2
YOUNG_OBJECTS: Final = 100_000
"""So many containers may be born before the collector looks at them: some thirty reviews of ordinary size at once."""


def main() -> int:
    """Run the webhook until it is asked to stop.

    Returns:
        0 after an orderly stop, 2 for wrong settings or no way to the cluster.
    """
    settings = read_settings(Settings)
    if settings is None:
        return EXIT_USAGE
    configure_logs(settings.log_level)
    spare_the_collector()
    try:
        asyncio.run(until_signalled(settings))
    except (AccessError, SettingError) as error:
        sys.stderr.write(f"scaler-webhook: {error}\n")
        return EXIT_USAGE
    return 0


def spare_the_collector() -> None:
    """Keep the cycle collector off modules and off reviews, which have no cycles and die by their reference counts.

    By default it runs several times within each review: parsing then takes three times as long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What was taken."""

    admission: int
    health: int


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then finish what is in flight."""
    async with serving(settings, stop) as ports:
        extra = {"port": ports.admission, "health_port": ports.health, "operators": list(settings.operator_user)}
        LOG.info("Serving admission", extra=extra)
        await stop.wait()


@asynccontextmanager
async def serving(settings: Settings, stop: asyncio.Event) -> AsyncIterator[Ports]:
    """Both listeners and the upkeep while the context lasts; leaving it ends them in order."""
    client = await connect(settings.access, field_manager=FIELD_MANAGER, user_agent=FIELD_MANAGER)
    async with client:
        metrics, readiness = WebhookMetrics(), server.Readiness()
        upkeep = _upkeep(settings, client, metrics, readiness)
        readiness.set("certificate", "none yet")
        async with _health(settings, readiness, metrics) as health:
            await _first_certificate(upkeep, stop)
            endpoints = server.Endpoints(
                judges=handlers.judges(frozenset(settings.operator_user)),
                reads=upkeep.reads,
                limits=server.Limits(timeout_seconds=settings.timeout_seconds, margin_seconds=settings.margin_seconds),
                metrics=metrics,
                is_stopping=stop.is_set,
            )
            admission = await _admission(settings, endpoints, upkeep)
            looking = asyncio.create_task(upkeep.forever(), name="upkeep")
            try:
                yield Ports(admission=admission.port, health=health.port)
            finally:
                readiness.set("process", "stopping")
                await asyncio.sleep(settings.lame_duck_seconds)
                await admission.stop(endpoints.traffic, settings.drain_seconds)
                await stop_quietly(looking)


@asynccontextmanager
async def _health(
    settings: Settings, readiness: server.Readiness, metrics: WebhookMetrics
) -> AsyncIterator[server.Listener]:
    host, port = settings.health_host, settings.health_port
    try:
        listener = await server.listen(server.health(readiness, metrics), host, port)
    except OSError as error:
        raise cannot_listen("health-", host, port, error) from error
    try:
        yield listener
    finally:
        await listener.stop()


async def _admission(settings: Settings, endpoints: server.Endpoints, upkeep: Upkeep) -> server.Listener:
    host, port = settings.host, settings.port
    try:
        return await server.listen(endpoints.application(), host, port, tls=upkeep.source.context)
    except OSError as error:
        raise cannot_listen("", host, port, error) from error


async def _first_certificate(upkeep: Upkeep, stop: asyncio.Event) -> None:
    """Wait for a certificate: a listener without one could only fail handshakes."""
    await upkeep.once()
    while upkeep.source.expires == 0.0 and not stop.is_set():
        await upkeep.clock.sleep(upkeep.interval_seconds)
        await upkeep.once()


def _upkeep(settings: Settings, client: KubeClient, metrics: WebhookMetrics, readiness: server.Readiness) -> Upkeep:
    def kind(name: str, plural: str, version: str) -> Resource:
        return Resource(group=settings.api_group, version=version, plural=plural, kind=name)

    resources = {
        scaler.KIND: kind(scaler.KIND, scaler.PLURAL, settings.scaler_version),
        scaler.TARGET_KIND: kind(scaler.TARGET_KIND, scaler.TARGET_PLURAL, settings.target_version),
    }
    return Upkeep(
        source=_source(settings, client),
        bundles=None
        if settings.tls_cert is not None
        else Bundles(client=client, name=settings.configuration_name, namespace=settings.namespace),
        reads=Lookups(reader=client, resources=resources, timeout_seconds=settings.read_timeout_seconds),
        namespace=settings.namespace,
        clock=SteadyClock(),
        readiness=readiness,
        metrics=metrics,
        interval_seconds=settings.refresh_seconds,
    )


def _source(settings: Settings, client: KubeClient) -> certificates.FileSource | certificates.SecretSource:
    context = certificates.tls_context()
    files = settings.certificate_files
    if files is not None:
        return certificates.FileSource(certificate=files[0], key=files[1], context=context)
    secret = ObjectKey(settings.namespace, settings.secret_name)
    return certificates.SecretSource(client=client, secret=secret, names=settings.served_names, context=context)


async def until_signalled(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(settings, stop)


if __name__ == "__main__":  # who starts this module means the process
    sys.exit(main())
