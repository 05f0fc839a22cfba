"""CustomResourceDefinitions: which resources one of them serves, and the status that says so."""

from typing import Any

from scaler_sim.apiserver.resources import Column, Counting, Resource

Document = dict[str, Any]


def served_resources(definition: Document) -> tuple[Resource, ...]:
    """The resources that a definition serves, the storage version first.

    Args:
        definition: a valid CustomResourceDefinition of apiextensions.k8s.io/v1.
    """
    versions = [version for version in definition["spec"]["versions"] if version.get("served")]
    versions.sort(key=lambda version: not version.get("storage"))
    return tuple(_resource(definition["spec"], version) for version in versions)


def _resource(spec: Document, version: Document) -> Resource:
    names = spec["names"]
    has_status = "status" in (version.get("subresources") or {})
    return Resource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec["scope"] == "Namespaced",
        has_status=has_status,
        is_custom=True,
        counting=Counting.SPEC if has_status else Counting.CONTENT,
        requires_version=True,
        schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
    )


def _column(column: Document) -> Column:
    return Column(
        name=column["name"],
        type=column["type"],
        path=column["jsonPath"],
        priority=column.get("priority", 0),
        description=column.get("description", ""),
    )


def established(definition: Document, now: str) -> Document:
    """The definition with the status that a real server gives it as soon as it serves it.

    Args:
        definition: as stored.
        now: RFC 3339 time of the conditions.
    """
    names = dict(definition["spec"]["names"])
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", names["kind"] + "List")
    spec = {**definition["spec"], "names": names}
    spec.setdefault("conversion", {"strategy": "None"})
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    before = (definition.get("status") or {}).get("storedVersions") or []
    status = {
        "acceptedNames": names,
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
        ],
        "storedVersions": [*before, *(name for name in stored if name not in before)],
    }
    return {**definition, "spec": spec, "status": status}


def _condition(kind: str, reason: str, message: str, now: str) -> Document:
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
