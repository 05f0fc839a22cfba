"""Judging writes of a `ModelDeploymentScaler`: defaults stored, malformed and impossible specs refused.

    mutating endpoint    defaults; shape and cross-field rules, so that people read our words and not the schema's
    validating endpoint  the same rules on what other webhooks left, then the rules that need the target

An update that leaves the spec as it was, or of an object that is being deleted, is not judged again: a finalizer must
come off a scaler that newer rules would refuse.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import jsonpatch
from pydantic import JsonValue

from scaler_core.admission import messages
from scaler_core.admission.rules import Rule, Subject
from scaler_core.admission.scaler_rules import (
    against_target,
    algorithm,
    feasible,
    schema,
    surprises,
    vectors,
)
from scaler_core.admission.scaler_rules.subject import Judged, ScalerRule, read_target
from scaler_core.admission.verdict import (
    Allowed,
    Denied,
    Found,
    Lookup,
    NeedsLookup,
    Operation,
    Request,
    Undecided,
    Unread,
    Verdict,
    Violation,
)
from scaler_core.api import scaler
from scaler_core.api.defaulting import apply_defaults
from scaler_core.api.scaler_spec import ScalerSpec

TARGET_FIXED: Final = Rule(
    id="target-fixed",
    subject=Subject.SCALER,
    section="Resource",
    cause="An edit points a scaler at another deployment.",
    remedy="Create another scaler and delete this one.",
)
TARGET_UNREAD: Final = Rule(
    id="target-unread",
    subject=Subject.SCALER,
    section="Resource",
    cause="The deployment could not be read, so the checks that need it cannot be made.",
    remedy="Try again.",
)
CROSS_FIELD: Final[tuple[ScalerRule, ...]] = (*vectors.RULES, *algorithm.RULES, *against_target.RULES)
RULES: Final[tuple[Rule, ...]] = (
    *schema.RULES,
    TARGET_FIXED,
    TARGET_UNREAD,
    algorithm.ALGORITHM_BLOCK,
    *(declared.rule for declared in (*CROSS_FIELD, *feasible.RULES)),
)


def default(request: Request) -> Verdict:
    """The answer of the mutating endpoint: the patch that stores the defaults, or the refusal."""
    if _is_settled(request):
        return Allowed()
    violations = _static(request)
    if violations:
        return Denied(violations=violations)
    patch = jsonpatch.make_patch(dict(request.new), apply_defaults(dict(request.new)))
    return Allowed(patch=tuple(patch.patch))


def judge(request: Request, lookup: Lookup | None = None) -> Verdict:
    """The verdict of the validating endpoint.

    Args:
        request: the write.
        lookup: what the fresh read of the target named by an earlier `NeedsLookup` gave.
    """
    if _is_settled(request):
        return Allowed()
    violations = _static(request)
    if violations:
        return Denied(violations=violations)
    if request.operation is Operation.UPDATE and _is_terminating(request.new):
        return Allowed()
    spec = _parsed(request.new)
    if lookup is None:
        return NeedsLookup(kind=scaler.TARGET_KIND, namespace=request.namespace, name=spec.target_ref.name)
    if isinstance(lookup, Unread):
        return Undecided(violation=_unread(spec.target_ref.name, lookup.reason))
    target = read_target(spec.target_ref.name, lookup.document) if isinstance(lookup, Found) else None
    judged = Judged(spec=spec, target=target)
    violations = tuple(_cross_field(judged))
    lines = surprises.warnings(judged)
    return Denied(violations=violations, warnings=lines) if violations else Allowed(warnings=lines)


def _unread(name: str, reason: str) -> Violation:
    owner = f"{scaler.TARGET_KIND} {messages.word(name)}"
    says = f" cannot be judged for now: {owner} could not be read ({messages.plain(reason)}); try again"
    return TARGET_UNREAD.broken("spec.targetRef.name", says)


def _is_settled(request: Request) -> bool:
    """Whether nothing is left to judge: the spec stays, defaults aside."""
    if request.operation is not Operation.UPDATE:
        return False
    return _spec(apply_defaults(dict(request.old))) == _spec(apply_defaults(dict(request.new)))


def _static(request: Request) -> tuple[Violation, ...]:
    """Violations that show without the target; cross-field rules only on a spec of the right shape."""
    document = apply_defaults(dict(request.new))
    raw = _spec(document)
    shape = schema.check(raw)
    if shape:
        return shape
    assert isinstance(raw, dict)
    blocks = raw.get("algorithm")
    structure = tuple(algorithm.check_blocks(blocks if isinstance(blocks, dict) else {}))
    if structure:
        return structure
    fixed = tuple(_moved_target(request))
    if fixed or _is_terminating(request.new):
        return fixed
    return tuple(_cross_field(Judged(spec=_parsed(document))))


def _cross_field(judged: Judged) -> Iterator[Violation]:
    """Feasibility is asked only where bounds and ratios make sense on their own."""
    found = [violation for declared in CROSS_FIELD for violation in declared.check(judged)]
    yield from found
    if not found:
        for declared in feasible.RULES:
            yield from declared.check(judged)


def _moved_target(request: Request) -> Iterator[Violation]:
    old, new = _target_name(request.old), _target_name(request.new)
    if request.operation is Operation.UPDATE and old is not None and old != new:
        says = (
            f" refused: a scaler keeps its target; create another {scaler.KIND} for {messages.word(new)} "
            "and delete this one"
        )
        yield TARGET_FIXED.broken("spec.targetRef.name", says, value=messages.change(old, new))


def _target_name(document: Mapping[str, JsonValue]) -> JsonValue:
    spec = document.get("spec")
    reference = spec.get("targetRef") if isinstance(spec, dict) else None
    return reference.get("name") if isinstance(reference, dict) else None


def _is_terminating(document: Mapping[str, JsonValue]) -> bool:
    metadata = document.get("metadata")
    return isinstance(metadata, dict) and metadata.get("deletionTimestamp") is not None


def _spec(document: JsonValue) -> JsonValue:
    return document.get("spec") if isinstance(document, dict) else None


def _parsed(document: JsonValue | Mapping[str, JsonValue]) -> ScalerSpec:
    filled = apply_defaults(dict(document)) if isinstance(document, Mapping) else document
    return ScalerSpec.from_wire(_spec(filled))
