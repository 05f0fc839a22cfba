"""The API server's verbs on decoded JSON documents.

Every call has connect, read and total timeouts, every write names our field manager, and every failure is one of
`scaler_kube.errors`. Writes may carry an absolute deadline (the leader's), after which nothing is sent.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from scaler_core.api.meta import ObjectKey
from scaler_kube import access, errors, resources
from scaler_kube.resources import Resource, group_path
from scaler_kube.transport import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Call, Document, Timeouts, Transport
from scaler_kube.watch import WatchEvent, read_events

PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = 300.0
_WATCH_GRACE_SECONDS: Final = 15.0


class DryRun(Enum):
    """Whether a write takes effect."""

    NONE = "none"
    ALL = "All"
    """Everything but the storage: admission webhooks are asked."""


class FieldConflicts(Enum):
    """What an apply does to fields that another manager owns."""

    REFUSE = "false"
    FORCE = "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Objects of one page, or of a whole collection."""

    items: tuple[Document, ...]
    resource_version: str
    """Where to watch from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeClient:
    """The one door to the API server; made by `connect`, closed by `close`."""

    transport: Transport
    field_manager: str

    async def __aenter__(self) -> "KubeClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self.transport.close()

    async def get(self, resource: Resource, key: ObjectKey, *, deadline: float | None = None) -> Document:
        """Read one object, never from the server's cache.

        Raises:
            NotFoundError: ask it `is_absent(name)` whether the object is what is missing.
            KubeError: any other failure.
        """
        return await self.transport.exchange(Call(method="GET", path=resource.object_path(*key)), deadline=deadline)

    async def pages(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[Listing]:
        """Read a collection page by page; all pages show one moment.

        Args:
            resource: what to list.
            namespace: all namespaces when None.
            labels: a label selector as kubectl takes it.
            limit: objects of a page, above 0.

        Raises:
            GoneError: the pages took so long that their moment is forgotten; begin again.
            KubeError: any other failure.
        """
        query = {"limit": str(limit)} | _selector(labels)
        token = ""
        while True:
            paged = query | ({"continue": token} if token else {})
            path = resource.collection_path(namespace)
            document = await self.transport.exchange(Call(method="GET", path=path, query=paged))
            metadata = document.get("metadata") or {}
            items = tuple(_with_kind(item, resource) for item in document.get("items") or ())
            yield Listing(items=items, resource_version=str(metadata.get("resourceVersion", "")))
            token = metadata.get("continue") or ""
            if not token:
                return

    async def list_all(
        self, resource: Resource, *, namespace: str | None = None, labels: str | None = None, limit: int = PAGE_SIZE
    ) -> Listing:
        """Read a whole collection; arguments and errors as of `pages`."""
        items: list[Document] = []
        version = ""
        async for page in self.pages(resource, namespace=namespace, labels=labels, limit=limit):
            items += page.items
            version = page.resource_version
        return Listing(items=tuple(items), resource_version=version)

    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        labels: str | None = None,
        timeout_seconds: float = WATCH_SECONDS,
        silence_seconds: float | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Follow a collection from a moment on; ends when the server ends it.

        Use `contextlib.aclosing`, so that the connection is closed when you stop early.

        Args:
            resource: what to watch.
            resource_version: the moment, of a Listing or of the last event.
            namespace: all namespaces when None.
            labels: a label selector as kubectl takes it.
            timeout_seconds: after which the server ends the watch.
            silence_seconds: without a byte, after which the connection counts as dead; bookmarks come about once a
                minute. The whole watch when None.

        Raises:
            GoneError: the moment is forgotten; list again.
            KubeError: any other failure.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(math.ceil(timeout_seconds)),
        } | _selector(labels)
        call = Call(method="GET", path=resource.collection_path(namespace), query=query)
        total = timeout_seconds + _WATCH_GRACE_SECONDS
        async with self.transport.stream(call, total=total, silence=silence_seconds or total) as pieces:
            async for event in read_events(call.request, pieces):
                yield event

    async def create(
        self,
        resource: Resource,
        namespace: str,
        body: Document,
        *,
        dry_run: DryRun = DryRun.NONE,
        deadline: float | None = None,
    ) -> Document:
        """Create an object; an empty namespace for cluster-scoped kinds.

        Raises:
            ConflictError: the name is taken (`is_already_there`).
            KubeError: any other failure.
        """
        call = Call(method="POST", path=resource.collection_path(namespace), query=self._write(dry_run), body=body)
        return await self.transport.exchange(call, deadline=deadline)

    async def replace(
        self,
        resource: Resource,
        key: ObjectKey,
        body: Document,
        *,
        subresource: str | None = None,
        dry_run: DryRun = DryRun.NONE,
        deadline: float | None = None,
    ) -> Document:
        """Write a whole object; its resourceVersion is the precondition.

        Raises:
            ConflictError: it has changed since.
            KubeError: any other failure.
        """
        path = resource.object_path(*key, subresource)
        call = Call(method="PUT", path=path, query=self._write(dry_run), body=body)
        return await self.transport.exchange(call, deadline=deadline)

    async def replace_status(
        self, resource: Resource, key: ObjectKey, body: Document, *, deadline: float | None = None
    ) -> Document:
        """Write the status of a whole object; arguments and errors as of `replace`."""
        return await self.replace(resource, key, body, subresource="status", deadline=deadline)

    async def patch_json(
        self,
        resource: Resource,
        key: ObjectKey,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str | None = None,
        dry_run: DryRun = DryRun.NONE,
        deadline: float | None = None,
    ) -> Document:
        """Change an object by RFC 6902 operations, all or none.

        Raises:
            InvalidError: refused, or a `test` failed (`is_failed_test`).
            KubeError: any other failure.
        """
        body = [dict(operation) for operation in operations]
        return await self._patch(
            resource, key, JSON_PATCH, body, query=self._write(dry_run), subresource=subresource, deadline=deadline
        )

    async def patch_merge(
        self,
        resource: Resource,
        key: ObjectKey,
        body: Document,
        *,
        subresource: str | None = None,
        dry_run: DryRun = DryRun.NONE,
        deadline: float | None = None,
    ) -> Document:
        """Change an object by RFC 7386: lists are replaced whole, null removes.

        Raises:
            KubeError: it was not done.
        """
        return await self._patch(
            resource, key, MERGE_PATCH, body, query=self._write(dry_run), subresource=subresource, deadline=deadline
        )

    async def apply(
        self,
        resource: Resource,
        key: ObjectKey,
        body: Document,
        *,
        field_manager: str | None = None,
        conflicts: FieldConflicts = FieldConflicts.REFUSE,
        subresource: str | None = None,
        dry_run: DryRun = DryRun.NONE,
        deadline: float | None = None,
    ) -> Document:
        """Own exactly the fields of the body, by server-side apply; creates what is not there.

        Args:
            resource: the kind.
            key: the object.
            body: fields to own, with apiVersion, kind and name.
            field_manager: the client's own when None.
            conflicts: what to do about fields that another manager owns.
            subresource: `status`, for example.
            dry_run: whether it takes effect.
            deadline: of the event loop's clock.

        Raises:
            ConflictError: another manager owns a field, and conflicts are refused.
            KubeError: any other failure.
        """
        query = self._write(dry_run) | {"force": conflicts.value}
        if field_manager is not None:
            query["fieldManager"] = field_manager
        return await self._patch(
            resource, key, APPLY_PATCH, body, query=query, subresource=subresource, deadline=deadline
        )

    async def delete(
        self, resource: Resource, key: ObjectKey, *, uid: str | None = None, deadline: float | None = None
    ) -> None:
        """Delete an object, with a uid only that very one.

        Raises:
            NotFoundError: it is not there.
            ConflictError: another uid.
            KubeError: any other failure.
        """
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}} if uid else None
        await self.transport.exchange(
            Call(method="DELETE", path=resource.object_path(*key), body=body), deadline=deadline
        )

    async def read_through(self, pod: ObjectKey, port: str, path: str, query: Mapping[str, str]) -> Document:
        """Ask a Pod over HTTP, through the API server; needs the right to `get` its `pods/proxy`.

        Args:
            pod: whom to ask.
            port: its number.
            path: on the Pod, such as `/healthz`.
            query: parameters.

        Raises:
            KubeError: it was not allowed, the Pod was not reached, or answered with something else than 2xx.
        """
        base = resources.PODS.object_path(pod.namespace, f"{pod.name}:{port}", "proxy")
        return await self.transport.exchange(Call(method="GET", path=f"{base}{path}", query=query))

    async def discover(self, group: str, version: str) -> Mapping[str, str]:
        """Kinds that the server serves in a group and version, by plural; empty when it serves none.

        Raises:
            KubeError: it could not be asked.
        """
        try:
            document = await self.transport.exchange(Call(method="GET", path=group_path(group, version)))
        except errors.NotFoundError:
            return {}
        served = document.get("resources") or ()
        return {str(entry["name"]): str(entry["kind"]) for entry in served if "/" not in entry["name"]}

    async def serves(self, resource: Resource) -> bool:
        """Whether the server serves this kind in this version.

        Raises:
            KubeError: it could not be asked.
        """
        return resource.plural in await self.discover(resource.group, resource.version)

    async def _patch(
        self,
        resource: Resource,
        key: ObjectKey,
        content_type: str,
        body: Any,
        *,
        query: Mapping[str, str],
        subresource: str | None,
        deadline: float | None,
    ) -> Document:
        path = resource.object_path(*key, subresource)
        call = Call(method="PATCH", path=path, query=query, content_type=content_type, body=body)
        return await self.transport.exchange(call, deadline=deadline)

    def _write(self, dry_run: DryRun) -> dict[str, str]:
        # The server gives up at its own deadline too, so that a write that we no longer await cannot come much later.
        query = {"fieldManager": self.field_manager, "timeout": f"{math.ceil(self.transport.timeouts.total)}s"}
        return query | ({"dryRun": dry_run.value} if dry_run is not DryRun.NONE else {})


async def connect(
    way: access.Access, *, field_manager: str, user_agent: str, timeouts: Timeouts | None = None
) -> KubeClient:
    """Make a client; nothing is sent yet.

    Args:
        way: in-cluster, kubeconfig, or an address with its token.
        field_manager: who owns what we write, a speaking name.
        user_agent: for the server's audit log.
        timeouts: of every call but watches.

    Raises:
        AccessError: credentials are missing or cannot be read.
    """
    api = await access.open_transport(way, user_agent)
    transport = Transport(api=api, timeouts=timeouts or Timeouts())
    return KubeClient(transport=transport, field_manager=field_manager)


def _selector(labels: str | None) -> dict[str, str]:
    return {"labelSelector": labels} if labels else {}


def _with_kind(item: Document, resource: Resource) -> Document:
    # Items of a list come without these two, while events of a watch have them.
    return {"apiVersion": resource.api_version, "kind": resource.kind} | item
