"""What follows from a write.

Finalizers hold an object, namespaces take their content along, definitions begin or end to be served.
"""

from typing import Final

from scaler_sim.apiserver import definitions
from scaler_sim.apiserver.calls import Call
from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.errors import Document, conflict, forbidden, not_found
from scaler_sim.apiserver.resources import BUILT_IN, Resource
from scaler_sim.apiserver.storage import Key, Store, Stored

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
NAMESPACES: Final = "namespaces"
_NAMESPACE_RESOURCE: Final = next(resource for resource in BUILT_IN if resource.plural == NAMESPACES)
_PROTECTED: Final = ("default", "kube-system", "kube-public")


class Lifecycle:
    """Stores what admission let pass, and carries out the consequences."""

    def __init__(self, store: Store, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    def storage_version(self, resource: Resource) -> str:
        """The `apiVersion` in which objects of this kind are kept."""
        return self._catalog.versions(resource)[0].api_version

    def check_namespace(self, call: Call) -> None:
        """Nothing is created in a namespace that is absent or ends.

        Raises:
            StatusError: 404 or 403.
        """
        if not call.resource.namespaced:
            return
        namespace = self._store.get(Key(NAMESPACES, "", call.namespace))
        if namespace is None:
            raise not_found(_NAMESPACE_RESOURCE, call.namespace)
        if "deletionTimestamp" in namespace.document["metadata"]:
            why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
            raise forbidden(call.resource, call.name, why)

    def insert(self, call: Call, document: Document) -> Document:
        """Store a new object; returns it in the request's version."""
        if call.key.bucket == DEFINITIONS:
            document = definitions.established(document, self._clock.now())
            self._catalog.define(document)
        return self._in_version(call, self._store.put(call.key, document))

    def update(self, call: Call, document: Document) -> Document:
        """Store a changed object, or remove it when its last finalizer went; returns it in the request's version."""
        if call.key.bucket == DEFINITIONS and call.subresource == "":
            document = definitions.established(document, self._clock.now())
            self._catalog.define(document)
        metadata = document["metadata"]
        is_ending = "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")
        if is_ending and not _is_held(document):
            return self._in_version(call, self._remove(call.key, document))
        return self._in_version(call, self._store.put(call.key, document))

    @staticmethod
    def check_preconditions(call: Call, document: Document, options: Document) -> None:
        """The `preconditions` of DeleteOptions.

        Raises:
            StatusError: 409.
        """
        preconditions = options.get("preconditions") or {}
        metadata = document["metadata"]
        for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            asked = preconditions.get(field)
            if asked and asked != metadata[field]:
                shown = (
                    f"Precondition failed: {label} in precondition: {asked}, {label} in object meta: {metadata[field]}"
                )
                raise conflict(call.resource, call.name, shown)

    def delete(self, call: Call, stored: Stored, options: Document) -> tuple[int, Document]:
        """Remove an object, or mark it where finalizers, a grace period or content of a namespace hold it."""
        if call.key.bucket == NAMESPACES and call.name in _PROTECTED:
            raise forbidden(call.resource, call.name, "this namespace may not be deleted")
        grace = _grace_period(call, stored.document, options)
        if call.is_dry_run:
            return 200, self._success(call, stored)
        if not grace and not _is_held(stored.document) and call.key.bucket != NAMESPACES:
            removed = self._remove(call.key, stored.document)
            is_pod = call.resource.kind == "Pod"
            return 200, self._in_version(call, removed) if is_pod else self._success(call, stored)
        marked = self._mark(call, stored, grace)
        if call.key.bucket == NAMESPACES:
            self._empty(call.name)
        return 200, self._in_version(call, marked)

    def _mark(self, call: Call, stored: Stored, grace: int) -> Stored:
        metadata = dict(stored.document["metadata"])
        if "deletionTimestamp" in metadata and metadata.get("deletionGracePeriodSeconds", 0) <= grace:
            return stored
        metadata |= {"deletionTimestamp": self._clock.after(grace), "deletionGracePeriodSeconds": grace}
        if "generation" in metadata:
            metadata["generation"] += 1
        document = {**stored.document, "metadata": metadata}
        if call.key.bucket == NAMESPACES:
            document["status"] = {**document.get("status", {}), "phase": "Terminating"}
        return self._store.put(call.key, document)

    def _empty(self, namespace: str) -> None:
        """Delete everything in a namespace, and the namespace itself when nothing is held."""
        for key in self._store.keys(namespace):
            stored = self._store.get(key)
            if stored is None:
                continue
            resource = next(resource for resource in self._catalog if resource.bucket == key.bucket)
            call = Call(verb="delete", resource=resource, namespace=namespace, name=key.name)
            self.delete(call, stored, {"gracePeriodSeconds": 0})
        self._end_namespace(namespace)

    def _end_namespace(self, namespace: str) -> None:
        key = Key(NAMESPACES, "", namespace)
        stored = self._store.get(key)
        if stored is None or "deletionTimestamp" not in stored.document["metadata"]:
            return
        if not self._store.keys(namespace) and not stored.document["metadata"].get("finalizers"):
            self._store.delete(key)

    def _remove(self, key: Key, document: Document) -> Stored:
        removed = self._store.delete(key, document)
        if key.bucket == DEFINITIONS:
            for resource in self._catalog.forget(key.name):
                for stored in self._store.objects(resource.bucket):
                    metadata = stored.document["metadata"]
                    self._store.delete(Key(resource.bucket, metadata.get("namespace", ""), metadata["name"]))
        if key.namespace:
            self._end_namespace(key.namespace)
        return removed

    @staticmethod
    def _in_version(call: Call, stored: Stored) -> Document:
        return {**stored.document, "apiVersion": call.resource.api_version}

    @staticmethod
    def _success(call: Call, stored: Stored) -> Document:
        uid = stored.document["metadata"]["uid"]
        details = {"name": call.name, "group": call.resource.group, "kind": call.resource.plural, "uid": uid}
        shown = {key: value for key, value in details.items() if value}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": shown}


def _is_held(document: Document) -> bool:
    return bool(document["metadata"].get("finalizers"))


def _grace_period(call: Call, document: Document, options: Document) -> int:
    """Seconds that a Pod on a node gets; everything else ends at once."""
    if call.resource.kind != "Pod":
        return 0
    spec, status = document.get("spec") or {}, document.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    asked = call.query.get("gracePeriodSeconds", options.get("gracePeriodSeconds"))
    return int(spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked)
