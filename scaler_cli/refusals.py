"""The page of every refusal of the webhook, from the registry of rules."""

from collections.abc import Iterable, Iterator
from typing import Final

from scaler_core.admission import registry
from scaler_core.admission.rules import Rule, Subject

_HEAD: Final = """\
<!-- Generated from the registry of rules by `make generate`; do not edit. -->
# Refusals

The webhook answers a refused write with one line. Its form is

    FIELD[: VALUE or OLD -> NEW] VERDICT: WHY; REMEDY (RULE)

and its last word is the rule, the key of the tables below. The same word is in the reason of every entry of
`status.details.causes`, in the audit annotation `rule`, and in the label `rule` of `mds_webhook_requests_total`.

Refusals are 403. Where the webhook cannot judge for now, because a read failed or time ran out, it answers 503, and
the same write may pass a moment later. `mds validate -f FILE` gives the same verdicts on files.
"""
_TITLES: Final = {
    Subject.SCALER: ("A ModelDeploymentScaler is refused", "Judged when it is created, and when its spec changes."),
    Subject.TARGET: (
        "A ModelDeployment is refused",
        "The fence: what a write may change while a scaler owns the replica counts, and while none does.",
    ),
    Subject.REQUEST: ("Any write is refused", "What befalls a request before it is judged."),
}


def page() -> str:
    """The page in Markdown."""
    return "\n".join([_HEAD, *(line for subject in _TITLES for line in _part(subject))]).rstrip() + "\n"


def _part(subject: Subject) -> Iterator[str]:
    title, text = _TITLES[subject]
    yield from (f"## {title}", "", text, "")
    yield from _table(rule for rule in registry.RULES if rule.subject is subject)
    yield ""


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    yield "| Rule | What was found | What to do | Section of the contract |"
    yield "|---|---|---|---|"
    for rule in rules:
        yield f"| `{rule.id}` | {rule.cause} | {rule.remedy} | {rule.section} |"
