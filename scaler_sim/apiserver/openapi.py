"""OpenAPI documents: enough for `kubectl explain` of custom resources and for kubectl's own checks before an apply."""

from typing import Final

from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.errors import Document
from scaler_sim.apiserver.resources import Resource

_INFO: Final = {"title": "Kubernetes", "version": "v1.30.0"}
_PATCH_PARAMETERS: Final = [
    {"name": name, "in": "query", "schema": {"type": "string"}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def document(catalog: Catalog, parts: list[str]) -> Document | None:
    """`/openapi/v2`, `/openapi/v3` or `/openapi/v3/PATH`, or None where nothing is served."""
    if parts == ["v2"]:
        return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {}}
    if parts == ["v3"]:
        paths = {_root(resource): {"serverRelativeURL": f"/openapi/v3/{_root(resource)}"} for resource in catalog}
        return {"paths": paths}
    served = [resource for resource in catalog if parts[1:] and _root(resource) == "/".join(parts[1:])]
    return _group_version(served) if served else None


def _root(resource: Resource) -> str:
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"


def _group_version(served: list[Resource]) -> Document:
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": {path: item for resource in served for path, item in _paths(resource).items()},
        "components": {"schemas": {_name(resource): _schema(resource) for resource in served}},
    }


def _name(resource: Resource) -> str:
    reversed_group = ".".join(reversed(resource.group.split("."))) or "io.k8s.api.core"
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def _kind(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(resource: Resource) -> Document:
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    patch = {"parameters": _PATCH_PARAMETERS, "x-kubernetes-group-version-kind": _kind(resource)}
    reference = {"$ref": f"#/components/schemas/{_name(resource)}"}
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}}
    item = {
        "get": {"responses": answer, "x-kubernetes-group-version-kind": _kind(resource), "x-kubernetes-action": "get"},
        "patch": {**patch, "responses": answer, "x-kubernetes-action": "patch"},
    }
    return {f"/{_root(resource)}/{scope}{resource.plural}/{{name}}": item}


def _schema(resource: Resource) -> Document:
    header = {
        "apiVersion": {"type": "string", "description": "The versioned schema of this representation of an object."},
        "kind": {"type": "string", "description": "The REST resource that this object represents."},
        "metadata": {"type": "object", "description": "Standard object's metadata."},
    }
    properties = {**header, **(resource.schema.get("properties") or {})}
    base = {"type": "object", **resource.schema, "properties": properties}
    return {**base, "x-kubernetes-group-version-kind": [_kind(resource)]}
