"""One request and its answer: deadlines on everything, errors by kind, bodies as decoded JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from scaler_kube import errors

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient

Document = dict[str, Any]
"""A decoded JSON object as the API server sent it; it lives at this edge only."""

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_MAX_ERROR_BODY: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Limits of one call in real seconds; none is ever absent, since a half-open connection hangs for ever."""

    connect: float = 5.0
    """Until the connection stands, the wait for a free one included."""
    read: float = 10.0
    """Between two pieces of an answer."""
    total: float = 15.0
    """Until the answer is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request before it is sent."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON
    body: Any = None

    @property
    def request(self) -> errors.Request:
        """The part that an error may show."""
        return errors.Request(method=self.method, path=self.path)


@contextmanager
def _transport_errors(request: errors.Request) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise errors.UnavailableError(request, f"no connection: {_name(error)}", may_have_happened=False) from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        message = "no answer in time" if isinstance(error, TimeoutError) else f"connection lost: {_name(error)}"
        raise errors.UnavailableError(request, message, may_have_happened=request.is_write) from error


def _name(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """The library's connection pool and credentials, with our deadlines and errors."""

    api: "ApiClient"
    timeouts: Timeouts

    async def close(self) -> None:
        """Close all connections."""
        await self.api.close()

    async def exchange(self, call: Call, *, deadline: float | None = None) -> Document:
        """Send a call and decode its answer.

        Args:
            call: what to send.
            deadline: of the event loop's clock; the answer is not awaited beyond it, and nothing is sent after it.

        Raises:
            KubeError: the server refused, or did not answer in time.
        """
        request = call.request
        if deadline is not None and deadline <= asyncio.get_running_loop().time():
            raise errors.UnavailableError(request, "not sent: its deadline has passed", may_have_happened=False)
        limits = aiohttp.ClientTimeout(
            total=self.timeouts.total,
            connect=self.timeouts.connect,
            sock_connect=self.timeouts.connect,
            sock_read=self.timeouts.read,
        )
        with _transport_errors(request):
            async with asyncio.timeout_at(deadline), self._answer(call, limits) as response:
                body = await response.read()
        return _decode(request, body)

    @asynccontextmanager
    async def stream(self, call: Call, *, total: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a call and read its answer piece by piece.

        Args:
            call: what to send.
            total: seconds until the answer must have ended.
            silence: seconds without a byte after which the connection counts as dead.
        """
        request = call.request
        limits = aiohttp.ClientTimeout(
            total=total, connect=self.timeouts.connect, sock_connect=self.timeouts.connect, sock_read=silence
        )
        with _transport_errors(request):
            async with self._answer(call, limits) as response:
                yield response.content.iter_any()

    @asynccontextmanager
    async def _answer(self, call: Call, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        response: aiohttp.ClientResponse = await self.api.call_api(
            call.path,
            call.method,
            query_params=list(call.query.items()),
            header_params={"Accept": JSON, "Content-Type": call.content_type},
            body=call.body,
            auth_settings=["BearerToken"],
            _preload_content=False,
            _request_timeout=limits,
        )
        try:
            if not 200 <= response.status < 300:
                status = errors.parse_status(await response.content.read(_MAX_ERROR_BODY))
                after = errors.parse_retry_after(response.headers.get("Retry-After"))
                raise errors.from_answer(call.request, response.status, status, after)
            yield response
        finally:
            # A complete answer has given its connection back by now; an incomplete one must not be used again.
            response.close()


def _decode(request: errors.Request, body: bytes) -> Document:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.UnavailableError(request, "the answer is not JSON", may_have_happened=request.is_write) from error
    if not isinstance(document, dict):
        raise errors.UnavailableError(request, "the answer is not an object", may_have_happened=request.is_write)
    return document
