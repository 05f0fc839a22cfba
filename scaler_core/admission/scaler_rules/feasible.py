"""Ratios and bounds that leave no counts at all (spec/scaling.md, Bounds and ratios): exact and always decided."""

from collections.abc import Iterator
from typing import Final

from scaler_core.admission import messages
from scaler_core.admission.rules import Rule
from scaler_core.admission.scaler_rules.subject import Judged, ScalerRule, scaler_rule
from scaler_core.admission.verdict import Violation
from scaler_core.ratios import feasibility


@scaler_rule(
    "ratio-infeasible",
    section="Bounds and ratios",
    cause="No counts satisfy all bounds and ratio bands.",
    remedy="Make the smallest change that the message names.",
)
def ratio_infeasible(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Some vector of counts satisfies everything."""
    bounds = {role.name: (role.min_replicas, role.max_replicas) for role in judged.spec.roles}
    verdict = feasibility.check(bounds, judged.spec.ratios)
    if isinstance(verdict, feasibility.Infeasible):
        first = " and ".join(change.text for change in verdict.ways_out[0]) if verdict.ways_out else verdict.remedy
        remedy = verdict.remedy if len(verdict.message) <= messages.SOFT_LIMIT - len(rule.id) - 3 else first
        room = messages.HARD_LIMIT - len(f"{verdict.field}: {verdict.value} ; {remedy} ({rule.id})")
        yield rule.broken(verdict.field, f" {messages.cut(verdict.sentence, room)}; {remedy}", value=verdict.value)


RULES: Final[tuple[ScalerRule, ...]] = (ratio_infeasible,)
