"""What a limit is: a pure function from one role in one pass to the most or the fewest replicas that it allows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Behavior
from scaler_core.model.plan import RoleInput, TargetLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleView:
    """One role with all that its limits depend on; `now` in the seconds of `last_scale_up_at`."""

    role: RoleInput
    now: float
    behavior: Behavior
    target: TargetLimits
    is_in_cohort_component: bool
    """A role of its component has replicas in a pending cohort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A ceiling or a floor on a role's replicas, with the word and the sentence for it."""

    replicas: int
    reason: RoleReason
    message: str


Rule = Callable[[RoleView], Limit | None]
"""None where the limit does not apply to this role in this pass."""


def lowest(rules: Iterable[Rule], view: RoleView) -> Limit | None:
    """The tightest ceiling; of equal ones the first, so the order of a list is the order of explanations."""
    limits = [limit for rule in rules if (limit := rule(view)) is not None]
    return min(limits, key=lambda limit: limit.replicas, default=None)


def highest(rules: Iterable[Rule], view: RoleView) -> Limit | None:
    """The tightest floor; of equal ones the first."""
    limits = [limit for rule in rules if (limit := rule(view)) is not None]
    return max(limits, key=lambda limit: limit.replicas, default=None)
