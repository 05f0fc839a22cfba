"""What may answer in place of the webhook: a TLS server that talks nonsense, and one that never says anything."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web

from scaler_sim.apiserver.tls import Authority


def _review(uid: str, **response: Any) -> web.Response:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": uid, **response}}
    return web.json_response(body)


NONSENSE: Final[Mapping[str, Callable[[], web.StreamResponse]]] = {
    "another-uid": lambda: _review("another", allowed=True),
    "no-uid": lambda: _review("", allowed=True),
    "internal-error": lambda: web.Response(status=500, text="boom"),
    "no-json": lambda: web.Response(text="<html>allowed</html>"),
    "empty": web.Response,
    "another-kind": lambda: web.json_response({"kind": "Pod", "apiVersion": "v1", "allowed": True}),
    "no-response": lambda: web.json_response({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}),
    "redirect": lambda: web.HTTPFound("https://127.0.0.1:1/elsewhere"),
}
"""By name: answers that admit, and must not be believed, and answers that say nothing."""


@asynccontextmanager
async def talking_nonsense(authority: Authority, name: str) -> AsyncIterator[str]:
    """A TLS server that gives one of these answers to everything; its address."""

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        return NONSENSE[name]()

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=authority.server_context("127.0.0.1"))
    await site.start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def silent() -> AsyncIterator[int]:
    """A server that accepts connections and never answers; its port."""

    async def keep(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await over.wait()
        finally:
            writer.close()

    over = asyncio.Event()
    server = await asyncio.start_server(keep, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        over.set()
        server.close()
        await server.wait_closed()
