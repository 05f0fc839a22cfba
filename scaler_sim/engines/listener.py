"""The HTTP side of one engine: `/metrics` and `/health` on a loopback port of its own."""

from collections.abc import Callable

from aiohttp import web

from scaler_sim.engines import faults
from scaler_sim.engines.faults import Fault

ADDRESS = "127.0.0.1"


class EngineListener:
    """Answers for one engine; `fault` is what is wrong with it at the moment."""

    def __init__(self, text: Callable[[Fault | None], str]) -> None:
        """Make a listener.

        Args:
            text: the metrics text at the moment of the call, under the fault.
        """
        self._text = text
        self._frozen: str | None = None
        self._fault: Fault | None = None
        self._runner: web.AppRunner | None = None

    @property
    def fault(self) -> Fault | None:
        """What is wrong with the answers; None is nothing."""
        return self._fault

    def break_with(self, fault: Fault | None) -> None:
        """Answer wrongly from now on, or rightly again."""
        self._frozen = self._text(None) if fault is Fault.FROZEN else None
        self._fault = fault

    async def start(self) -> int:
        """Listen; the port."""
        application = web.Application()
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/health", self._health)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, ADDRESS, 0)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop listening; answers that are still owed are dropped."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _current(self) -> str:
        return self._frozen if self._frozen is not None else self._text(self._fault)

    async def _metrics(self, _: web.Request) -> web.StreamResponse:
        return await faults.answer_for(self._fault)(self._current)

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")
