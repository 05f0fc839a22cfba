"""What an operator user may write: bind, commit and release, each alone and each complete.

binding     decision    counts     write
installed   same        same       bind: readable, higher term, fresh proof that the scaler lives
removed     same        same       release
same        new         any        commit: decision readable, of the binding's term, vector equal to the counts
same        same        same       anything outside of the spec (labels, finalizers, ownership of fields)
"""

from collections.abc import Iterator

from scaler_core.admission import fence_user, messages, target
from scaler_core.admission.fence_rules import (
    BIND_SCALER,
    BIND_TARGET,
    BIND_TERM,
    BIND_UNREAD,
    BIND_UNREADABLE,
    BINDING_ALONE,
    BINDING_FIELD,
    BINDING_REWRITTEN,
    COMMIT_DECISION,
    COMMIT_TERM,
    COMMIT_UNBOUND,
    COMMIT_UNREADABLE,
    COMMIT_VECTOR,
    DECISION_FIELD,
    OPERATOR_SPEC,
)
from scaler_core.admission.scaler_facts import ScalerFacts, read_scaler
from scaler_core.admission.target import TargetFacts
from scaler_core.admission.verdict import (
    Absent,
    Allowed,
    Denied,
    Lookup,
    NeedsLookup,
    Request,
    Undecided,
    Unread,
    Verdict,
    Violation,
)
from scaler_core.api import ownership, scaler

_MEDDLER = "(did another admission webhook change it?)"


def judge(request: Request, lookup: Lookup | None) -> Verdict:
    """The verdict on an operator's update."""
    old, new = target.read(request.old), target.read(request.new)
    violations = (*_foreign_spec(request), *_transition(old, new))
    if violations:
        return Denied(violations=violations)
    binding = target.readable_binding(new.binding)
    if old.binding is None and binding is not None:
        return _prove(request, binding, lookup)
    return Allowed()


def _foreign_spec(request: Request) -> Iterator[Violation]:
    changed = target.changed_spec_members(request.old, request.new)
    if changed:
        yield OPERATOR_SPEC.broken(
            "spec",
            f" refused: an operator of {scaler.KIND} writes counts and its annotations only; "
            f"make other changes as another user {_MEDDLER}",
            value=f"changing {messages.join([messages.word(name) for name in changed])}",
        )


def _transition(old: TargetFacts, new: TargetFacts) -> Iterator[Violation]:
    if new.binding == old.binding:
        yield from _commit(old, new)
        return
    yield from _alone(old, new)
    if old.binding is None:
        yield from _bind(old, new)
    elif new.binding is not None and target.readable_binding(old.binding) is None:
        yield fence_user.unreadable_kept()
    elif new.binding is not None:
        yield BINDING_REWRITTEN.broken(
            BINDING_FIELD, " refused: a readable binding is removed, never rewritten; release it first, then bind"
        )


def _alone(old: TargetFacts, new: TargetFacts) -> Iterator[Violation]:
    """A change of the binding changes neither counts nor the decision."""
    changes = fence_user.moved(old, new)
    if changes:
        rest = f"refused: a bind or release moves no counts; write the binding alone, then commit {_MEDDLER}"
        yield Violation(
            field=fence_user.count_field(next(iter(changes))),
            value="",
            rule=BINDING_ALONE.id,
            message=messages.several(fence_user.count_fields(changes), rest, BINDING_ALONE.id),
        )
    if old.decision != new.decision:
        yield BINDING_ALONE.broken(
            DECISION_FIELD,
            " refused: a bind or release leaves the decision alone; write the binding alone, then commit",
        )


def _bind(old: TargetFacts, new: TargetFacts) -> Iterator[Violation]:
    try:
        binding = ownership.parse_binding(new.binding if isinstance(new.binding, str) else "")
    except ownership.UnreadableError as error:
        yield BIND_UNREADABLE.broken(
            BINDING_FIELD, f" refused: {error}; write a JSON object with scalerName, scalerUID and term"
        )
        return
    last = target.readable_decision(old.decision)
    if last is not None and binding.term <= last.term:
        yield BIND_TERM.broken(
            BINDING_FIELD,
            f" refused: term {binding.term} is not above {last.term}, the term of the last decision; "
            "bind with a higher term",
        )
    if new.is_terminating:
        yield BIND_TARGET.broken(BINDING_FIELD, " refused: the deployment is being deleted; wait until it exists again")


