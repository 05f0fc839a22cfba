"""What a scaler asks of a target that exists (spec/scaling.md, Limitations)."""

from collections.abc import Iterator
from typing import Final

from scaler_core.admission import messages
from scaler_core.admission.rules import Rule
from scaler_core.admission.scaler_rules import paths
from scaler_core.admission.scaler_rules.subject import Judged, ScalerRule, Target, TargetRole, scaler_rule
from scaler_core.admission.verdict import Violation
from scaler_core.api import scaler
from scaler_core.api.scaler_spec import MAX_REPLICAS, ScaledRole

SECTION: Final = "Limitations"
LABEL_LIMIT: Final = 63


def _scaled(judged: Judged) -> Iterator[tuple[Target, ScaledRole, TargetRole]]:
    if judged.target is None:
        return
    for role in judged.spec.roles:
        found = judged.target.role(role.name)
        if found is not None:
            yield judged.target, role, found


def _owner(target: Target) -> str:
    return f"{scaler.TARGET_KIND} {messages.word(target.name)}"


@scaler_rule(
    "role-unknown",
    section="Resource",
    cause="A scaled role that the deployment does not have.",
    remedy="Correct the name or remove the entry.",
)
def role_unknown(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Scaled roles are roles of the target."""
    if judged.target is None:
        return
    for role in judged.spec.roles:
        if judged.target.role(role.name) is None:
            has = messages.join([messages.word(known.name) for known in judged.target.roles]) or "no roles"
            says = f" refused: {_owner(judged.target)} has {has}; correct the name or remove the entry"
            yield rule.broken(f"{paths.role(role.name)}.name", says, value=messages.word(role.name))


@scaler_rule(
    "command",
    section=SECTION,
    cause="A role with a custom command, whose signals are not managed.",
    remedy="Remove the command from the deployment's role.",
)
def command(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """A role with a custom command cannot be scaled."""
    for target, role, found in _scaled(judged):
        if found.has_command:
            path = paths.role(role.name)
            says = (
                f": {_owner(target)} sets a command for it, so its signals are not managed; "
                f"remove {path}.command from the deployment before scaling it"
            )
            yield rule.broken(path, says)


@scaler_rule(
    "elastic-ep",
    section=SECTION,
    cause="An elastic expert-parallel role, whose width grows one collective.",
    remedy="Remove elasticEp from the deployment's role, or scale another one.",
)
def elastic_ep(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """An elastic role has no independent replicas to add."""
    for target, role, found in _scaled(judged):
        if found.is_elastic:
            path = paths.role(role.name)
            says = (
                f": {_owner(target)} sets elasticEp for it, so it grows by width and not by replicas; "
                f"remove {path}.elasticEp from the deployment before scaling it"
            )
            yield rule.broken(path, says)


@scaler_rule(
    "name-length",
    section=SECTION,
    cause="At maxReplicas a generated group or Pod name is longer than 63 characters.",
    remedy="Lower maxReplicas, or shorten the deployment's or the role's name.",
)
def name_length(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Names `<deployment>-<role>-r<ordinal>-m<member>` fit a label at the largest ordinal and member."""
    for target, role, found in _scaled(judged):
        without_ordinal = len(f"{target.name}-{role.name}-r-m{found.size - 1}")
        length = without_ordinal + len(str(role.max_replicas - 1))
        if length > LABEL_LIMIT:
            digits = LABEL_LIMIT - without_ordinal
            fits = f"at most {min(10**digits, MAX_REPLICAS)} fits, or" if digits > 0 else "no count fits, so"
            says = (
                f" gives Pod names of {length} characters, {LABEL_LIMIT} allowed; {fits} shorten the deployment "
                "or role name"
            )
            yield rule.broken(f"{paths.role(role.name)}.maxReplicas", says, value=str(role.max_replicas))


RULES: Final[tuple[ScalerRule, ...]] = (role_unknown, command, elastic_ep, name_length)
