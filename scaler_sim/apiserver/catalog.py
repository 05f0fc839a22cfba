"""Every resource that the server serves at the moment: built-in ones and those of stored definitions."""

import re
from collections.abc import Iterator
from typing import Final

from scaler_sim.apiserver import definitions
from scaler_sim.apiserver.errors import Document
from scaler_sim.apiserver.resources import BUILT_IN, Resource


class Catalog:
    """Resources by group, version and plural."""

    def __init__(self) -> None:
        self._custom: dict[str, tuple[Resource, ...]] = {}

    def __iter__(self) -> Iterator[Resource]:
        yield from BUILT_IN
        for resources in self._custom.values():
            yield from resources

    def define(self, definition: Document) -> None:
        """Serve what a stored definition says."""
        self._custom[definition["metadata"]["name"]] = definitions.served_resources(definition)

    def forget(self, name: str) -> tuple[Resource, ...]:
        """Stop serving a definition; returns what it served."""
        return self._custom.pop(name, ())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at a path, or None where nothing is served."""
        wanted = (group, version, plural)
        return next((r for r in self if (r.group, r.version, r.plural) == wanted), None)

    def versions(self, resource: Resource) -> tuple[Resource, ...]:
        """All versions of the same stored kind, the storage version first."""
        return tuple(other for other in self if other.bucket == resource.bucket)

    def groups(self) -> dict[str, list[str]]:
        """Named groups with their versions, most preferred first."""
        found: dict[str, list[str]] = {}
        for resource in self:
            if resource.group and resource.version not in found.setdefault(resource.group, []):
                found[resource.group].append(resource.version)
        return {group: sorted(versions, key=_preference) for group, versions in found.items()}


_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def _preference(version: str) -> tuple[int, int, int, str]:
    """Stable versions first, then beta, then alpha; higher numbers first within a stage."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stage = {"alpha": 2, "beta": 1}.get(found[2], 0)
    return (stage, -int(found[1]), -int(found[3] or 0), version)
