"""Bounds, ratios and priorities: which vectors of counts a scaler allows (spec/scaling.md, Bounds and ratios)."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from scaler_core.admission import messages
from scaler_core.admission.rules import Rule
from scaler_core.admission.scaler_rules import paths
from scaler_core.admission.scaler_rules.subject import Judged, ScalerRule, scaler_rule
from scaler_core.admission.verdict import Violation
from scaler_core.api.scaler_spec import Ratio, ScalerSpec

SECTION: Final = "Bounds and ratios"


def _repeated(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _scaled(spec: ScalerSpec) -> set[str]:
    return {role.name for role in spec.roles}


def ratio_path(ratio: Ratio) -> str:
    """Path of a ratio."""
    return paths.ratio(ratio.numerator_role, ratio.denominator_role)


@scaler_rule("role-unique", section=SECTION, cause="A role has bounds twice.", remedy="Keep one entry for each role.")
def role_unique(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Each role once."""
    for name in _repeated([role.name for role in judged.spec.roles]):
        yield rule.broken(paths.role(name), " refused: the role is listed twice; keep one entry for each role")


@scaler_rule(
    "bounds-order",
    section=SECTION,
    cause="minReplicas is above maxReplicas.",
    remedy="Raise the maximum or lower the minimum.",
)
def bounds_order(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """The minimum is no greater than the maximum."""
    for role in judged.spec.roles:
        if role.min_replicas > role.max_replicas:
            yield rule.broken(
                f"{paths.role(role.name)}.minReplicas",
                f" refused: it is above maxReplicas {role.max_replicas}; raise the maximum or lower the minimum",
                value=str(role.min_replicas),
            )


@scaler_rule(
    "ratio-roles",
    section=SECTION,
    cause="A ratio names a role that is not scaled, or one role twice.",
    remedy="Name two distinct roles of spec.roles.",
)
def ratio_roles(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Both roles of a ratio are scaled and distinct."""
    scaled = _scaled(judged.spec)
    for ratio in judged.spec.ratios:
        if ratio.numerator_role == ratio.denominator_role:
            yield rule.broken(
                f"{ratio_path(ratio)}.denominatorRole",
                " refused: it is the numerator, too; name two distinct roles",
                value=messages.word(ratio.denominator_role),
            )
            continue
        for member, name in (("numeratorRole", ratio.numerator_role), ("denominatorRole", ratio.denominator_role)):
            if name not in scaled:
                yield rule.broken(
                    f"{ratio_path(ratio)}.{member}",
                    " refused: it is not a scaled role; add it to spec.roles or correct the name",
                    value=messages.word(name),
                )


@scaler_rule("ratio-unique", section=SECTION, cause="An ordered pair of roles has two ratios.", remedy="Keep one.")
def ratio_unique(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Each ordered pair once."""
    for ratio in judged.spec.ratios:
        pairs = [(other.numerator_role, other.denominator_role) for other in judged.spec.ratios]
        pair = (ratio.numerator_role, ratio.denominator_role)
        if pairs.count(pair) > 1 and judged.spec.ratios[pairs.index(pair)] is ratio:
            yield rule.broken(ratio_path(ratio), " refused: the pair is listed twice; keep one ratio for each pair")


@scaler_rule(
    "ratio-empty",
    section=SECTION,
    cause="A ratio with none of min, target and max.",
    remedy="Set one of them or remove the ratio.",
)
def ratio_empty(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """A ratio says something."""
    for ratio in judged.spec.ratios:
        if ratio.min is None and ratio.target is None and ratio.max is None:
            yield rule.broken(
                ratio_path(ratio), " refused: it has none of min, target and max; set one of them or remove the ratio"
            )


@scaler_rule(
    "ratio-order",
    section=SECTION,
    cause="A ratio's min is above its max, or its target is outside of them.",
    remedy="Make min <= target <= max.",
)
def ratio_order(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Within a ratio, min <= target <= max, exactly."""
    for ratio in judged.spec.ratios:
        low, high, target = ratio.min, ratio.max, ratio.target
        path = ratio_path(ratio)
        if low is not None and high is not None and low.value > high.value:
            yield rule.broken(
                f"{path}.min", f" refused: it is above max {high}; make min <= max", value=messages.describe(str(low))
            )
        elif target is not None and low is not None and target.value < low.value:
            yield rule.broken(
                f"{path}.target",
                f" refused: it is below min {low}; make min <= target",
                value=messages.describe(str(target)),
            )
        elif target is not None and high is not None and target.value > high.value:
            yield rule.broken(
                f"{path}.target",
                f" refused: it is above max {high}; make target <= max",
                value=messages.describe(str(target)),
            )


@scaler_rule(
    "priority-names",
    section="Resource rebalancing",
    cause="rebalance.priority names a role that is not scaled, or one role twice.",
    remedy="Name scaled roles, each once.",
)
def priority_names(rule: Rule, judged: Judged) -> Iterator[Violation]:
    """Priorities are unique scaled roles."""
    priority = judged.spec.rebalance.priority
    for name in dict.fromkeys(priority):
        if name not in _scaled(judged.spec):
            says = " refused: it is not a scaled role; add it to spec.roles or correct the name"
            yield rule.broken("spec.rebalance.priority", says, value=messages.word(name))
    for name in _repeated(list(priority)):
        says = " refused: it is listed twice; keep each role once"
        yield rule.broken("spec.rebalance.priority", says, value=messages.word(name))


RULES: Final[tuple[ScalerRule, ...]] = (
    role_unique, bounds_order, ratio_roles, ratio_unique, ratio_empty, ratio_order, priority_names,
)  # fmt: skip
