"""Every rule of both webhooks: the documentation table and the completeness test are made from this."""

from collections.abc import Mapping
from typing import Final

from scaler_core.admission import fence_rules, scaler
from scaler_core.admission.rules import Rule, Subject

REVIEW: Final = Rule(
    id="review",
    subject=Subject.REQUEST,
    section="Binding fence",
    cause="The webhook received what is no admission review of a kind that it judges.",
    remedy="Look at the webhook's registration, and at objects nested too deeply to be read.",
)
DEADLINE: Final = Rule(
    id="deadline",
    subject=Subject.REQUEST,
    section="Binding fence",
    cause="The webhook could not judge in the time that the API server gives it.",
    remedy="Try again; look at the webhook's load and its connection to the API server.",
)
INTERNAL: Final = Rule(
    id="internal",
    subject=Subject.REQUEST,
    section="Binding fence",
    cause="The webhook failed while judging; nothing is admitted unjudged.",
    remedy="Try again; report what the webhook's log says.",
)
REQUEST_RULES: Final[tuple[Rule, ...]] = (REVIEW, DEADLINE, INTERNAL)
"""What befalls a request before or while it is judged."""
RULES: Final[tuple[Rule, ...]] = (*scaler.RULES, *fence_rules.RULES, *REQUEST_RULES)
BY_ID: Final[Mapping[str, Rule]] = {rule.id: rule for rule in RULES}
