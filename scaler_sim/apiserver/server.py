"""The HTTP side: every request is authenticated, counted, perhaps disturbed by a fault, served and answered."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import yaml
from aiohttp import web

from scaler_sim.apiserver import discovery, openapi, routing, tables
from scaler_sim.apiserver.calls import Call
from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.dispatch import Dispatcher, list_metadata
from scaler_sim.apiserver.errors import Document, PageNotFoundError, StatusError, bad_request, unsupported_media_type
from scaler_sim.apiserver.faults import Delay, Drop, Faults
from scaler_sim.apiserver.ledger import READS, Ledger
from scaler_sim.apiserver.patching import PatchType
from scaler_sim.apiserver.reading import Page, Reader, present
from scaler_sim.apiserver.storage import Stored
from scaler_sim.apiserver.users import Users

BODY_LIMIT: Final = 3 * 1024 * 1024
"""A real server takes request bodies of at most 3 MiB."""
_WARNING_BUDGET: Final = 4096
_WARNING_LENGTH: Final = 256
_UNREAD: Final = frozenset({"application/vnd.kubernetes.protobuf", "application/cbor"})
"""Clients that prefer these fall back to JSON."""


class ApiServer:
    """An aiohttp application that serves a cluster's API."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        reader: Reader,
        dispatcher: Dispatcher,
        users: Users,
        faults: Faults,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        self._catalog = catalog
        self._reader = reader
        self._dispatcher = dispatcher
        self._users = users
        self._faults = faults
        self._ledger = ledger
        self._clock = clock

    def application(self) -> web.Application:
        """The application, ready to be served."""
        application = web.Application(client_max_size=BODY_LIMIT)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            user = self._users.requester(request.headers)
            about = self._about(request)
            if about is not None:
                return about
            agent = request.headers.get("User-Agent", "")
            call = routing.call(self._catalog, request.method, request.path, request.query, user=user, agent=agent)
        except PageNotFoundError:
            return web.Response(status=404, text="404 page not found\n")
        except StatusError as error:
            return _failure(error, [])
        return await self._serve(request, call)

    async def _serve(self, request: web.Request, call: Call) -> web.StreamResponse:
        self._ledger.note(call)
        drops: set[Drop] = set()
        body: Any = None
        try:
            body = None if call.verb in READS else await _body(request)
            for fault in self._faults.take(call):
                if isinstance(fault, Delay):
                    await asyncio.sleep(fault.seconds)
                elif isinstance(fault, Drop):
                    drops.add(fault)
                else:
                    raise fault.to_error()
            if Drop.BEFORE_EFFECT in drops:
                return _hang_up(request)
            response = await self._read_or_write(request, call, body)
        except StatusError as error:
            self._ledger.record(call, code=error.code, body=body)
            response = _failure(error, call.warnings)
        return _hang_up(request) if Drop.AFTER_EFFECT in drops else response

    async def _read_or_write(self, request: web.Request, call: Call, body: Any) -> web.StreamResponse:
        if call.verb == "watch":
            return await self._watch(request, call)
        if call.verb == "get":
            return self._one(request, call, self._reader.get(call))
        if call.verb == "list":
            return self._listed(request, call, self._reader.page(call))
        code, document = await self._dispatcher.write(call, request.content_type, body)
        self._ledger.record(call, code=code, body=body)
        if document.get("kind") not in ("Status", "TokenRequest"):
            document = self._as_accepted(request, call, present(call.resource, document))
        return _json(document, code, call.warnings)

    def _one(self, request: web.Request, call: Call, stored: Stored) -> web.Response:
        document = present(call.resource, stored.document)
        if document is stored.document and not _wants(request, "Table", "PartialObjectMetadata"):
            return web.Response(body=stored.encoded, content_type="application/json")
        return _json(self._as_accepted(request, call, document), 200, call.warnings)

    def _as_accepted(self, request: web.Request, call: Call, document: Document) -> Document:
        if _wants(request, "Table"):
            metadata = {"resourceVersion": document["metadata"].get("resourceVersion", "")}
            return tables.table(call.resource, [document], metadata, self._clock)
        return tables.partial_metadata(document) if _wants(request, "PartialObjectMetadata") else document

    def _listed(self, request: web.Request, call: Call, page: Page) -> web.Response:
        documents = [present(call.resource, stored.document) for stored in page.items]
        if _wants(request, "Table"):
            return _json(tables.table(call.resource, documents, list_metadata(page), self._clock), 200, [])
        if _wants(request, "PartialObjectMetadataList"):
            header = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            items = [tables.partial_metadata(document) for document in documents]
            return _json({**header, "metadata": list_metadata(page), "items": items}, 200, [])
        head = json.dumps(self._dispatcher.head(call, page), separators=(",", ":")).encode()[:-1]
        texts = [
            stored.encoded if document is stored.document else json.dumps(document, separators=(",", ":")).encode()
            for stored, document in zip(page.items, documents, strict=True)
        ]
        return web.Response(body=head + b',"items":[' + b",".join(texts) + b"]}", content_type="application/json")

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        events = self._reader.watch(call)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        as_table = _wants(request, "Table")
        try:
            async for event in events:
                if as_table and event["type"] not in ("ERROR", "BOOKMARK"):
                    event = {**event, "object": self._as_accepted(request, call, event["object"])}  # noqa: PLW2901
                await response.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        except ConnectionError:
            return response  # the client is gone
        finally:
            await _close(events)
        await response.write_eof()
        return response

    def _about(self, request: web.Request) -> web.Response | None:
        """Health, version and discovery; None for a path that names a resource."""
        parts = request.path.strip("/").split("/")
        if parts[0] in ("readyz", "healthz", "livez"):
            return web.Response(text="ok")
        known: Callable[[], Document | None] | None = {
            ("version",): lambda: discovery.VERSION,
            ("api",): lambda: discovery.core_versions(request.host),
            ("api", "v1"): lambda: discovery.resources(self._catalog, "", "v1"),
            ("apis",): lambda: discovery.groups(self._catalog),
        }.get(tuple(parts))
        if known is None:
            known = self._deeper(parts)
        if known is None:
            return None
        document = known()
        if document is None:
            raise PageNotFoundError
        return _json(document, 200, [])

    def _deeper(self, parts: list[str]) -> Callable[[], Document | None] | None:
        if parts[0] == "openapi":
            return lambda: openapi.document(self._catalog, parts[1:])
        if parts[0] == "apis" and len(parts) == 2:
            return lambda: discovery.group(self._catalog, parts[1])
        if parts[0] == "apis" and len(parts) == 3:
            return lambda: discovery.resources(self._catalog, parts[1], parts[2])
        return None if parts[0] in ("api", "apis") else lambda: None


