"""The checks of both webhooks on documents that are not in a cluster: manifests of a pull request.

Every document counts as new. A scaler's target is looked up among the documents, in the scaler's namespace; a target
that is not there may come later, so the rules that need it are skipped as in a cluster.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from scaler_core.admission import fence, messages, scaler
from scaler_core.admission.verdict import (
    Absent,
    Allowed,
    Denied,
    Found,
    Lookup,
    NeedsLookup,
    Operation,
    Request,
    Undecided,
    Verdict,
    Violation,
)
from scaler_core.api import scaler as names

DEFAULT_NAMESPACE: Final = "default"
SERVED: Final = tuple(f"{names.GROUP}/{version}" for version in names.VERSIONS)
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LONGEST_NAME: Final = 253
Document = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What admission would say about one document."""

    violations: tuple[Violation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        """Whether the document would be stored."""
        return not self.violations


def is_ours(document: JsonValue) -> bool:
    """Whether a document is of one of the two kinds.

    Nobody else has a kind named like the scaler, so there another apiVersion is a slip; deployments of other groups are
    other people's.
    """
    if not isinstance(document, dict):
        return False
    kind, group = document.get("kind"), str(document.get("apiVersion") or "").partition("/")[0]
    return kind == names.KIND or (group == names.GROUP and kind == names.TARGET_KIND)


def identity(document: Document) -> tuple[str, str]:
    """Namespace and name, as far as the document has them."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return str(metadata.get("namespace") or DEFAULT_NAMESPACE), str(metadata.get("name") or "")


def judge_all(documents: Sequence[Document]) -> tuple[Finding, ...]:
    """The findings on documents of our kinds, in their order."""
    targets = {identity(one): one for one in documents if one.get("kind") == names.TARGET_KIND}
    return tuple(_served(document, _named(document, _judge(document, targets))) for document in documents)


def _served(document: Document, finding: Finding) -> Finding:
    """The API server knows the kind in the versions of our group only."""
    version = document.get("apiVersion")
    if version in SERVED:
        return finding
    says = f": {messages.word(version)} refused: it has no {document.get('kind')}" if version else " is missing"
    message = f"apiVersion{says}; write {SERVED[0]} (api-version)"
    violation = Violation(field="apiVersion", value=str(version or ""), rule="api-version", message=message)
    return Finding(violations=(violation, *finding.violations), warnings=finding.warnings)


def _named(document: Document, finding: Finding) -> Finding:
    """The API server itself judges names, before any webhook is asked."""
    metadata = document.get("metadata")
    if isinstance(metadata, dict) and "generateName" in metadata:
        return finding
    name = identity(document)[1]
    if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return finding
    says = f": {messages.word(name)} refused: it cannot name an object of Kubernetes" if name else " is missing"
    message = f"metadata.name{says}; use lower-case letters, digits and - (name)"
    violation = Violation(field="metadata.name", value=name, rule="name", message=message)
    return Finding(violations=(violation, *finding.violations), warnings=finding.warnings)


def _judge(document: Document, targets: Mapping[tuple[str, str], Document]) -> Finding:
    namespace, name = identity(document)
    request = Request(operation=Operation.CREATE, user="", namespace=namespace, name=name, new=document)
    if document.get("kind") == names.TARGET_KIND:
        return _finding(fence.judge(request, ()))
    verdict = scaler.judge(request)
    if isinstance(verdict, NeedsLookup):
        found = targets.get((verdict.namespace, verdict.name))
        lookup: Lookup = Absent() if found is None else Found(document=found)
        verdict = scaler.judge(request, lookup)
    return _finding(verdict)


def _finding(verdict: Verdict) -> Finding:
    match verdict:
        case Allowed(warnings=warnings):
            return Finding(warnings=warnings)
        case Denied(violations=violations, warnings=warnings):
            return Finding(violations=violations, warnings=warnings)
        case Undecided(violation=violation):
            return Finding(violations=(violation,))
        case NeedsLookup():
            return Finding()
