"""Who owns which field: `metadata.managedFields` after plain writes, and server-side apply with its conflicts.

Source: structured-merge-diff, `merge.Updater.Update` and `.Apply`; Kubernetes documentation of server-side apply.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from scaler_sim.apiserver import fieldsets, typed
from scaler_sim.apiserver.errors import Cause, CauseType, Document, StatusError, apply_conflict
from scaler_sim.apiserver.fieldsets import FieldSet, Path
from scaler_sim.apiserver.resources import Resource
from scaler_sim.apiserver.structural import PRESERVE, Schema

_SYSTEM: Final = (
    *("name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_STRIPPED: Final = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _SYSTEM)}
)


class Manager(NamedTuple):
    """A field manager as `managedFields` tells them apart."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The fields of one manager, and when they last changed."""

    fields: FieldSet
    time: str


Owners = dict[Manager, Ownership]


def read(document: Document) -> Owners:
    """The owners that a document records; entries that cannot be read are left out."""
    owners: Owners = {}
    for entry in document["metadata"].get("managedFields") or ():
        if "manager" in entry and "operation" in entry:
            names = (entry["manager"], entry["operation"], entry.get("apiVersion", ""), entry.get("subresource", ""))
            fields = fieldsets.from_wire(entry.get("fieldsV1") or {})
            owners[Manager(*names)] = Ownership(fields=fields, time=entry.get("time", ""))
    return owners


def write(document: Document, owners: Owners) -> Document:
    """The document with these owners recorded."""
    entries = [_entry(manager, ownership) for manager, ownership in sorted(owners.items(), key=_order)]
    metadata = {name: value for name, value in document["metadata"].items() if name != "managedFields"}
    return {**document, "metadata": {**metadata, **({"managedFields": entries} if entries else {})}}


def _order(item: tuple[Manager, Ownership]) -> tuple[str, str, str]:
    manager, ownership = item
    return manager.operation, ownership.time, manager.name


def _entry(manager: Manager, ownership: Ownership) -> Document:
    entry: Document = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": ownership.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.to_wire(ownership.fields),
    }
    return entry | ({"subresource": manager.subresource} if manager.subresource else {})


def after_update(old: Document | None, new: Document, schema: Schema, manager: Manager, now: str) -> Document:
    """The new document with ownership moved by a create, a replacement or a patch: the writer owns what it changed."""
    is_reset = new["metadata"].get("managedFields") in ([], [{}])
    before = {} if old is None or is_reset else read(old)
    if old is not None and not before:
        return write(new, {})  # ownership is forgotten until somebody applies
    changed = typed.compare(_bare(old) if old else {}, _bare(new), schema)
    taken = (changed.added | changed.modified) - _STRIPPED
    owners = _without(before, taken | changed.removed, keep=manager)
    mine = owners.get(manager, Ownership(fields=frozenset(), time=now))
    fields = (mine.fields | taken) - changed.removed
    owners[manager] = mine if fields == mine.fields else Ownership(fields=fields, time=now)
    return write(new, {holder: held for holder, held in owners.items() if held.fields})


def _without(owners: Owners, lost: FieldSet, keep: Manager) -> Owners:
    return {
        manager: ownership if manager == keep else replace(ownership, fields=ownership.fields - lost)
        for manager, ownership in owners.items()
    }


def _bare(document: Document) -> Document:
    metadata = {name: value for name, value in document["metadata"].items() if name not in _SYSTEM}
    rest = {name: value for name, value in document.items() if name not in ("apiVersion", "kind", "metadata")}
    return {"metadata": metadata, **rest} if metadata else rest


