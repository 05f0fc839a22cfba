"""What the server does to an object before it is stored: names, system metadata, status isolation, generation."""

import re
import secrets
import uuid
from dataclasses import dataclass
from typing import Any, Final

from scaler_sim.apiserver import builtins, structural, validation
from scaler_sim.apiserver.calls import Call
from scaler_sim.apiserver.errors import Cause, CauseType, Document, bad_request, conflict, invalid
from scaler_sim.apiserver.resources import Counting, Resource

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUFFIX: Final = "bcdfghjklmnpqrstvwxz2456789"
_SET_BY_SERVER: Final = (
    *("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"),
)


def check_header(call: Call, document: Any) -> Document:
    """The document, its kind, namespace and name agreeing with the request.

    Raises:
        StatusError: 400 when they do not.
    """
    resource = call.resource
    if not isinstance(document, dict):
        raise bad_request("the body is not an object")
    if document.get("kind", resource.kind) != resource.kind:
        shown = f"{document.get('kind')} in version {document.get('apiVersion')}"
        raise bad_request(f"{shown} cannot be handled as a {resource.kind}")
    if document.get("apiVersion", resource.api_version) != resource.api_version:
        raise bad_request(
            f"the API version in the data ({document['apiVersion']}) does not match the expected API version "
            f"({resource.api_version})"
        )
    metadata = dict(document.get("metadata") or {})
    if resource.namespaced and metadata.setdefault("namespace", call.namespace) != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if call.name and metadata.setdefault("name", call.name) != call.name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({call.name})"
        )
    return {**document, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def shaped(resource: Resource, document: Document) -> Document:
    """The document as decoding leaves it: pruned and defaulted by its schema, or defaulted as a built-in kind."""
    if not resource.is_custom:
        return builtins.default(resource, document)
    filled: Document = structural.default(structural.prune(document, resource.schema), resource.schema)
    return filled


def begin(call: Call, document: Document, now: str) -> Document:
    """A new object with the metadata that the server sets, without a status of its own."""
    metadata = {name: value for name, value in document["metadata"].items() if name not in _SET_BY_SERVER}
    metadata.pop("resourceVersion", None)
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now}
    if call.resource.counting is not Counting.NEVER:
        metadata["generation"] = 1
    if call.resource.has_status:
        document = {name: value for name, value in document.items() if name != "status"}
    return shaped(call.resource, {**document, "metadata": metadata})


def named(document: Document) -> Document:
    """The document with a name made from `generateName` where it has none."""
    metadata = document["metadata"]
    if metadata.get("name") or not metadata.get("generateName"):
        return document
    suffix = "".join(secrets.choice(_SUFFIX) for _ in range(5))
    return {**document, "metadata": {**metadata, "name": metadata["generateName"] + suffix}}


@dataclass(frozen=True, slots=True)
class Update:
    """A write to an existing object: the stored document, and the one that shall replace it."""

    old: Document
    new: Document


def carry_over(call: Call, update: Update) -> Document:
    """The new document with what this write may not change taken from the old one.

    Raises:
        StatusError: 409 for another version, 422 for a missing version where one is required.
    """
    resource, old, new = call.resource, update.old, update.new
    name = old["metadata"]["name"]
    asked = new["metadata"].get("resourceVersion", "")
    if not asked and resource.requires_version:
        message = "Invalid value: 0x0: must be specified for an update"
        raise invalid(resource, name, [_metadata_cause("resourceVersion", message)])
    if asked and asked != old["metadata"]["resourceVersion"]:
        raise conflict(resource, name)
    if call.subresource == "status":
        return _status_of(old, new)
    metadata = dict(new["metadata"]) | {"resourceVersion": old["metadata"]["resourceVersion"]}
    _refuse_other_uid(call, old, metadata)
    for field in _SET_BY_SERVER:
        metadata.pop(field, None)
        if field in old["metadata"]:
            metadata[field] = old["metadata"][field]
    _refuse_new_finalizers(resource, old, metadata)
    carried = {**new, "metadata": metadata}
    if resource.has_status:
        carried.pop("status", None)
        carried |= {"status": old["status"]} if "status" in old else {}
    return _counted(resource, old, carried)


def _status_of(old: Document, new: Document) -> Document:
    metadata = dict(old["metadata"])
    if "managedFields" in new["metadata"]:
        metadata["managedFields"] = new["metadata"]["managedFields"]
    isolated = {name: value for name, value in old.items() if name != "status"} | {"metadata": metadata}
    return isolated | ({"status": new["status"]} if "status" in new else {})


def _counted(resource: Resource, old: Document, new: Document) -> Document:
    generation = old["metadata"].get("generation")
    if resource.counting is Counting.NEVER or generation is None:
        return new
    left_out = ("metadata", "status") if resource.counting is Counting.SPEC else ("metadata",)
    before, after = ({key: doc[key] for key in doc if key not in left_out} for doc in (old, new))
    return {**new, "metadata": {**new["metadata"], "generation": generation + (before != after)}}


def _refuse_other_uid(call: Call, old: Document, metadata: Document) -> None:
    uid, name = metadata.get("uid"), old["metadata"]["name"]
    if not uid or uid == old["metadata"]["uid"]:
        return
    if call.verb == "patch":
        raise invalid(call.resource, name, [_metadata_cause("uid", f'Invalid value: "{uid}": field is immutable')])
    why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
    raise conflict(call.resource, name, why)


def _refuse_new_finalizers(resource: Resource, old: Document, metadata: Document) -> None:
    if "deletionTimestamp" not in old["metadata"]:
        return
    added = [item for item in metadata.get("finalizers") or () if item not in (old["metadata"].get("finalizers") or ())]
    if added:
        message = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{', '.join(map(repr, added))}}}"
        )
        cause = Cause(reason=CauseType.FORBIDDEN, field="metadata.finalizers", message=message)
        raise invalid(resource, old["metadata"]["name"], [cause])


def check_content(resource: Resource, document: Document) -> None:
    """Raise what the schema and the rules of metadata refuse.

    Raises:
        StatusError: 422 with the causes.
    """
    causes = [*_name_causes(document["metadata"])]
    if resource.is_custom:
        causes += validation.violations(document, resource.schema)
    else:
        causes += builtins.violations(resource, document)
    if causes:
        raise invalid(resource, document["metadata"].get("name", ""), causes)


def _name_causes(metadata: Document) -> list[Cause]:
    name = metadata.get("name", "")
    if not name:
        cause = Cause(
            reason=CauseType.REQUIRED, field="metadata.name", message="Required value: name or generateName is required"
        )
        return [cause]
    if len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        message = f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
        message += "characters, '-' or '.', and must start and end with an alphanumeric character"
        return [_metadata_cause("name", message)]
    return []


def _metadata_cause(field: str, message: str) -> Cause:
    return Cause(reason=CauseType.INVALID, field=f"metadata.{field}", message=message)


def is_same(old: Document, new: Document) -> bool:
    """Whether a write would change nothing but the times of its own bookkeeping; such a write is not stored."""
    return _timeless(old) == _timeless(new)


def _timeless(document: Document) -> Document:
    metadata = dict(document["metadata"])
    metadata.pop("resourceVersion", None)
    managed = [{**entry, "time": ""} for entry in metadata.pop("managedFields", None) or ()]
    present = {name: value for name, value in metadata.items() if value not in ({}, [], None)}
    return {**document, "metadata": {**present, "managedFields": managed}}
