"""The two webhook configurations, as documents that the chart, the demo and the tests share.

One rule for each endpoint, for every version of our two kinds: a rule that names a version which is not served never
fires, with no error. No selectors, since labels would switch the fence off; `Fail`, since an outage must not admit
unchecked writes. The `caBundle` is added by whoever knows the certificates, never by a chart.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from scaler_core.api import scaler

MUTATE_SCALER: Final = "/mutate-scaler"
VALIDATE_SCALER: Final = "/validate-scaler"
MUTATE_DEPLOYMENT: Final = "/mutate-deployment"
VALIDATE_DEPLOYMENT: Final = "/validate-deployment"
CONFIGURATION: Final = "model-deployment-scaler"
"""Name of both configurations; fixed, so that a second installation in one cluster fails."""
RULES_NAME: Final = "scaler-rules.gpustack.ai"
FENCE_NAME: Final = "scaler-fence.gpustack.ai"
TIMEOUT_SECONDS: Final = 10

Document: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The webhook behind a Service of the cluster."""

    namespace: str
    name: str
    port: int = 443

    def client(self, path: str) -> Document:
        """How the API server reaches a path."""
        return {"service": {"namespace": self.namespace, "name": self.name, "path": path, "port": self.port}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """The webhook at an address outside of the cluster."""

    base: str
    """For example `https://127.0.0.1:9443`."""

    def client(self, path: str) -> Document:
        """How the API server reaches a path."""
        return {"url": f"{self.base.rstrip('/')}{path}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configurations:
    """The two documents to install."""

    mutating: Document
    validating: Document


def build(
    reach: Service | Url, *, ca_bundle: str | None = None, group: str = scaler.GROUP, name: str = CONFIGURATION
) -> Configurations:
    """The documents of both configurations.

    Args:
        reach: where the webhook listens.
        ca_bundle: base64 of the PEM certificates that sign the webhook's; left out when None.
        group: API group of both kinds.
        name: of both configurations.
    """

    def webhook(title: str, path: str, plural: str, *operations: str) -> Document:
        client = reach.client(path) | ({"caBundle": ca_bundle} if ca_bundle is not None else {})
        return {
            "name": title,
            "admissionReviewVersions": ["v1"],
            "clientConfig": client,
            "rules": [
                {
                    "apiGroups": [group],
                    "apiVersions": ["*"],
                    "operations": list(operations),
                    "resources": [plural],
                    "scope": "Namespaced",
                }
            ],
            "matchPolicy": "Equivalent",
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT_SECONDS,
        }

    both = ("CREATE", "UPDATE")
    return Configurations(
        mutating=_configuration(
            "MutatingWebhookConfiguration",
            name,
            webhook(RULES_NAME, MUTATE_SCALER, scaler.PLURAL, *both) | {"reinvocationPolicy": "Never"},
            webhook(FENCE_NAME, MUTATE_DEPLOYMENT, scaler.TARGET_PLURAL, "CREATE") | {"reinvocationPolicy": "Never"},
        ),
        validating=_configuration(
            "ValidatingWebhookConfiguration",
            name,
            webhook(RULES_NAME, VALIDATE_SCALER, scaler.PLURAL, *both),
            webhook(FENCE_NAME, VALIDATE_DEPLOYMENT, scaler.TARGET_PLURAL, *both),
        ),
    )


def _configuration(kind: str, name: str, *webhooks: Document) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }
