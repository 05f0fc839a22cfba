"""Defaults and rules of the built-in kinds that clients of this project meet."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from scaler_sim.apiserver.errors import Cause, CauseType, Document
from scaler_sim.apiserver.resources import Resource

_MICRO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_MIN_LABELS: Final = 3
_MAX_TIMEOUT: Final = 30


def default(resource: Resource, document: Document) -> Document:
    """The document with the defaults of its kind."""
    filler = _DEFAULTS.get(resource.kind)
    return filler(document) if filler else document


def _webhooks(document: Document) -> Document:
    webhooks = [_webhook(webhook, document["kind"]) for webhook in document.get("webhooks") or ()]
    return {**document, "webhooks": webhooks} if webhooks else document


def _webhook(webhook: Document, kind: str) -> Document:
    defaults: Document = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}
    defaults |= {"namespaceSelector": {}, "objectSelector": {}}
    if kind.startswith("Mutating"):
        defaults["reinvocationPolicy"] = "Never"
    rules = [{"scope": "*", **rule} for rule in webhook.get("rules") or ()]
    return {**defaults, **webhook, **({"rules": rules} if rules else {})}


def _pod(document: Document) -> Document:
    spec = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        **(document.get("spec") or {}),
    }
    status = {"phase": "Pending", "qosClass": "BestEffort", **(document.get("status") or {})}
    return {**document, "spec": spec, "status": status}


def _namespace(document: Document) -> Document:
    spec = {"finalizers": ["kubernetes"], **(document.get("spec") or {})}
    return {**document, "spec": spec, "status": {"phase": "Active", **(document.get("status") or {})}}


def _secret(document: Document) -> Document:
    return {"type": "Opaque", **document}


_DEFAULTS: Final[Mapping[str, Callable[[Document], Document]]] = {
    "MutatingWebhookConfiguration": _webhooks,
    "ValidatingWebhookConfiguration": _webhooks,
    "Pod": _pod,
    "Namespace": _namespace,
    "Secret": _secret,
}


def violations(resource: Resource, document: Document) -> list[Cause]:
    """What a built-in object breaks."""
    rules = _RULES.get(resource.kind)
    return rules(document) if rules else []


def _required(field: str, what: str = "") -> Cause:
    return Cause(reason=CauseType.REQUIRED, field=field, message=f"Required value{what}")


def _invalid(field: str, value: Any, why: str) -> Cause:
    return Cause(reason=CauseType.INVALID, field=field, message=f"Invalid value: {value!r}: {why}")


def _webhook_rules(document: Document) -> list[Cause]:
    causes = []
    for index, webhook in enumerate(document.get("webhooks") or ()):
        at = f"webhooks[{index}]"
        if str(webhook.get("name", "")).count(".") < _MIN_LABELS - 1:
            causes.append(
                _invalid(
                    f"{at}.name",
                    webhook.get("name"),
                    "should be a domain with at least three segments separated by dots",
                )
            )
        if webhook.get("sideEffects") not in ("None", "NoneOnDryRun"):
            causes.append(_required(f"{at}.sideEffects", ": must specify one of None, NoneOnDryRun"))
        if not webhook.get("admissionReviewVersions"):
            causes.append(_required(f"{at}.admissionReviewVersions", ": must specify one of v1, v1beta1"))
        if not 1 <= webhook["timeoutSeconds"] <= _MAX_TIMEOUT:
            causes.append(
                _invalid(f"{at}.timeoutSeconds", webhook["timeoutSeconds"], "must be between 1 and 30 seconds")
            )
        if len({"url", "service"} & set(webhook.get("clientConfig") or ())) != 1:
            causes.append(_required(f"{at}.clientConfig", ": exactly one of url or service is required"))
    return causes


def _lease_rules(document: Document) -> list[Cause]:
    spec = document.get("spec") or {}
    causes = []
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        causes.append(_invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        causes.append(_invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return causes


def _event_rules(document: Document) -> list[Cause]:
    causes = []
    involved = document.get("involvedObject") or {}
    namespace = document["metadata"].get("namespace", "")
    if involved.get("namespace", "") != namespace and (involved.get("namespace") or namespace != "default"):
        shown = involved.get("namespace", "")
        causes.append(_invalid("involvedObject.namespace", shown, "does not match event.namespace"))
    if document.get("eventTime"):
        needed = ("reportingComponent", "reportingInstance", "action", "reason")
        spelled = {"reportingComponent": "reportingController"}
        causes += [_required(spelled.get(name, name)) for name in needed if not document.get(name)]
        if document.get("type") not in ("Normal", "Warning"):
            causes.append(_invalid("type", document.get("type", ""), "has invalid value"))
        if len(document.get("message") or "") > 1024:
            causes.append(_invalid("note", "", "can have at most 1024 characters"))
    return causes


def _pod_rules(document: Document) -> list[Cause]:
    return [] if document["spec"].get("containers") else [_required("spec.containers")]


def _definition_rules(document: Document) -> list[Cause]:
    spec = document.get("spec") or {}
    names = spec.get("names") or {}
    expected = f"{names.get('plural')}.{spec.get('group')}"
    causes = []
    if document["metadata"].get("name") != expected:
        causes.append(
            _invalid("metadata.name", document["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group')
        )
    if sum(bool(version.get("storage")) for version in spec.get("versions") or ()) != 1:
        causes.append(_invalid("spec.versions", "", "must have exactly one version marked as storage version"))
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        causes.append(_required("spec.scope"))
    for index, version in enumerate(spec.get("versions") or ()):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            causes.append(_required(f"spec.versions[{index}].schema.openAPIV3Schema", ": schemas are required"))
    return causes


_RULES: Final[Mapping[str, Callable[[Document], list[Cause]]]] = {
    "MutatingWebhookConfiguration": _webhook_rules,
    "ValidatingWebhookConfiguration": _webhook_rules,
    "Lease": _lease_rules,
    "Event": _event_rules,
    "Pod": _pod_rules,
    "CustomResourceDefinition": _definition_rules,
}

_MICRO_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "Lease": (("spec", "renewTime"), ("spec", "acquireTime")),
    "Event": (("eventTime",), ("series", "lastObservedTime")),
}


def unreadable_time(resource: Resource, document: Document) -> str | None:
    """The first time with microseconds that a real server could not parse, or None."""
    for path in _MICRO_FIELDS.get(resource.kind, ()):
        value: Any = document
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None and not _MICRO_TIME.fullmatch(str(value)):
            return f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse {".".join(path)}'
    return None
