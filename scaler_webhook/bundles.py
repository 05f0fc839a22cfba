"""Keeping our authorities in the `caBundle` of both webhook configurations, and healing what wipes them."""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Any, Final

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.resources import MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS, Resource
from scaler_kube.transport import Document

KINDS: Final = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundles:
    """Both configurations of one name."""

    client: KubeClient
    name: str
    namespace: str
    """Ours: it owns the configurations, so that deleting it by hand does not leave every write blocked."""

    async def heal(self, trusted: bytes) -> str | None:
        """Write the bundle where it differs; None when both hold it as read back, else what is in the way.

        Raises:
            KubeError: the API server could not be asked.
        """
        for kind in KINDS:
            try:
                document = await self.client.get(kind, ObjectKey("", self.name))
            except errors.NotFoundError:
                return f"{kind.kind} {self.name} does not exist; install it"
            operations = _repairs(document, trusted, await self._owner(document))
            if operations:
                await self._repair(kind, document, operations)
                document = await self.client.get(kind, ObjectKey("", self.name))
            if _repairs(document, trusted, None):
                return f"{kind.kind} {self.name} does not hold our caBundle; look for another writer"
        return None

    async def read(self) -> list[bytes]:
        """Every bundle as it is now; for certificates that somebody else injects.

        Raises:
            KubeError: the API server could not be asked.
        """
        documents = [await self.client.get(kind, ObjectKey("", self.name)) for kind in KINDS]
        return [_bundle(webhook) for document in documents for webhook in document.get("webhooks") or ()]

    async def _repair(self, kind: Resource, document: Document, operations: list[dict[str, Any]]) -> None:
        version = document["metadata"]["resourceVersion"]
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        try:
            await self.client.patch_json(kind, ObjectKey("", self.name), [test, *operations])
        except errors.InvalidError as error:
            if not error.is_failed_test:
                raise

    async def _owner(self, document: Document) -> dict[str, Any] | None:
        """The reference to add, or None where there is one or the namespace cannot be read."""
        if not self.namespace or document["metadata"].get("ownerReferences"):
            return None
        try:
            namespace = await self.client.get(NAMESPACES, ObjectKey("", self.namespace))
        except errors.KubeError:
            return None
        uid = namespace["metadata"]["uid"]
        return {"apiVersion": "v1", "kind": "Namespace", "name": self.namespace, "uid": uid}


def _repairs(document: Document, trusted: bytes, owner: dict[str, Any] | None) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = [
        {
            "op": "add",
            "path": f"/webhooks/{position}/clientConfig/caBundle",
            "value": b64encode(trusted).decode("ascii"),
        }
        for position, webhook in enumerate(document.get("webhooks") or ())
        if _bundle(webhook) != trusted
    ]
    if owner is not None:
        operations.append({"op": "add", "path": "/metadata/ownerReferences", "value": [owner]})
    return operations


def _bundle(webhook: Document) -> bytes:
    try:
        return b64decode(webhook["clientConfig"].get("caBundle") or "", validate=True)
    except (Base64Error, ValueError):
        return b""
