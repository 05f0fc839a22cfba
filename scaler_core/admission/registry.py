"""Every rule of both webhooks: the documentation table and the completeness test are made from this."""

from collections.abc import Mapping
from typing import Final

from scaler_core.admission import fence_rules, scaler
from scaler_core.admission.rules import Rule

REVIEW: Final = "review"
"""Not a rule of any document: the last word of refusals of requests that are no admission reviews."""
RULES: Final[tuple[Rule, ...]] = (*scaler.RULES, *fence_rules.RULES)
BY_ID: Final[Mapping[str, Rule]] = {rule.id: rule for rule in RULES}
