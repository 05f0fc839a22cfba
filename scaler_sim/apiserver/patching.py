"""JSON patch, JSON merge patch and the part of strategic merge patch that built-in kinds need."""

import copy
from enum import StrEnum
from typing import Any, Final

import jsonpatch
from jsonpointer import JsonPointer, JsonPointerException

from scaler_sim.apiserver.errors import StatusError, bad_request, unprocessable

MAX_OPERATIONS: Final = 10_000
"""A real server refuses longer JSON patches."""


class PatchType(StrEnum):
    """The content types of PATCH."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


def json_patch(document: Any, operations: Any) -> Any:
    """The document after RFC 6902 operations; the given one stays as it is.

    Raises:
        StatusError: 400 for an unreadable patch, 413 for a long one, 422 for one that cannot be applied, a failed
            `test` included.
    """
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal the patch into a list of operations")
    if len(operations) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", message)
    patched = copy.deepcopy(document)
    try:
        for operation in operations:
            if not _finds_nothing(patched, operation):
                patched = jsonpatch.JsonPatch([operation]).apply(patched, in_place=True)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, IndexError, AttributeError):
        raise unprocessable() from None
    return patched


def _finds_nothing(document: Any, operation: Any) -> bool:
    """Whether an operation tests that a member of an object is absent, which `null` says to a real server."""
    if operation.get("op") != "test" or operation.get("value", 0) is not None:
        return False
    parent, key = JsonPointer(operation["path"]).to_last(document)
    return isinstance(parent, dict) and key not in parent


def merge_patch(value: Any, patch: Any) -> Any:
    """The value after an RFC 7386 merge patch."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), member)
    return merged


MERGE_KEYS: Final = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "containerStatuses": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "volumes": "name",
    "webhooks": "name",
}
"""List members of built-in kinds that merge by a key."""


def strategic_patch(value: Any, patch: Any, field: str = "") -> Any:
    """The value after a strategic merge patch of a built-in kind: known lists merge by their key."""
    if isinstance(patch, list) and field in MERGE_KEYS:
        return _merge_list(value or [], patch, MERGE_KEYS[field])
    if isinstance(patch, list) and field == "finalizers":
        return [*(value or []), *(item for item in patch if item not in (value or []))]
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, member in patch.items():
        if name.startswith("$"):
            _directive(merged, name, member)
        elif member is None:
            merged.pop(name, None)
        else:
            merged[name] = strategic_patch(merged.get(name), member, name)
    return merged


def _directive(merged: dict[str, Any], name: str, member: Any) -> None:
    prefix = "$deleteFromPrimitiveList/"
    if name.startswith(prefix):
        field = name.removeprefix(prefix)
        merged[field] = [item for item in merged.get(field) or [] if item not in member]


def _merge_list(items: list[Any], patches: list[Any], key: str) -> list[Any]:
    merged = copy.copy(items)
    for patch in patches:
        index = next((i for i, item in enumerate(merged) if item.get(key) == patch.get(key)), None)
        if patch.get("$patch") == "delete":
            merged = [item for item in merged if item.get(key) != patch.get(key)]
        elif index is None:
            merged.append(strategic_patch({}, patch))
        else:
            merged[index] = strategic_patch(merged[index], patch)
    return merged
