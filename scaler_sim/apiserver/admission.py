"""Admission: which registered webhooks a write concerns, the review they get, and what becomes of their verdicts."""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from scaler_sim.apiserver import selectors, webhooks
from scaler_sim.apiserver.calls import Call
from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.errors import Document, StatusError, internal
from scaler_sim.apiserver.resources import Resource
from scaler_sim.apiserver.storage import Store
from scaler_sim.apiserver.webhooks import Verdict, Webhook, WebhookFailedError

_GROUP: Final = "admissionregistration.k8s.io"
_EXEMPT: Final = frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})
"""A real server never asks webhooks about webhook configurations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A write as webhooks judge it; `old` is absent on CREATE, `new` on DELETE."""

    call: Call
    operation: str
    new: Document | None
    old: Document | None

    @property
    def name(self) -> str:
        """The object's name as far as it is known."""
        document = self.new or self.old or {}
        return str(document.get("metadata", {}).get("name", ""))


@dataclass(frozen=True, slots=True)
class _Match:
    webhook: Webhook
    resource: Resource
    """The version that the webhook's rule names."""


class Asks(Protocol):
    """Gets the verdicts of webhooks; `WebhookClient` does it over TLS."""

    async def ask(self, webhook: Webhook, request: Document) -> Verdict:
        """Send a review; raises StatusError when refused, WebhookFailedError without a usable answer."""
        ...


class Admission:
    """The admission webhooks of a cluster."""

    def __init__(self, store: Store, catalog: Catalog, client: Asks) -> None:
        self._store = store
        self._catalog = catalog
        self._client = client

    async def mutate(self, subject: Subject, shape: Callable[[Document], Document]) -> Document:
        """The object after every mutating webhook, in the order of configuration names.

        Args:
            subject: the write; `new` is present.
            shape: prunes and defaults what a webhook changed.

        Raises:
            StatusError: a webhook refused, or failed and fails closed.
        """
        document = subject.new or {}
        for match in self._matches("mutatingwebhookconfigurations", subject):
            current = Subject(call=subject.call, operation=subject.operation, new=document, old=subject.old)

            async def judge(match: _Match = match, current: Subject = current) -> Document:
                verdict = await self._ask(match, current)
                own = _as_version(current.new or {}, match.resource)
                return shape(_as_version(webhooks.apply_operations(own, verdict), current.call.resource))

            document = await _decided(match.webhook, judge) or document
        return document

    async def validate(self, subject: Subject) -> None:
        """Ask every validating webhook at once; the first refusal in the order of names is raised.

        Raises:
            StatusError: a webhook refused, or failed and fails closed.
        """
        matches = list(self._matches("validatingwebhookconfigurations", subject))

        def asking(match: _Match) -> Callable[[], Awaitable[Any]]:
            return lambda: self._ask(match, subject)

        results = await webhooks.gather(*(_decided(match.webhook, asking(match)) for match in matches))
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _ask(self, match: _Match, subject: Subject) -> webhooks.Verdict:
        try:
            verdict = await self._client.ask(match.webhook, _request(match, subject))
        except StatusError as error:
            subject.call.warnings.extend(webhooks.refusal_warnings(error))
            raise
        subject.call.warnings.extend(verdict.warnings)
        return verdict

    def _matches(self, plural: str, subject: Subject) -> Iterator[_Match]:
        if subject.call.resource.plural in _EXEMPT:
            return
        for stored in self._store.objects(f"{plural}.{_GROUP}"):
            for document in stored.document.get("webhooks") or ():
                resource = self._matched_resource(document, subject)
                if resource is not None and _selects(document.get("objectSelector"), subject):
                    yield _Match(Webhook(document), resource)

    def _matched_resource(self, webhook: Document, subject: Subject) -> Resource | None:
        resource = subject.call.resource
        equivalent = webhook.get("matchPolicy", "Equivalent") == "Equivalent"
        others = [other for other in self._catalog.versions(resource) if other != resource] if equivalent else []
        for candidate in (resource, *others):
            if any(_rule_matches(rule, candidate, subject) for rule in webhook.get("rules") or ()):
                return candidate
        return None


def _rule_matches(rule: Document, resource: Resource, subject: Subject) -> bool:
    def has(names: list[str], name: str) -> bool:
        return "*" in names or name in names

    scope = rule.get("scope", "*")
    in_scope = scope == "*" or (scope == "Namespaced") is resource.namespaced
    return (
        in_scope
        and has(rule.get("operations") or [], subject.operation)
        and has(rule.get("apiGroups") or [], resource.group)
        and has(rule.get("apiVersions") or [], resource.version)
        and any(_names(pattern, resource, subject.call.subresource) for pattern in rule.get("resources") or ())
    )


def _names(pattern: str, resource: Resource, subresource: str) -> bool:
    plural, _, sub = pattern.partition("/")
    return plural in ("*", resource.plural) and (sub == subresource or sub == "*" or pattern == "*/*")


def _selects(selector: Document | None, subject: Subject) -> bool:
    """An object selector matches when the new or the old object matches."""
    if not selector:
        return True
    rules = selectors.label_rules(
        ",".join(f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items())
    )
    documents = [document for document in (subject.new, subject.old) if document]
    return any(all(rule(doc["metadata"].get("labels") or {}) for rule in rules) for doc in documents)


async def _decided(webhook: Webhook, judge: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await judge()
    except WebhookFailedError as error:
        if webhook.fails_closed:
            raise internal(f'failed calling webhook "{webhook.name}": {error}') from None
        return None


def _as_version(document: Document, resource: Resource) -> Document:
    return {**document, "apiVersion": resource.api_version}


_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def _request(match: _Match, subject: Subject) -> Document:
    call, resource = subject.call, match.resource
    request: Document = {
        "uid": str(uuid.uuid4()),
        "kind": _kind(resource),
        "resource": _resource(resource),
        **({"subResource": call.subresource} if call.subresource else {}),
        "requestKind": _kind(call.resource),
        "requestResource": _resource(call.resource),
        **({"requestSubResource": call.subresource} if call.subresource else {}),
        **({"name": subject.name} if subject.name else {}),
        **({"namespace": call.namespace} if call.namespace else {}),
        "operation": subject.operation,
        "userInfo": call.user.to_wire(),
        "object": _as_version(subject.new, resource) if subject.new else None,
        "oldObject": _as_version(subject.old, resource) if subject.old else None,
        "dryRun": call.is_dry_run,
        "options": call.options(_OPTIONS[subject.operation]),
    }
    return request


def _kind(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}
