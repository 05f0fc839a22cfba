"""What anybody but an operator may write (spec/scaling.md, Binding fence; orphan recovery included)."""

from collections.abc import Iterator

from scaler_core.admission import messages, target
from scaler_core.admission.fence_rules import (
    BINDING_FIELD,
    BOUND_ANNOTATION,
    BOUND_COUNTS,
    BOUND_ROLES,
    DECISION_FIELD,
    UNBIND_DELETING,
    UNBIND_LIVE,
    UNBIND_UNREAD,
    UNBOUND_ANNOTATION,
    UNREADABLE_BINDING,
)
from scaler_core.admission.scaler_facts import ScalerFacts, read_scaler
from scaler_core.admission.target import Count, OddCount, TargetFacts
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

_LEAVE_OUT = "leave both scaler-* annotations out of the manifest"


def judge(request: Request, lookup: Lookup | None) -> Verdict:
    """The verdict on a user's update."""
    old, new = target.read(request.old), target.read(request.new)
    binding = target.readable_binding(old.binding)
    warnings = tuple(_warnings(old, new, binding))
    if binding is None:
        offences = tuple(_unbound(old, new))
        return Denied(violations=offences, warnings=warnings) if offences else Allowed(warnings=warnings)
    owner = f"{scaler.KIND} {messages.word(binding.scaler_name)}"
    counts = _moved_counts(old, new, owner)
    others = (*_moved_roles(old, new, owner), *_changed_annotations(old, new, owner))
    if others or (counts and not request.is_dry_run):
        return Denied(violations=(*counts, *others), warnings=warnings)
    if new.binding is None:
        refused = _recover(request, binding, owner, lookup)
        if refused is not None:
            return refused
    return Allowed(warnings=(*(f"would be refused: {offence.message}" for offence in counts), *warnings))


def moved(old: TargetFacts, new: TargetFacts) -> dict[str, tuple[Count, Count]]:
    """Roles on both sides whose count differs, with the counts."""
    before, after = old.counts, new.counts
    return {name: (before[name], after[name]) for name in before if name in after and before[name] != after[name]}


def count_fields(changes: dict[str, tuple[Count, Count]]) -> list[str]:
    """One `path: old -> new` for each role."""
    return [f"{count_field(name)}: {_shown(before)} -> {_shown(after)}" for name, (before, after) in changes.items()]


def count_field(role: str) -> str:
    """Path of a role's count."""
    return f"spec.roles[{messages.word(role)}].replicas"


def _shown(count: Count) -> str:
    return "(no integer)" if isinstance(count, OddCount) else messages.describe(count)


def _moved_counts(old: TargetFacts, new: TargetFacts, owner: str) -> tuple[Violation, ...]:
    changes = moved(old, new)
    if not changes:
        return ()
    fields = count_fields(changes)
    if any(after == target.DEFAULT_REPLICAS for _, after in changes.values()):
        rest = (
            f"refused: {owner} owns the counts, and a client-side apply reads omitted replicas as 1; "
            "apply server-side, or write the live counts"
        )
    else:
        rest = (
            f"refused: {owner} owns the counts; leave replicas out and apply server-side, "
            "or set spec.suspend=true on the scaler first"
        )
    first, (before, after) = next(iter(changes.items()))
    return (
        Violation(
            field=count_field(first),
            value=f"{_shown(before)} -> {_shown(after)}",
            rule=BOUND_COUNTS.id,
            message=messages.several(fields, rest, BOUND_COUNTS.id),
        ),
    )


