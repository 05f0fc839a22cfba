"""The rules of the binding fence, as the registry and the documentation know them (spec/scaling.md, Binding fence)."""

from typing import Final

from scaler_core.admission.rules import Rule, Subject
from scaler_core.api import ownership

SECTION: Final = "Binding fence"
BINDING_FIELD: Final = f"metadata.annotations[{ownership.BINDING}]"
DECISION_FIELD: Final = f"metadata.annotations[{ownership.DECISION}]"


def _rule(id_: str, cause: str, remedy: str) -> Rule:
    return Rule(id=id_, subject=Subject.TARGET, section=SECTION, cause=cause, remedy=remedy)


BOUND_COUNTS: Final = _rule(
    "bound-counts",
    "A user's write moves a replica count that a scaler owns.",
    "Leave replicas out and apply server-side, or set spec.suspend=true on the scaler first.",
)
BOUND_ROLES: Final = _rule(
    "bound-roles",
    "A user's write adds or removes a role, or takes a role's instanceType away, while a scaler owns the counts.",
    "Set spec.suspend=true on the scaler, change roles and bounds together, then resume.",
)
BOUND_ANNOTATION: Final = _rule(
    "bound-annotation",
    "A user's write changes a scaler annotation of a bound deployment, or removes the decision alone.",
    "Leave both scaler-* annotations out of the manifest.",
)
UNBOUND_ANNOTATION: Final = _rule(
    "unbound-annotation",
    "A user's write installs or changes a scaler annotation of a deployment that no scaler owns.",
    "Leave both scaler-* annotations out of the manifest.",
)
UNREADABLE_BINDING: Final = _rule(
    "unreadable-binding",
    "A write replaces a binding that cannot be read.",
    "Remove the annotation and let a scaler bind again.",
)
CREATE_ANNOTATED: Final = _rule(
    "create-annotated",
    "A new deployment carries a scaler annotation, as copies and restored backups do.",
    "Remove both scaler-* annotations and create again.",
)
UNBIND_LIVE: Final = _rule(
    "unbind-live",
    "A user removes the binding of a scaler that still exists and targets this deployment.",
    "Delete the scaler or set spec.suspend=true on it, and it releases the binding itself.",
)
UNBIND_DELETING: Final = _rule(
    "unbind-deleting",
    "A user removes the binding of a scaler that is being deleted.",
    "Wait; if its controller is gone, remove the scaler's finalizer, then the annotation.",
)
UNBIND_UNREAD: Final = _rule(
    "unbind-unread",
    "A user removes a binding, and the scaler that it names could not be read.",
    "Try again.",
)
OPERATOR_SPEC: Final = _rule(
    "operator-spec",
    "An operator's write changes more of the spec than counts.",
    "Write counts and annotations only; make other changes as another user.",
)
COMMIT_UNBOUND: Final = _rule(
    "commit-unbound",
    "An operator moves counts or changes the decision without a readable binding.",
    "Bind first.",
)
COMMIT_DECISION: Final = _rule(
    "commit-decision",
    "An operator moves counts without a new decision.",
    "Write a decision with a new decisionID together with the counts.",
)
COMMIT_UNREADABLE: Final = _rule(
    "commit-unreadable",
    "An operator removes the decision or writes one that cannot be read.",
    "Write a JSON object with decisionID, term and vector.",
)
COMMIT_TERM: Final = _rule(
    "commit-term",
    "A decision's term is not the binding's.",
    "Commit under the term of the binding that is on the deployment.",
)
COMMIT_VECTOR: Final = _rule(
    "commit-vector",
    "A decision's vector differs from the counts in the same write.",
    "Make counts and decision agree in one write; look for another webhook that changes counts.",
)
BINDING_ALONE: Final = _rule(
    "binding-alone",
    "A bind or release changes counts or the decision as well.",
    "Write the binding alone, then commit.",
)
BINDING_REWRITTEN: Final = _rule(
    "binding-rewritten",
    "An operator replaces a readable binding.",
    "Release it first, then bind.",
)
BIND_UNREADABLE: Final = _rule(
    "bind-unreadable",
    "A bind writes a binding that cannot be read.",
    "Write a JSON object with scalerName, scalerUID and term.",
)
BIND_TERM: Final = _rule(
    "bind-term",
    "A bind's term is not above the term of the last decision.",
    "Bind with a higher term.",
)
BIND_SCALER: Final = _rule(
    "bind-scaler",
    "A bind names a scaler that is absent, being deleted, another object of that name, or targets another deployment.",
    "Bind only for a living scaler of this deployment.",
)
BIND_TARGET: Final = _rule(
    "bind-target",
    "A bind on a deployment that is being deleted.",
    "Wait until the deployment exists again.",
)
BIND_UNREAD: Final = _rule(
    "bind-unread",
    "A bind names a scaler that could not be read.",
    "Try again.",
)

RULES: Final = (
    BOUND_COUNTS, BOUND_ROLES, BOUND_ANNOTATION, UNBOUND_ANNOTATION, UNREADABLE_BINDING, CREATE_ANNOTATED,
    UNBIND_LIVE, UNBIND_DELETING, UNBIND_UNREAD, OPERATOR_SPEC, COMMIT_UNBOUND, COMMIT_DECISION, COMMIT_UNREADABLE,
    COMMIT_TERM, COMMIT_VECTOR, BINDING_ALONE, BINDING_REWRITTEN, BIND_UNREADABLE, BIND_TERM, BIND_SCALER,
    BIND_TARGET, BIND_UNREAD,
)  # fmt: skip
