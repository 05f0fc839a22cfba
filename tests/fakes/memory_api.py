"""A tiny API server in memory, in the place of the transport: for tests whose time is the loop's.

It keeps what the code under test relies on: growing resourceVersions, 409 on stale ones, 404 that names the object,
watches that replay their log and answer 410 for what was compacted.
"""

import asyncio
import copy
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.transport import Call, Document, Timeouts

_PATH = re.compile(r"(/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?$")
_ROOT = re.compile(r"(/api/v1|/apis/[^/]+/[^/]+)$")


class MemoryApi:
    def __init__(self) -> None:
        self.timeouts = Timeouts()
        self.objects: dict[str, Document] = {}
        self.version = 0
        self.compacted = 0
        self.log: list[tuple[int, str, str, Document]] = []
        self.latency = 0.0
        self.fail: Callable[[Call], errors.KubeError | None] = lambda call: None
        self.unserved: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.changed = asyncio.Event()
        self.open_streams = 0

    def client(self) -> KubeClient:
        return KubeClient(transport=self, field_manager="test")  # type: ignore[arg-type]

    # -- the transport's surface

    async def close(self) -> None:
        return None

    async def exchange(self, call: Call, *, deadline: float | None = None) -> Document:
        loop = asyncio.get_running_loop()
        if deadline is not None and deadline <= loop.time():
            raise errors.UnavailableError(call.request, "not sent: its deadline has passed", may_have_happened=False)
        self.asked.append((call.method, call.path))
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.sleep(self.latency)
        except TimeoutError as error:
            raise errors.UnavailableError(call.request, "no answer in time", may_have_happened=True) from error
        return self.answer(call)

    @asynccontextmanager
    async def stream(self, call: Call, *, total: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(("WATCH", call.path))
        self._refuse(call)
        since = int(call.query["resourceVersion"])
        if since < self.compacted:
            raise errors.from_answer(call.request, 410, errors.Status(message="too old", details={}))
        self.open_streams += 1
        try:
            yield self._pieces(call, since)
        finally:
            self.open_streams -= 1

    # -- the world's surface

    def put(self, path: str, document: Document) -> Document:
        self.version += 1
        stored = copy.deepcopy(document)
        stored.setdefault("metadata", {})["resourceVersion"] = str(self.version)
        kind = "MODIFIED" if path in self.objects else "ADDED"
        self.objects[path] = stored
        self._append(kind, path, stored)
        return copy.deepcopy(stored)

    def delete(self, path: str) -> None:
        self.version += 1
        gone = copy.deepcopy(self.objects.pop(path))
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._append("DELETED", path, gone)

    def compact(self) -> None:
        self.compacted = self.version
        self.log = []

    def answer(self, call: Call) -> Document:
        self._refuse(call)
        if _ROOT.match(call.path):
            return self._discovery(call)
        match = _PATH.match(call.path)
        assert match, call.path
        root, _, plural, name = match.groups()
        if f"{root}/{plural}" in self.unserved:
            raise errors.from_answer(call.request, 404, errors.NO_STATUS)
        if call.method == "POST":
            return self._create(call)
        if name is None:
            items = [copy.deepcopy(doc) for path, doc in sorted(self.objects.items()) if _is_in(path, match)]
            return {"items": items, "metadata": {"resourceVersion": str(self.version)}}
        return self._one(call, name)

    def _refuse(self, call: Call) -> None:
        error = self.fail(call)
        if error is not None:
            raise error

    def _discovery(self, call: Call) -> Document:
        plurals = {_PATH.match(path).group(3) for path in self.objects if path.startswith(call.path)}  # type: ignore[union-attr]
        served = sorted(plural for plural in plurals if f"{call.path}/{plural}" not in self.unserved)
        if not served:
            raise errors.from_answer(call.request, 404, errors.NO_STATUS)
        return {"resources": [{"name": plural, "kind": plural.title()} for plural in served]}

    def _create(self, call: Call) -> Document:
        path = f"{call.path}/{call.body['metadata']['name']}"
        if path in self.objects:
            status = errors.Status(reason="AlreadyExists", message="already exists", details={})
            raise errors.from_answer(call.request, 409, status)
        return self.put(path, call.body)

    def _one(self, call: Call, name: str) -> Document:
        stored = self.objects.get(call.path)
        if stored is None:
            status = errors.Status(reason="NotFound", message=f"{name} not found", details={"name": name})
            raise errors.from_answer(call.request, 404, status)
        if call.method == "GET":
            return copy.deepcopy(stored)
        if call.method == "DELETE":
            self.delete(call.path)
            return {"kind": "Status"}
        if call.method == "PATCH":
            merged = copy.deepcopy(stored)
            for member, value in call.body.items():
                merged[member] = {**merged.get(member, {}), **value} if isinstance(value, dict) else value
            return self.put(call.path, merged)
        if call.body["metadata"].get("resourceVersion", "") not in {"", stored["metadata"]["resourceVersion"]}:
            raise errors.from_answer(call.request, 409, errors.Status(reason="Conflict", message="stale", details={}))
        return self.put(call.path, call.body)

    def _append(self, kind: str, path: str, document: Document) -> None:
        self.log.append((self.version, kind, path, copy.deepcopy(document)))
        self.changed.set()
        self.changed = asyncio.Event()

    async def _pieces(self, call: Call, since: int) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + float(call.query["timeoutSeconds"])
        match = _PATH.match(call.path)
        assert match
        while loop.time() < end:
            changed = self.changed
            for version, kind, path, document in list(self.log):
                if version > since and _is_in(path, match):
                    since = version
                    yield json.dumps({"type": kind, "object": document}).encode() + b"\n"
            try:
                async with asyncio.timeout_at(end):
                    await changed.wait()
            except TimeoutError:
                return
            self._refuse(call)


def _is_in(path: str, collection: re.Match[str]) -> bool:
    found = _PATH.match(path)
    assert found
    root, namespace, plural, _ = collection.groups()
    return found.group(1) == root and found.group(3) == plural and namespace in {None, found.group(2)}
