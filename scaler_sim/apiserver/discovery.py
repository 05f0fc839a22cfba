"""What the server says of itself: versions, groups, resources."""

from typing import Final

from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.errors import Document
from scaler_sim.apiserver.resources import Resource

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
VERSION: Final = {
    "major": "1",
    "minor": "30",
    "gitVersion": "v1.30.0+embedded",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2024-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "embedded/loopback",
}


def core_versions(address: str) -> Document:
    """`/api`."""
    served = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": served}


def groups(catalog: Catalog) -> Document:
    """`/apis`."""
    listed = [_group(name, versions) for name, versions in catalog.groups().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def group(catalog: Catalog, name: str) -> Document | None:
    """`/apis/GROUP`, or None where there is none."""
    versions = catalog.groups().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def _group(name: str, versions: list[str]) -> Document:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def resources(catalog: Catalog, name: str, version: str) -> Document | None:
    """`/api/v1` or `/apis/GROUP/VERSION`, or None where nothing is served."""
    served = [resource for resource in catalog if (resource.group, resource.version) == (name, version)]
    if not served:
        return None
    listed = [entry for resource in served for entry in _entries(resource)]
    group_version = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _entries(resource: Resource) -> list[Document]:
    whole: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(VERBS),
    }
    if resource.short_names:
        whole["shortNames"] = list(resource.short_names)
    if resource.categories:
        whole["categories"] = list(resource.categories)
    if not resource.has_status:
        return [whole]
    status = {
        "name": f"{resource.plural}/status",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": ["get", "patch", "update"],
    }
    return [whole, status]