def apply(
    live: Document | None, config: Document, schema: Schema, manager: Manager, *, now: str, force: bool
) -> Document:
    """The result of a server-side apply, its ownership recorded.

    Args:
        live: the object as stored; None creates it.
        config: the applied configuration.
        schema: as `apply_schema` gives it.
        manager: who applies.
        now: RFC 3339 time for changed ownership.
        force: take fields over from other managers instead of answering 409.

    Raises:
        StatusError: 409 with one cause for each field that another manager owns with another value.
    """
    owners = _before_apply(live, schema, manager, now) if live else {}
    last = owners.get(manager)
    base = _bare(live) if live else {}
    mine = typed.field_set(_bare(config), schema) - _STRIPPED
    others = {holder: held for holder, held in owners.items() if holder != manager}
    merged = typed.merge(base, _bare(config), schema)
    merged = _give_up(merged, last, mine, others, schema)
    changed = typed.compare(base, merged, schema)
    touched = changed.added | changed.modified
    if not force:
        _refuse_conflicts(others, touched)
    kept = _without(others, touched | changed.removed, keep=manager)
    time = last.time if last and last.fields == mine else now
    kept[manager] = Ownership(fields=mine, time=time)
    head = live or {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": config["metadata"]}
    system = {name: value for name, value in head["metadata"].items() if name in _SYSTEM}
    whole = {
        "apiVersion": head["apiVersion"],
        "kind": head["kind"],
        **merged,
        "metadata": {**system, **merged.get("metadata", {})},
    }
    return write(whole, {holder: held for holder, held in kept.items() if held.fields})


def _before_apply(live: Document, schema: Schema, manager: Manager, now: str) -> Owners:
    """The recorded owners; where none are recorded, one that stands for everybody before the first apply."""
    fields = typed.field_set(_bare(live), schema) - _STRIPPED
    unknown = Manager("before-first-apply", "Update", manager.api_version)
    return read(live) or {unknown: Ownership(fields=fields, time=now)}


def _give_up(merged: Document, last: Ownership | None, mine: FieldSet, others: Owners, schema: Schema) -> Document:
    """Without the fields that this manager applied last time, leaves out now, and nobody else owns."""
    if last is None or not last.fields:
        return merged
    owned = fieldsets.with_named_parents(mine).union(
        *(fieldsets.with_named_parents(held.fields) for held in others.values())
    )
    removed: Document = typed.remove(merged, fieldsets.with_named_parents(last.fields) - owned, schema)
    return removed


def _refuse_conflicts(others: Owners, touched: FieldSet) -> None:
    conflicts = [(manager, path) for manager, held in others.items() for path in sorted(held.fields & touched)]
    if not conflicts:
        return
    causes = [
        Cause(
            reason=CauseType.MANAGER_CONFLICT,
            field=fieldsets.text(path),
            message=f"conflict with {_shown(manager, others[manager])}",
        )
        for manager, path in conflicts
    ]
    raise apply_conflict(causes, _conflict_message(conflicts, others))


def _shown(manager: Manager, held: Ownership) -> str:
    if manager.operation != "Update":
        return f'"{manager.name}"'
    at = f" at {held.time}" if held.time else ""
    return f'"{manager.name}" using {manager.api_version}{at}'


def _conflict_message(conflicts: list[tuple[Manager, Path]], others: Owners) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        shown = _shown(manager, others[manager])
        return f"Apply failed with 1 conflict: conflict with {shown}: {fieldsets.text(path)}"
    lines = []
    for manager in dict.fromkeys(manager for manager, _ in conflicts):
        lines.append(f"conflicts with {_shown(manager, others[manager])}:")
        lines += [f"- {fieldsets.text(path)}" for holder, path in conflicts if holder == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


_ATOMIC_MAP: Final = {"x-kubernetes-map-type": "atomic", PRESERVE: True}


def _map_list(*keys: str) -> Mapping[str, Any]:
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), "items": {PRESERVE: True}}


_METADATA: Final = {
    "properties": {
        "labels": {"additionalProperties": {}},
        "annotations": {"additionalProperties": {}},
        "finalizers": {"x-kubernetes-list-type": "set"},
        "ownerReferences": _map_list("uid"),
    },
    PRESERVE: True,
}
_POD_SPEC: Final = {
    "properties": {"containers": _map_list("name"), "initContainers": _map_list("name"), "volumes": _map_list("name")},
    PRESERVE: True,
}
_BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "Pod": {"spec": _POD_SPEC, "status": {"properties": {"conditions": _map_list("type")}, PRESERVE: True}},
    "MutatingWebhookConfiguration": {"webhooks": _map_list("name")},
    "ValidatingWebhookConfiguration": {"webhooks": _map_list("name")},
}


def apply_schema(resource: Resource) -> Schema:
    """The schema by which fields of a resource are owned: that of its definition, with the lists of metadata."""
    if not resource.is_custom:
        properties = {**_BUILT_IN.get(resource.kind, {}), "metadata": _METADATA}
        return {"properties": properties, PRESERVE: True}
    properties = {**(resource.schema.get("properties") or {}), "metadata": _METADATA}
    return {**resource.schema, "properties": properties}


def refuse_undeclared(config: Document, schema: Schema) -> None:
    """Server-side apply does not prune.

    Raises:
        StatusError: 500, as a real server has it, for a field that the schema does not declare.
    """
    body = {name: value for name, value in config.items() if name not in ("apiVersion", "kind", "metadata")}
    undeclared = next(_undeclared(body, schema, ""), None)
    if undeclared:
        message = f"failed to create typed patch object: {undeclared}: field not declared in schema"
        raise StatusError(500, "InternalError", message, {})


def _undeclared(value: Any, schema: Schema, path: str) -> Any:
    declared = schema.get("properties") or {}
    is_open = bool(schema.get(PRESERVE)) or "additionalProperties" in schema or not declared
    if isinstance(value, dict):
        for name, part in value.items():
            if name in declared:
                yield from _undeclared(part, declared[name], f"{path}.{name}")
            elif not is_open:
                yield f"{path}.{name}"
    elif isinstance(value, list):
        for part in value:
            yield from _undeclared(part, schema.get("items") or {}, path)
