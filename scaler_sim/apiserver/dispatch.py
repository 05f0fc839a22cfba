"""A routed request to what it does: the part of the server that knows no HTTP."""

from typing import Any

from scaler_sim.apiserver.calls import Call
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.errors import Document
from scaler_sim.apiserver.reading import Page, Reader, present
from scaler_sim.apiserver.users import Users, service_account
from scaler_sim.apiserver.writing import Writer


class Dispatcher:
    """Serves calls on decoded documents."""

    def __init__(self, *, reader: Reader, writer: Writer, users: Users, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._users = users
        self._clock = clock

    def read(self, call: Call) -> Document:
        """One object, or a list of them.

        Raises:
            StatusError: 404, or a selector or token that cannot be used.
        """
        if call.verb == "get":
            return present(call.resource, self._reader.get(call).document)
        page = self._reader.page(call)
        return self.listing(call, page)

    async def write(self, call: Call, content_type: str, body: Any) -> tuple[int, Document]:
        """Carry out a write.

        Returns:
            The HTTP status and the object as stored, or a `Status`.

        Raises:
            StatusError: it was refused.
        """
        if call.subresource == "token":
            return 201, self._token(call, body)
        if call.verb == "delete":
            return await self._writer.delete(call, body or {})
        if call.verb == "deletecollection":
            return 200, await self._delete_all(call, body or {})
        if call.verb == "patch":
            existed = self._reader.exists(call)
            patched = await self._writer.patch(call, content_type, body)
            return (200 if existed else 201), patched
        if call.verb == "update":
            existed = self._reader.exists(call)
            return (200 if existed else 201), await self._writer.replace(call, body)
        return 201, await self._writer.create(call, body)

    @staticmethod
    def head(call: Call, page: Page) -> Document:
        """A list without its items."""
        kind = f"{call.resource.kind}List"
        return {"kind": kind, "apiVersion": call.resource.api_version, "metadata": list_metadata(page)}

    def listing(self, call: Call, page: Page) -> Document:
        """A list."""
        items = [present(call.resource, stored.document) for stored in page.items]
        return {**self.head(call, page), "items": items}

    async def _delete_all(self, call: Call, options: Document) -> Document:
        page = self._reader.page(call)
        for stored in page.items:
            await self._writer.delete(self._reader.naming(call, stored), options)
        return self.listing(call, page)

    def _token(self, call: Call, body: Any) -> Document:
        token = self._users.add(service_account(call.namespace, call.name))
        spec = (body or {}).get("spec") or {}
        seconds = int(spec.get("expirationSeconds") or 3600)
        status = {"token": token, "expirationTimestamp": self._clock.after(seconds)}
        return {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec, "status": status}


def list_metadata(page: Page) -> Document:
    """`metadata` of a list."""
    metadata: Document = {"resourceVersion": str(page.version)}
    if page.token:
        metadata |= {"continue": page.token, "remainingItemCount": page.remaining}
    return metadata