def _commit(old: TargetFacts, new: TargetFacts) -> Iterator[Violation]:
    changes = fence_user.moved(old, new)
    if not changes and new.decision == old.decision:
        return
    binding = target.readable_binding(old.binding)
    if binding is None or new.decision == old.decision:
        yield _unowned(bool(binding), fence_user.count_fields(changes))
        return
    try:
        decision = ownership.parse_decision(new.decision if isinstance(new.decision, str) else "")
    except ownership.UnreadableError as error:
        why = "it is removed" if new.decision is None else str(error)
        yield COMMIT_UNREADABLE.broken(
            DECISION_FIELD, f" refused: {why}; write a JSON object with decisionID, term and vector"
        )
        return
    last = target.readable_decision(old.decision)
    if last is not None and last.decision_id == decision.decision_id:
        yield COMMIT_DECISION.broken(
            DECISION_FIELD,
            " refused: its decisionID is that of the last decision; write a decision with a new decisionID",
        )
    yield from _fits(decision, binding, new)


def _unowned(is_bound: object, fields: list[str]) -> Violation:
    """Counts or a decision without what they need: a binding, or a decision."""
    rule = COMMIT_DECISION if is_bound else COMMIT_UNBOUND
    rest = (
        "refused: counts move only with a new decision; write a decision with a new decisionID together with the counts"
        if is_bound
        else "refused: there is no readable binding, and an operator commits only under one; bind first"
    )
    field = fields[0].partition(":")[0] if fields else DECISION_FIELD
    return Violation(
        field=field, value="", rule=rule.id, message=messages.several(fields or [DECISION_FIELD], rest, rule.id)
    )


def _fits(decision: ownership.DecisionRecord, binding: ownership.Binding, new: TargetFacts) -> Iterator[Violation]:
    if decision.term != binding.term:
        yield COMMIT_TERM.broken(
            DECISION_FIELD,
            f" refused: term {decision.term} is not {binding.term}, the term of the binding; "
            "commit under the binding that is on the deployment",
        )
    counts = new.counts
    differing = [name for name in {**decision.vector, **counts} if decision.vector.get(name) != counts.get(name)]
    if differing or len(counts) != len(new.roles):
        name = differing[0] if differing else new.roles[0].name
        yield COMMIT_VECTOR.broken(
            DECISION_FIELD,
            f": vector {messages.word(name)}={messages.describe(decision.vector.get(name))} but "
            f"{fence_user.count_field(name)}={_count(counts.get(name))}; counts and decision must agree in one write "
            "(did another admission webhook change the counts?)",
        )


def _count(count: target.Count | None) -> str:
    return "(no integer)" if isinstance(count, target.OddCount) else messages.describe(count)


def _prove(request: Request, binding: ownership.Binding, lookup: Lookup | None) -> Verdict:
    """Whether the scaler that a bind names lives, is the one meant, and targets this deployment."""
    owner = f"{scaler.KIND} {messages.word(binding.scaler_name)}"
    found = read_scaler(lookup)
    match found:
        case None:
            return NeedsLookup(kind=scaler.KIND, namespace=request.namespace, name=binding.scaler_name)
        case Unread(reason=reason):
            unread = BIND_UNREAD.broken(
                BINDING_FIELD, f" refused for now: {owner} could not be read ({messages.plain(reason)}); try again"
            )
            return Undecided(violation=unread)
        case Absent():
            return _unfit(owner, "does not exist")
        case ScalerFacts():
            flaw = _flaw(found, binding, request.name)
            return Allowed() if flaw is None else _unfit(owner, flaw)


def _flaw(found: ScalerFacts, binding: ownership.Binding, deployment: str) -> str | None:
    if found.uid != binding.scaler_uid:
        return "has another UID"
    if found.target_name != deployment:
        return "targets another deployment"
    return "is being deleted" if found.is_terminating else None


def _unfit(owner: str, why: str) -> Denied:
    says = f" refused: {owner} {why}; bind only for a living scaler of this deployment"
    return Denied(violations=(BIND_SCALER.broken(BINDING_FIELD, says),))
