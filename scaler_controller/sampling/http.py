"""One engine read over HTTP: limits on everything, and every failure in words.

Real seconds: an engine is not faster because a demonstration's clock is.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp import hdrs
from yarl import URL

from scaler_controller.sampling.deadlines import Deadlines
from scaler_core.model.scrape import ScrapeFailure

HEADERS: Final = {
    # Asked for OpenMetrics, some client libraries rename `vllm:` to `vllm_`; the text format is stable.
    hdrs.ACCEPT: "text/plain;version=0.0.4",
    hdrs.ACCEPT_ENCODING: "gzip",
    hdrs.USER_AGENT: "model-deployment-scaler",
}
OK: Final = 200
REDIRECTS: Final = range(300, 400)
PACKINGS: Final = frozenset({"identity", "gzip", "x-gzip", "deflate"})
"""What the HTTP client unpacks."""
_REMEDIES: Final = {
    401: ": it asks for credentials, and the scaler has none; let its metrics be read without",
    403: ": it lets nobody read its metrics from here; allow the scaler to",
    404: ": no metrics at this path; is it /metrics, and are the engine's metrics switched on?",
}
_MEBIBYTE: Final = 1024 * 1024
_UNTIMED: Final = aiohttp.ClientTimeout()
"""No timers of the library; `Deadlines` has one for all requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sampling pass may cost, in real seconds and bytes."""

    request_seconds: float = 2.0
    pass_seconds: float = 8.0
    """The whole pass; a pass takes at most half an interval, too."""
    body_bytes: int = 4 * _MEBIBYTE
    """Decoded."""
    per_target: int = 32
    """Requests in flight to one target's engines."""
    per_process: int = 128
    """Requests in flight altogether."""


def make_session(tls: ssl.SSLContext | None = None) -> aiohttp.ClientSession:
    """A session without proxy, cookies or a pool limit of its own (waiting there would count as the engine's delay).

    Args:
        tls: trusts the engines' certificate authority; None trusts the system's.
    """
    connector = aiohttp.TCPConnector(limit=0, ssl=tls if tls is not None else True)
    return aiohttp.ClientSession(
        connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), headers=HEADERS
    )


class BodyReader:
    """Asks engines for their texts, each within the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deadlines = Deadlines(limits.request_seconds)

    async def read(self, session: aiohttp.ClientSession, url: URL | str) -> bytes | ScrapeFailure:
        """The body of one answer with status 200, unpacked; anything else is a failed read."""
        try:
            with self._deadlines:
                async with session.get(url, allow_redirects=False, timeout=_UNTIMED) as response:
                    if response.status != OK:
                        return ScrapeFailure(why=_status(response))
                    packing = response.headers.get(hdrs.CONTENT_ENCODING, "identity").lower()
                    if packing not in PACKINGS:
                        return ScrapeFailure(why=_not_asked_for(packing))
                    return await _body(response, self._limits.body_bytes)
        except TimeoutError:
            return ScrapeFailure(why=f"no answer within {self._limits.request_seconds:g} s")
        except (aiohttp.ClientError, OSError) as error:
            return ScrapeFailure(why=_words(error))


def _status(response: aiohttp.ClientResponse) -> str:
    if response.status in REDIRECTS:
        place = _line(response.headers.get(hdrs.LOCATION, ""))
        return f"HTTP {response.status}{f' to {place!r}' if place else ''}, and redirects are not followed"
    return f"HTTP {response.status}{_REMEDIES.get(response.status, '')}"


async def _body(response: aiohttp.ClientResponse, limit: int) -> bytes | ScrapeFailure:
    chunks, size, content = [], 0, response.content
    while not content.at_eof():
        chunk = await content.readany()
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return ScrapeFailure(why=f"its answer is larger than {limit / _MEBIBYTE:g} MiB")
    return b"".join(chunks)


def _not_asked_for(packing: str) -> str:
    return f"its answer is packed as nobody asked for; gzip or nothing is understood ({_line(packing)})"


def _not_http(error: Exception) -> str:
    """Without the address, which may hold credentials."""
    message = _line(error.message if isinstance(error, aiohttp.ClientResponseError) else error)
    if hdrs.CONTENT_ENCODING.lower() in message.lower():
        return _not_asked_for(message.partition(".")[0])
    return f"its answer is not HTTP: {message}"


_WORDS: Final[tuple[tuple[type[Exception], Callable[[Exception], str]], ...]] = (
    (aiohttp.ClientConnectorCertificateError, lambda _: "its TLS certificate is not trusted"),
    (aiohttp.ClientSSLError, lambda error: f"the TLS handshake failed: {error}"),
    (aiohttp.ClientConnectorError, lambda error: f"no connection: {_reason(error)}"),
    (aiohttp.ServerDisconnectedError, lambda _: "it closed the connection without an answer"),
    (aiohttp.InvalidURL, lambda _: "its address is no URL"),
    (aiohttp.ClientPayloadError, lambda _: "its answer broke off or cannot be decoded"),
    (aiohttp.ClientResponseError, _not_http),
)


def _words(error: Exception) -> str:
    """An error of the transport in one line for people."""
    for kind, describe in _WORDS:
        if isinstance(error, kind):
            return describe(error)
    return f"{type(error).__name__}: {_line(error)}"


def _reason(error: Exception) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or _line(cause)


def _line(error: BaseException | str) -> str:
    return " ".join(str(error).split())[:200]
