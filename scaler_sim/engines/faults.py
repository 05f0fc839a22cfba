"""Ways in which an engine's `/metrics` can go wrong, on demand."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

from aiohttp import web

from scaler_sim.engines.exposition import CONTENT_TYPE

HUGE_BYTES: Final = 10 * 1024 * 1024
SLOW_SECONDS: Final = 3.0  # real ones: readers give up after two
GARBAGE: Final = b"\x00\xff\xfe# this is not { a metrics text\nvllm:num_requests_running{ 1.0 oops\n"


class Fault(StrEnum):
    """What is wrong with the answers of an engine."""

    GARBAGE = "garbage"
    ERROR = "error"
    """HTTP 500."""
    SILENT = "silent"
    """The connection is accepted, no answer comes."""
    HUGE = "huge"
    """10 MiB."""
    REDIRECT = "redirect"
    SLOW = "slow"
    """A right answer, after three seconds."""
    FROZEN = "frozen"
    """The text of the moment in which the fault began, for ever."""
    ZEROS = "zeros"
    """A well-formed text whose counters are all zero."""


Answer = Callable[[Callable[[], str]], Awaitable[web.StreamResponse]]


def plain(text: str) -> web.Response:
    """A right answer."""
    return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})


async def _garbage(_: Callable[[], str]) -> web.StreamResponse:
    return web.Response(body=GARBAGE, headers={"Content-Type": CONTENT_TYPE})


async def _error(_: Callable[[], str]) -> web.StreamResponse:
    return web.Response(status=500, text="internal server error")


async def _silent(_: Callable[[], str]) -> web.StreamResponse:
    never: asyncio.Future[web.StreamResponse] = asyncio.get_running_loop().create_future()
    return await never


async def _huge(text: Callable[[], str]) -> web.StreamResponse:
    padding = "# padding\n" * (HUGE_BYTES // len("# padding\n") + 1)
    return plain(text() + padding)


async def _redirect(_: Callable[[], str]) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": "/elsewhere"})


async def _slow(text: Callable[[], str]) -> web.StreamResponse:
    await asyncio.sleep(SLOW_SECONDS)
    return plain(text())


async def _right(text: Callable[[], str]) -> web.StreamResponse:
    return plain(text())


_ANSWERS: Final[dict[Fault, Answer]] = {
    Fault.GARBAGE: _garbage,
    Fault.ERROR: _error,
    Fault.SILENT: _silent,
    Fault.HUGE: _huge,
    Fault.REDIRECT: _redirect,
    Fault.SLOW: _slow,
}


def answer_for(fault: Fault | None) -> Answer:
    """How to answer under a fault; faults of the text itself answer rightly, with a wrong text."""
    return _right if fault is None else _ANSWERS.get(fault, _right)
