"""The custom resource of the conformance tests, and a client that shows answers as they came."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

Document = dict[str, Any]
GROUP: Final = "conformance.gpustack.ai"

_ROLE: Final = {
    "type": "object",
    "required": ["name", "instanceType"],
    "properties": {
        "name": {"type": "string"},
        "replicas": {"type": "integer", "format": "int32", "default": 1, "minimum": 1, "maximum": 1024},
        "image": {"type": "string"},
        "instanceType": {"type": "string", "minLength": 1},
    },
}
_SCHEMA: Final = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3, "minimum": 1, "maximum": 10},
                "mode": {"type": "string", "enum": ["Fast", "Slow"]},
                "note": {"type": "string", "nullable": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                "plain": {"type": "array", "items": {"type": "string"}},
                "roles": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": _ROLE,
                },
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string"},
                "conditions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
                    },
                },
            },
        },
    },
}
_COLUMNS: Final = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Bound", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Bound")].status'},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


_GADGET: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"limit": {"x-kubernetes-int-or-string": True}}}},
}


def definitions() -> tuple[Document, Document]:
    """The Widget, and the Gadget whose limit is an integer or a string.

    They are two, since Kubernetes 1.20 owns lists as a whole for every kind that has an integer or a string anywhere.
    """
    return _definition("Widget", _SCHEMA), _definition("Gadget", _GADGET)


def _definition(kind: str, schema: Document) -> Document:
    """One kind: v1 is stored, v1alpha1 is served as well, with one schema."""
    versions: list[Document] = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": _COLUMNS,
        }
        for name in ("v1", "v1alpha1")
    ]
    plural = f"{kind.lower()}s"
    names: Document = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    names["shortNames"] = [f"x{plural[0]}"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


def widget(name: str = "w", *, version: str = "v1", **spec: Any) -> Document:
    """A Widget of these spec fields."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def role(name: str, **fields: Any) -> Document:
    """A role of a Widget."""
    return {"name": name, "instanceType": "h100", **fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The object's or list's resourceVersion."""
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def generation(self) -> int:
        """The object's generation."""
        return int(self.body["metadata"]["generation"])

    @property
    def fields(self) -> list[str]:
        """The fields that the causes of a refusal name."""
        return [cause["field"] for cause in self.body["details"]["causes"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server under test and a namespace in it."""

    session: aiohttp.ClientSession
    namespace: str
    webhook_host: str | None
    is_embedded: bool
    compact: Any
    """Forgets history on the embedded server; on a real one version 1 is forgotten anyway."""

    def path(self, name: str = "", subresource: str = "", *, version: str = "v1") -> str:
        """The path of Widgets."""
        parts = [f"/apis/{GROUP}/{version}/namespaces/{self.namespace}/widgets", name, subresource]
        return "/".join(part for part in parts if part)

    async def call(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json", **options: Any
    ) -> Answer:
        """One request; `options` may hold `params` and `headers`."""
        headers = {"Content-Type": content, **options.pop("headers", {})}
        data = None if body is None else json.dumps(body)
        async with self.session.request(method, path, data=data, headers=headers, **options) as response:
            text = await response.text()
            warnings = tuple(
                item.partition('"')[2].removesuffix('"') for item in response.headers.getall("Warning", ())
            )
        with contextlib.suppress(json.JSONDecodeError):
            text = json.loads(text)
        return Answer(status=response.status, body=text, warnings=warnings)

    async def create(self, document: Document, **options: Any) -> Answer:
        """POST a Widget."""
        version = document["apiVersion"].rpartition("/")[2]
        return await self.call("POST", self.path(version=version), document, **options)

    async def get(self, name: str = "w", **options: Any) -> Answer:
        """GET a Widget."""
        return await self.call("GET", self.path(name), **options)

    async def replace(self, document: Document, subresource: str = "", **options: Any) -> Answer:
        """PUT a Widget."""
        return await self.call("PUT", self.path(document["metadata"]["name"], subresource), document, **options)

    async def json_patch(self, operations: Any, *, name: str = "w", subresource: str = "", **options: Any) -> Answer:
        """PATCH by RFC 6902 operations."""
        path = self.path(name, subresource)
        return await self.call("PATCH", path, operations, content="application/json-patch+json", **options)

    async def merge_patch(self, patch: Any, *, name: str = "w", subresource: str = "", **options: Any) -> Answer:
        """PATCH by an RFC 7386 document."""
        path = self.path(name, subresource)
        return await self.call("PATCH", path, patch, content="application/merge-patch+json", **options)

    async def apply(self, document: Document, manager: str, *, force: bool = False, **options: Any) -> Answer:
        """Server-side apply."""
        params = {"fieldManager": manager, "force": str(force).lower(), **options.pop("params", {})}
        path = self.path(document["metadata"]["name"])
        return await self.call(
            "PATCH", path, document, content="application/apply-patch+yaml", params=params, **options
        )

    async def delete(self, name: str = "w", body: Any = None, **options: Any) -> Answer:
        """DELETE a Widget."""
        return await self.call("DELETE", self.path(name), body, **options)

    @asynccontextmanager
    async def watch(self, **params: str) -> AsyncIterator["Watch"]:
        """A watch of the namespace's Widgets."""
        async with self.session.get(self.path(), params={"watch": "true", **params}) as response:
            yield Watch(response)


class Watch:
    """An open watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self._response = response

    async def next(self, seconds: float = 10.0) -> Document:
        """The next event."""
        async with asyncio.timeout(seconds):
            event: Document = json.loads(await self._response.content.readline())
        return event

    async def names(self, count: int) -> list[tuple[str, str]]:
        """Types and names of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    async def is_over(self, *, passing: str = "nothing") -> bool:
        """Whether the server ends the stream, after events of one type at most."""
        line = await self._response.content.readline()
        while line and json.loads(line)["type"] == passing:
            line = await self._response.content.readline()
        return line == b""


def owners(answer: Answer) -> Mapping[str, Any]:
    """Manager to its tree of fields."""
    return {entry["manager"]: entry["fieldsV1"] for entry in answer.body["metadata"].get("managedFields", ())}
