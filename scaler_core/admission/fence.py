"""The binding fence: who may write what of a `ModelDeployment` that a scaler owns (spec/scaling.md, Binding fence).

    CREATE                      neither annotation, whoever creates
    UPDATE by a user            fence_user: counts, role set and annotations stay while a readable binding exists
    UPDATE by an operator user  fence_operator: bind, commit, release, each alone

Pure: the shell reads the scaler that `NeedsLookup` names, afresh, and asks again with the result. The same request
and result give the same verdict in every replica and at any time.
"""

from collections.abc import Collection
from typing import Any

from pydantic import JsonValue

from scaler_core.admission import fence_operator, fence_user, target
from scaler_core.admission.fence_rules import BINDING_FIELD, CREATE_ANNOTATED, DECISION_FIELD
from scaler_core.admission.verdict import Allowed, Denied, Lookup, Operation, Request, Verdict
from scaler_core.api import ownership


def judge(request: Request, operators: Collection[str], lookup: Lookup | None = None) -> Verdict:
    """The verdict of the validating endpoint.

    Args:
        request: the write.
        operators: user names that may bind, commit and release.
        lookup: what the fresh read of the scaler named by an earlier `NeedsLookup` gave.
    """
    if request.operation is Operation.CREATE:
        return _judge_create(request)
    if request.user in operators:
        return fence_operator.judge(request, lookup)
    return fence_user.judge(request, lookup)


def strip(request: Request) -> Allowed:
    """The answer of the mutating endpoint: a new object loses both annotations, with a warning.

    Restores and `kubectl replace --force` delete first, so refusing them would lose the deployment.
    """
    if request.operation is not Operation.CREATE:
        return Allowed()
    metadata = request.new.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    present = [
        key for key in (ownership.BINDING, ownership.DECISION) if isinstance(annotations, dict) and key in annotations
    ]
    return Allowed(
        patch=tuple(_removal(key) for key in present),
        warnings=tuple(
            f"metadata.annotations[{key}] removed on create: it belongs to the object that was copied or backed up"
            for key in present
        ),
    )


def _removal(key: str) -> dict[str, Any]:
    return {"op": "remove", "path": f"/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}"}


def _judge_create(request: Request) -> Verdict:
    facts = target.read(request.new)
    left: list[tuple[str, JsonValue]] = [(BINDING_FIELD, facts.binding), (DECISION_FIELD, facts.decision)]
    violations = tuple(
        CREATE_ANNOTATED.broken(
            field,
            " refused on create: it belongs to the object that was copied or backed up; "
            "remove both scaler-* annotations and create again",
        )
        for field, text in left
        if text is not None
    )
    return Denied(violations=violations) if violations else Allowed()
