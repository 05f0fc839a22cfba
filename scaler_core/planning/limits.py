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
    tightest: Limit | None = None
    for rule in rules:
        tightest = lower(tightest, rule(view))
    return tightest


def highest(rules: Iterable[Rule], view: RoleView) -> Limit | None:
    """The tightest floor; of equal ones the first."""
    tightest: Limit | None = None
    for rule in rules:
        tightest = higher(tightest, rule(view))
    return tightest


def lower(first: Limit | None, second: Limit | None) -> Limit | None:
    """The tighter of two ceilings; the first where they are equal."""
    return first if second is None or (first is not None and first.replicas <= second.replicas) else second


def higher(first: Limit | None, second: Limit | None) -> Limit | None:
    """The tighter of two floors; the first where they are equal."""
    return first if second is None or (first is not None and first.replicas >= second.replicas) else second