async def _close(events: AsyncIterator[Document]) -> None:
    closing = getattr(events, "aclose", None)
    if closing is not None:
        await closing()


def _integer_or_float(text: str) -> float:
    """JSON numbers such as 4.0 are integers for the API."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


async def _body(request: web.Request) -> Any:
    raw = await request.read()
    if not raw:
        return None
    if request.content_type in _UNREAD:
        raise unsupported_media_type(["application/json", "application/yaml"])
    try:
        if request.content_type in (PatchType.APPLY, "application/yaml"):
            return yaml.safe_load(raw)
        return json.loads(raw, parse_float=_integer_or_float)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"the body of the request could not be read: {error}") from None


def _wants(request: web.Request, *kinds: str) -> bool:
    """Whether the first form that the client accepts is one of these."""
    first = request.headers.get("Accept", "").partition(",")[0].replace(" ", "")
    return any(f"as={kind}" in first.split(";") for kind in kinds)


def _json(document: Document, code: int, warnings: list[str]) -> web.Response:
    response = web.Response(
        status=code, body=json.dumps(document, separators=(",", ":")).encode(), content_type="application/json"
    )
    budget_is_spent = sum(len(text) for text in warnings) > _WARNING_BUDGET
    for text in dict.fromkeys(warnings):
        shown = text[:_WARNING_LENGTH] if budget_is_spent else text
        escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{escaped}"')
    return response


def _failure(error: StatusError, warnings: list[str]) -> web.Response:
    response = _json(error.to_wire(), error.code, warnings)
    response.headers.update(error.headers)
    return response


def _hang_up(request: web.Request) -> web.Response:
    """Cut the connection; the answer goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
