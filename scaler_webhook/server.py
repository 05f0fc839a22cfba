"""Two listeners: admission over TLS, and health and metrics in the clear for the kubelet and Prometheus."""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from prometheus_client import exposition

from scaler_core.admission.verdict import Allowed, Denied, Undecided
from scaler_webhook import handlers, review
from scaler_webhook.metrics import WebhookMetrics

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""An update carries both versions of an object; etcd stores 1.5 MiB by default, and JSON escapes may double that."""
KEEPALIVE_SECONDS: Final = 120.0  # longer than the 90 s after which the API server drops an idle connection itself
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)\Z", re.ASCII)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_LEAST_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times of one request."""

    timeout_seconds: float
    """What the API server waits where it does not say so itself."""
    margin_seconds: float
    """How much earlier we answer than it gives up."""

    def deadline(self, asked: str | None) -> float:
        """Seconds that judging may take, from the `timeout` parameter of the address (a Go duration)."""
        found = _DURATION.match(asked or "")
        waits = float(found[1]) * _UNITS[found[2]] if found else self.timeout_seconds
        return max(waits - self.margin_seconds, _LEAST_SECONDS)


@dataclass(slots=True, kw_only=True)
class Readiness:
    """Why the process cannot judge now; ready while nothing is named."""

    obstacles: dict[str, str] = field(default_factory=dict)

    def set(self, what: str, why_not: str | None) -> None:
        """Name an obstacle, or remove it with None."""
        if why_not is None:
            self.obstacles.pop(what, None)
        else:
            self.obstacles[what] = why_not


@dataclass(slots=True, kw_only=True)
class Traffic:
    """Requests in flight, so that stopping can wait for them."""

    count: int = 0
    _is_idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __enter__(self) -> None:
        self.count += 1
        self._is_idle.clear()

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if self.count == 0:
            self._is_idle.set()

    async def drained(self) -> None:
        """Wait until nothing is in flight."""
        if self.count:
            await self._is_idle.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What the admission listener serves."""

    judges: Mapping[str, handlers.Judge]
    reads: handlers.Reads
    limits: Limits
    metrics: WebhookMetrics
    is_stopping: Callable[[], bool]
    traffic: Traffic = field(default_factory=Traffic)

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        for path, judge in self.judges.items():
            app.router.add_post(path, self._handler(path, judge))
        return app

    def _handler(self, path: str, judge: handlers.Judge) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            with self.traffic:
                return await answer(request)

        async def answer(request: web.Request) -> web.Response:
            started = asyncio.get_running_loop().time()
            uid, verdict = await self._verdict(request, judge)
            self.metrics.answered(path, verdict, asyncio.get_running_loop().time() - started)
            response = web.Response(
                status=200 if uid else 400, body=review.render(uid, verdict), content_type="application/json"
            )
            if self.is_stopping():
                response.force_close()
            return response

        return handle

    async def _verdict(self, request: web.Request, judge: handlers.Judge) -> tuple[str, Allowed | Denied | Undecided]:
        body, excess = await _read(request)
        if excess is not None:
            return review.visible_uid(body), review.malformed(excess)
        parsed = review.parse(body)
        match parsed:
            case review.Malformed(uid=uid, reason=reason):
                return uid, review.malformed(reason)
            case review.PassThrough(uid=uid):
                return uid, Allowed()
            case review.Review(uid=uid, request=asked):
                deadline = self.limits.deadline(request.query.get("timeout"))
                return uid, await handlers.decide(judge, asked, self.reads, deadline)


async def _read(request: web.Request) -> tuple[bytes, str | None]:
    """The body, or its beginning and why it is not read to the end."""
    if request.content_type != "application/json":
        return await request.content.read(1024), "its content type is not application/json"
    parts, size = [], 0
    async for part in request.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            return b"".join(parts), f"it is longer than {MAX_BODY_BYTES} bytes"
    return b"".join(parts), None


def health(readiness: Readiness, metrics: WebhookMetrics) -> web.Application:
    """The routes of the health listener."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        text = "".join(f"{what}: {why}\n" for what, why in sorted(readiness.obstacles.items()))
        return web.Response(text=text or "ok\n", status=503 if text else 200)

    async def scrape(_: web.Request) -> web.Response:
        body = exposition.generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": exposition.CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", scrape)
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A started listener."""

    runner: web.AppRunner
    site: web.TCPSite
    port: int
    """The port that was taken, when 0 was asked for."""

    async def stop(self, traffic: Traffic | None = None, drain_seconds: float = 0.0) -> None:
        """Accept no more, finish what is in flight, close.

        aiohttp alone would drop requests whose body is still arriving, so they are waited for here.
        """
        await self.site.stop()
        if traffic is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(drain_seconds):
                    await traffic.drained()
        await self.runner.cleanup()


async def listen(app: web.Application, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> Listener:
    """Start serving; a port of 0 takes a free one."""
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=KEEPALIVE_SECONDS, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=tls)
    await site.start()
    return Listener(runner=runner, site=site, port=int(runner.addresses[0][1]))
