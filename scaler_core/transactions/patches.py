"""The JSON Patches of the target, and what the API server's answer to one means.

Every write tests what it rests on: the UID, the generation, the exact text of both annotations, and the name and count
of every role that it changes. JSON Patch cannot test that something is absent, so while one of the annotations is
missing the resourceVersion is tested in its place. The target's operator keeps writing status and annotations of its
own; once both annotations exist it cannot starve us.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import (
    BINDING,
    DECISION,
    FENCE_WEBHOOK,
    Binding,
    DecisionRecord,
    UnreadableError,
    parse_decision,
)
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import Commit
from scaler_core.model.action import Committed, Conflicted, Outcome, Refused, Unknown

Operation = Mapping[str, Any]
Patch = tuple[Operation, ...]
PROBE_TEXT: Final = "fence probe"
"""A decision that no fence lets in: it is not even JSON."""
_ANNOTATIONS: Final = "/metadata/annotations"
_WEBHOOK_DOWN: Final = "failed calling webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An API server's answer to a write that did not succeed."""

    code: int
    """HTTP status; 0 when there was no answer."""
    message: str


def bind(target: ModelDeployment, scaler: ModelDeploymentScaler, term: int) -> Patch:
    """Install the binding, and nothing else."""
    text = Binding(scaler_name=scaler.metadata.name, scaler_uid=scaler.metadata.uid, term=term).render()
    return (*_tests(target), _put_annotation(target, BINDING, text))


def release(target: ModelDeployment) -> Patch:
    """Remove the binding, and nothing else: the decision stays, so that terms cannot go back."""
    return (*_tests(target), {"op": "remove", "path": pointer(_ANNOTATIONS, BINDING)})


def commit(target: ModelDeployment, intent: Commit) -> Patch:
    """Write counts and decision together; `target` is what the intent was made from.

    Raises:
        ValueError: the target is not what the intent rests on; sending it could only fail.
    """
    if target.vector != dict(intent.baseline_vector) or target.metadata.generation + 1 != intent.target_generation:
        raise ValueError(f"decision {intent.decision_id} was made for another state of {target.metadata.name}")
    record = DecisionRecord(decision_id=intent.decision_id, term=intent.term, vector=intent.vector)
    tests: list[Operation] = [*_tests(target)]
    writes: list[Operation] = []
    for index, role in enumerate(target.spec.roles):
        count = intent.vector[role.name]
        if count == role.replicas:
            continue
        place = f"/spec/roles/{index}"
        tests.append({"op": "test", "path": f"{place}/name", "value": role.name})
        if "replicas" in role.model_fields_set:  # absent means 1, and is held by the generation alone
            tests.append({"op": "test", "path": f"{place}/replicas", "value": role.replicas})
        writes.append({"op": "add", "path": f"{place}/replicas", "value": count})
    return (*tests, *writes, _put_annotation(target, DECISION, record.render()))


def probe(target: ModelDeployment) -> Patch:
    """A dry run that a working fence must refuse, whoever sends it, and that nothing else has a reason to refuse."""
    return (_put_annotation(target, DECISION, PROBE_TEXT),)


def proves_fence(answer: Answer) -> bool:
    """Whether a refused probe was refused by the fence; a missing permission answers 403 as well."""
    return answer.code == 403 and FENCE_WEBHOOK in answer.message


def classify(answer: Answer, tested: ModelDeployment, reread: ModelDeployment | None, intent: Commit | None) -> Outcome:
    """What became of a write, from its answer and a direct read of the target made after the answer.

    Args:
        answer: what the API server said.
        tested: the target that the patch was made from.
        reread: the target as it is now; None when it does not exist.
        intent: the intent of a commit; None for a bind or a release.

    Returns:
        Committed when an earlier copy of the same request had landed. Unknown when the write may still arrive.
        Conflicted when a tested value differs now: the API server answers a failed test with 422, like a refusal.
        Refused otherwise.
    """
    if reread is None:
        return Conflicted(message="the target does not exist any more")
    if intent is not None and (landed := _landed(reread, intent)):
        return landed
    if (answer.code == 0 or answer.code >= 500) and _WEBHOOK_DOWN not in answer.message:
        return Unknown(message=answer.message)
    changed = changed_since(tested, reread)
    if answer.code == 409 or changed:
        return Conflicted(message=f"{changed or 'the target'} changed meanwhile")
    return Refused(message=answer.message)


def changed_since(tested: ModelDeployment, now: ModelDeployment) -> str:
    """The first value that our patches test and that differs now; empty when all of them still hold."""
    before, after = tested.metadata, now.metadata
    if before.uid != after.uid:
        return "uid"
    if before.generation != after.generation:
        return "generation"
    for key in (BINDING, DECISION):
        if before.annotations.get(key) != after.annotations.get(key):
            return f"annotation {key}"
    if _is_guarded_by_version(tested) and before.resource_version != after.resource_version:
        return "resourceVersion"
    return "" if tested.vector == now.vector else "replicas"


def pointer(parent: str, key: str) -> str:
    """An RFC 6901 pointer to a member whose name may hold `~` and `/`."""
    return f"{parent}/{key.replace('~', '~0').replace('/', '~1')}"


def _landed(target: ModelDeployment, intent: Commit) -> Committed | None:
    text = target.metadata.annotations.get(DECISION)
    try:
        is_ours = text is not None and parse_decision(text).decision_id == intent.decision_id
    except UnreadableError:
        is_ours = False
    return Committed(generation=intent.target_generation) if is_ours else None


def _tests(target: ModelDeployment) -> tuple[Operation, ...]:
    meta = target.metadata
    held: list[Operation] = [
        {"op": "test", "path": "/metadata/uid", "value": meta.uid},
        {"op": "test", "path": "/metadata/generation", "value": meta.generation},
    ]
    if _is_guarded_by_version(target):
        held.append({"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version})
    held.extend(
        {"op": "test", "path": pointer(_ANNOTATIONS, key), "value": meta.annotations[key]}
        for key in (BINDING, DECISION)
        if key in meta.annotations
    )
    return tuple(held)


def _is_guarded_by_version(target: ModelDeployment) -> bool:
    return not {BINDING, DECISION} <= set(target.metadata.annotations)


def _put_annotation(target: ModelDeployment, key: str, text: str) -> Operation:
    if not target.metadata.annotations:  # the map itself is absent; a test of the resourceVersion keeps it so
        return {"op": "add", "path": _ANNOTATIONS, "value": {key: text}}
    return {"op": "add", "path": pointer(_ANNOTATIONS, key), "value": text}
