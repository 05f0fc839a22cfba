"""Keeping our authorities in the `caBundle` of both webhook configurations, and healing what wipes them."""

import logging
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from typing import Any, Final

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.resources import MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS, Resource
from scaler_kube.transport import Document

LOG: Final = logging.getLogger(__name__)
KINDS: Final = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundles:
    """Both configurations of one name."""

    client: KubeClient
    name: str
    namespace: str
    """Ours: it owns the configurations, so that deleting it by hand does not leave every write blocked."""
    _given_up: set[str] = field(default_factory=set)
    """Kinds that we were not permitted to put under our namespace, not asked for again."""

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
            if operations := _repairs(document, trusted):
                await self._patch(kind, document, operations)
                document = await self.client.get(kind, ObjectKey("", self.name))
            if _repairs(document, trusted):
                return f"{kind.kind} {self.name} does not hold our caBundle; look for another writer"
            await self._adopt(kind, document)
        return None

    async def read(self) -> list[bytes]:
        """Every bundle as it is now; for certificates that somebody else injects.

        Raises:
            KubeError: the API server could not be asked.
        """
        documents = [await self.client.get(kind, ObjectKey("", self.name)) for kind in KINDS]
        return [_bundle(webhook) for document in documents for webhook in document.get("webhooks") or ()]

    async def _patch(self, kind: Resource, document: Document, operations: list[dict[str, Any]]) -> None:
        version = document["metadata"]["resourceVersion"]
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        try:
            await self.client.patch_json(kind, ObjectKey("", self.name), [test, *operations])
        except errors.InvalidError as error:
            if not error.is_failed_test:
                raise

    async def _adopt(self, kind: Resource, document: Document) -> None:
        """Make our namespace the owner where there is none; a nicety, which some clusters (OpenShift) do not permit."""
        if not self.namespace or kind.kind in self._given_up or document["metadata"].get("ownerReferences"):
            return
        try:
            namespace = await self.client.get(NAMESPACES, ObjectKey("", self.namespace))
            uid = namespace["metadata"]["uid"]
            owner = {"apiVersion": "v1", "kind": "Namespace", "name": self.namespace, "uid": uid}
            await self._patch(kind, document, [{"op": "add", "path": "/metadata/ownerReferences", "value": [owner]}])
        except (errors.NotFoundError, errors.ForbiddenError) as error:
            LOG.debug(
                "The namespace does not own the configuration", extra={"configuration": self.name, "error": str(error)}
            )
            self._given_up.add(kind.kind)


def _repairs(document: Document, trusted: bytes) -> list[dict[str, Any]]:
    return [
        {
            "op": "add",
            "path": f"/webhooks/{position}/clientConfig/caBundle",
            "value": b64encode(trusted).decode("ascii"),
        }
        for position, webhook in enumerate(document.get("webhooks") or ())
        if _bundle(webhook) != trusted
    ]


def _bundle(webhook: Document) -> bytes:
    try:
        return b64decode(webhook["clientConfig"].get("caBundle") or "", validate=True)
    except (Base64Error, ValueError):
        return b""
