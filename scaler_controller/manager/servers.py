"""The HTTP server of a process: health, metrics, and what the last pass of a scaler saw."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Never

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import choose_encoder

from scaler_core.api.meta import ObjectKey
from scaler_core.recording import Recording
from scaler_kube.settings import cannot_listen

LastPass = Callable[[ObjectKey], Recording | None]
"""The last pass over a scaler in this process; None when there is none."""

LAG_PERIOD_SECONDS: Final = 0.5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What the probes ask; each returns what is wrong, in words, and an empty text when nothing is."""

    liveness: Callable[[], str]
    readiness: Callable[[], str]


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Up first and down last; standbys serve too."""

    host: str
    port: int
    """0 picks a free one, which is logged."""
    registry: CollectorRegistry
    last_pass: LastPass

    @asynccontextmanager
    async def running(self, health: Health) -> AsyncIterator[int]:
        """Serve while the context is open; gives the port.

        Raises:
            SettingError: the address cannot be listened at.
        """
        runner = web.AppRunner(self.application(health), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await self._listen(runner)
            port = int(runner.addresses[0][1])
            _log.info("Serving health and metrics", extra={"host": self.host, "port": port})
            yield port
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        try:
            await web.TCPSite(runner, self.host, self.port).start()
        except OSError as error:
            raise cannot_listen("health-", self.host, self.port, error) from error

    def application(self, health: Health) -> web.Application:
        """The routes alone."""
        app = web.Application()
        app.router.add_get("/healthz", _probe(health.liveness))
        app.router.add_get("/readyz", _probe(health.readiness))
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/debug/scalers/{namespace}/{name}", self._debug)
        return app

    async def _metrics(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self.registry), headers={"Content-Type": content_type})

    async def _debug(self, request: web.Request) -> web.Response:
        key = ObjectKey(request.match_info["namespace"], request.match_info["name"])
        recording = self.last_pass(key)
        if recording is None:
            return web.json_response({"error": f"no pass over scaler {key} in this process yet"}, status=404)
        document = recording.explain().to_wire()
        if request.query.get("recording") == "true":
            document["recording"] = recording.to_json()
        return web.Response(text=json.dumps(document, indent=2), content_type="application/json")


async def measure_lag(gauge: Gauge) -> Never:
    """Show how late the event loop wakes up, until cancelled; a loop that lags for long loses the lease."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_PERIOD_SECONDS
        await asyncio.sleep(LAG_PERIOD_SECONDS)
        gauge.set(max(0.0, loop.time() - due))


def _probe(check: Callable[[], str]) -> Callable[[web.Request], Any]:
    async def answer(_: web.Request) -> web.Response:
        wrong = check()
        return web.Response(text=wrong or "ok", status=503 if wrong else 200)

    return answer
