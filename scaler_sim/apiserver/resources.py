"""What the server knows of a resource: its names, its scope and the habits of its writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Counting(StrEnum):
    """What raises `metadata.generation`."""

    NEVER = "never"
    """The kind has no generation."""
    SPEC = "spec"
    """Everything but metadata and status."""
    CONTENT = "content"
    """Everything but metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One printer column of a custom resource."""

    name: str
    type: str
    path: str
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource at one version; versions of a kind share `store`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    is_custom: bool = False
    counting: Counting = Counting.NEVER
    requires_version: bool = False
    """A replacement must carry `metadata.resourceVersion`."""
    creates_on_update: bool = False
    """A replacement of an absent object creates it."""
    selectable: frozenset[str] = frozenset()
    """Field selectors beyond `metadata.name` and `metadata.namespace`."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The structural schema; empty for built-in kinds."""
    columns: tuple[Column, ...] = ()
    store: str = ""
    """Where objects are kept; group and plural unless another resource shares them."""

    @property
    def api_version(self) -> str:
        """As in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """As in error messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def bucket(self) -> str:
        """Key of the storage."""
        return self.store or self.group_resource


def _built_in(group: str, version: str, kind: str, plural: str, **rest: Any) -> Resource:
    return Resource(group=group, version=version, kind=kind, plural=plural, singular=kind.lower(), **rest)


_EVENT_FIELDS = frozenset(
    {
        *(f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")),
        *("involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"),
    }
)
_POD_FIELDS = frozenset(
    {"spec.nodeName", "spec.restartPolicy", "status.phase", "status.podIP", "spec.serviceAccountName"}
)
_ADMISSION = "admissionregistration.k8s.io"

BUILT_IN: tuple[Resource, ...] = (
    _built_in("", "v1", "Namespace", "namespaces", namespaced=False, short_names=("ns",), has_status=True),
    _built_in(
        *("", "v1", "Pod", "pods"),
        namespaced=True,
        short_names=("po",),
        categories=("all",),
        has_status=True,
        selectable=_POD_FIELDS,
    ),
    _built_in("", "v1", "Secret", "secrets", namespaced=True, selectable=frozenset({"type"})),
    _built_in("", "v1", "ConfigMap", "configmaps", namespaced=True, short_names=("cm",)),
    _built_in("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True, short_names=("sa",)),
    _built_in(
        *("", "v1", "Event", "events"),
        namespaced=True,
        short_names=("ev",),
        creates_on_update=True,
        selectable=_EVENT_FIELDS,
    ),
    _built_in(
        *("events.k8s.io", "v1", "Event", "events"),
        namespaced=True,
        short_names=("ev",),
        creates_on_update=True,
        selectable=_EVENT_FIELDS,
        store="events",
    ),
    _built_in(
        *("coordination.k8s.io", "v1", "Lease", "leases"),
        namespaced=True,
        requires_version=True,
        creates_on_update=True,
    ),
    _built_in(
        *(_ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        namespaced=False,
        counting=Counting.CONTENT,
    ),
    _built_in(
        *(_ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        namespaced=False,
        counting=Counting.CONTENT,
    ),
    _built_in(
        *("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"),
        namespaced=False,
        short_names=("crd", "crds"),
        has_status=True,
        counting=Counting.SPEC,
        requires_version=True,
    ),
)
"""Built-in kinds, in the order in which discovery lists them."""