def _moved_roles(old: TargetFacts, new: TargetFacts, owner: str) -> Iterator[Violation]:
    kept = {role.name for role in new.roles}
    typed = {role.name for role in new.roles if role.has_instance_type}
    lost = {role.name: None for role in old.roles if role.name not in kept}
    stripped = {role.name: None for role in old.roles if role.has_instance_type and role.name in kept - typed}
    names = [role.name for role in new.roles]
    added = [name for name in dict.fromkeys(names) if name not in old.counts]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > [r.name for r in old.roles].count(name) > 0]
    deeds = [
        *(f"removing {messages.word(name)}" for name in (*lost, *stripped)),
        *(f"adding {messages.word(name)}" for name in added),
        *(f"repeating {messages.word(name)}" for name in twice),
    ]
    if deeds:
        yield BOUND_ROLES.broken(
            "spec.roles",
            f" refused: {owner} owns the role set; set spec.suspend=true on it, change roles and bounds together, "
            "then resume",
            value=messages.join(deeds),
        )


def _changed_annotations(old: TargetFacts, new: TargetFacts, owner: str) -> Iterator[Violation]:
    """Changes of either annotation, but for the removals that recovery may make."""
    says = f" refused: {owner} writes it; {_LEAVE_OUT}"
    if new.binding is not None and new.binding != old.binding:
        yield BOUND_ANNOTATION.broken(BINDING_FIELD, says)
    is_recovery = new.binding is None and new.decision is None
    if new.decision != old.decision and not is_recovery:
        yield BOUND_ANNOTATION.broken(DECISION_FIELD, says)


def _unbound(old: TargetFacts, new: TargetFacts) -> Iterator[Violation]:
    says = f" refused: only the controller of a {scaler.KIND} writes it; {_LEAVE_OUT}"
    if new.binding is not None and new.binding != old.binding:
        if old.binding is None:
            yield UNBOUND_ANNOTATION.broken(BINDING_FIELD, says)
        else:
            yield unreadable_kept()
    if new.decision is not None and new.decision != old.decision:
        yield UNBOUND_ANNOTATION.broken(DECISION_FIELD, says)


def unreadable_kept() -> Violation:
    """The refusal to replace a binding that nobody can read."""
    return UNREADABLE_BINDING.broken(
        BINDING_FIELD,
        " refused: the stored binding cannot be read, so it may be removed but not replaced; "
        "remove the annotation and let a scaler bind again",
    )


def _recover(
    request: Request, binding: ownership.Binding, owner: str, lookup: Lookup | None
) -> Denied | Undecided | NeedsLookup | None:
    """Whether the binding that a user removes is an orphan's: None where it is."""
    found = read_scaler(lookup)
    match found:
        case None:
            return NeedsLookup(kind=scaler.KIND, namespace=request.namespace, name=binding.scaler_name)
        case Absent():
            return None
        case Unread(reason=reason):
            unread = UNBIND_UNREAD.broken(
                BINDING_FIELD, f" stays for now: {owner} could not be read ({messages.plain(reason)}); try again"
            )
            return Undecided(violation=unread)
        case ScalerFacts() if found.uid != binding.scaler_uid or found.target_name != request.name:
            return None
        case ScalerFacts(is_terminating=True):
            deleting = UNBIND_DELETING.broken(
                BINDING_FIELD,
                f" stays: {owner} is being deleted and will release it; if its controller is gone, "
                "remove the scaler's finalizer, then this annotation",
            )
            return Denied(violations=(deleting,))
        case ScalerFacts():
            live = UNBIND_LIVE.broken(
                BINDING_FIELD,
                f" stays: {owner} still exists; delete it or set spec.suspend=true on it, "
                "and it releases the binding itself",
            )
            return Denied(violations=(live,))


def _warnings(old: TargetFacts, new: TargetFacts, binding: ownership.Binding | None) -> Iterator[str]:
    if new.is_poisoned and (new.binding is not None or new.decision is not None):
        yield (
            f"metadata.annotations[{target.LAST_APPLIED}] contains a scaler annotation, so later applies will try to "
            "remove it and be refused; run kubectl apply set-last-applied -f GIT_FILE"
        )
    before, after = [role.name for role in old.roles], [role.name for role in new.roles]
    if binding is not None and before != after and sorted(before) == sorted(after):
        yield (
            "spec.roles: the order changed; ignore rules of GitOps tools count positions, "
            "so keep the roles in Git in the live order"
        )
