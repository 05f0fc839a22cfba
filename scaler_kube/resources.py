"""The kinds of objects that the processes touch, and where the API server keeps them."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

DEFAULT_VERSION: Final = "v1"
SCALER_GROUP: Final = "worker.gpustack.ai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One kind of object in one version, as the API server serves it."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group: what `apiVersion` says in a document."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path that lists the kinds of this group and version."""
        return group_path(self.group, self.version)

    def collection_path(self, namespace: str | None = None) -> str:
        """Path of all objects, or of those in one namespace."""
        if not namespace:
            return f"{self.root}/{self.plural}"
        return f"{self.root}/namespaces/{_segment(namespace, 'namespace')}/{self.plural}"

    def object_path(self, namespace: str, name: str, subresource: str | None = None) -> str:
        """Path of one object or of its subresource; cluster-scoped objects have an empty namespace.

        Raises:
            ValueError: a name that would reach another object's address.
        """
        path = f"{self.collection_path(namespace)}/{_segment(name, 'name')}"
        return f"{path}/{_segment(subresource, 'subresource')}" if subresource else path

    def __str__(self) -> str:
        return f"{self.plural}.{self.version}.{self.group}" if self.group else self.plural


def group_path(group: str, version: str) -> str:
    """The path that lists the kinds of a group and version."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _segment(text: str, what: str) -> str:
    # HTTP clients resolve dots and some servers decode slashes, so such a name would read or write something else.
    if not text or text in {".", ".."} or any(mark in text for mark in "/%?#\\"):
        raise ValueError(f"{what} {text!r} cannot stand in an address; use a name that Kubernetes accepts")
    return quote(text, safe="")


def scalers(version: str = DEFAULT_VERSION, group: str = SCALER_GROUP) -> Resource:
    """Scalers, in the version found by discovery."""
    return Resource(group=group, version=version, plural="modeldeploymentscalers", kind="ModelDeploymentScaler")


def deployments(version: str = DEFAULT_VERSION, group: str = SCALER_GROUP) -> Resource:
    """Targets, in the version found by discovery."""
    return Resource(group=group, version=version, plural="modeldeployments", kind="ModelDeployment")


def workloads(version: str) -> Resource:
    """Kueue's Workloads."""
    return Resource(group="kueue.x-k8s.io", version=version, plural="workloads", kind="Workload")


PODS: Final = Resource(group="", version="v1", plural="pods", kind="Pod")
NAMESPACES: Final = Resource(group="", version="v1", plural="namespaces", kind="Namespace")
SECRETS: Final = Resource(group="", version="v1", plural="secrets", kind="Secret")
LEASES: Final = Resource(group="coordination.k8s.io", version="v1", plural="leases", kind="Lease")
EVENTS: Final = Resource(group="events.k8s.io", version="v1", plural="events", kind="Event")
MUTATING_WEBHOOKS: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="mutatingwebhookconfigurations",
    kind="MutatingWebhookConfiguration",
)
VALIDATING_WEBHOOKS: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    kind="ValidatingWebhookConfiguration",
)
WORKLOAD_VERSIONS: Final = ("v1beta2", "v1beta1")
"""Versions of Workloads that we can read, the preferred one first."""
