"""Who gives a replica to whom (spec, Resource rebalancing)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.scaler_spec import RebalancePolicy, ScalerSpec
from scaler_core.api.scaler_status import Exhaustion
from scaler_core.model.plan import Plan, RolePlan, Stage
from scaler_core.transactions import rebalance
from scaler_core.transactions.exhaustion import exhausted_roles
from scaler_core.transactions.legality import is_legal
from scaler_core.transactions.rebalance import RebalanceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Donation:
    """Both legs: the vector without the donor's replica, then with the receiver's."""

    receiver: str
    donor: str
    released: dict[str, int]
    acquired: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Why no donation starts, for as long as nothing changes."""

    event: RebalanceEvent
    message: str


class Fitness(StrEnum):
    """Whether a role may donate."""

    FIT = "Fit"
    LATER = "Later"
    """A guard or a window holds it for now."""
    UNFIT = "Unfit"


_MOST_NAMED: Final = 4


def choose(plan: Plan, exhaustion: Exhaustion, target: ModelDeployment, spec: ScalerSpec) -> Donation | Denial | None:
    """The donation to start, or why there is none; None while nobody needs one or a guard says to wait.

    Receivers come by their relative deficit, the largest first, then in role order (`Priority`: in list order). Donors
    come in role order, or under `Priority` in list order after the receiver.
    """
    reasons: list[str] = []
    illegal, is_later = "", False
    needy = receivers(plan, exhaustion, target, spec)
    for receiver in needy:
        for donor in _candidates(receiver, target, spec):
            fitness, why = judge_donor(donor, receiver, plan, target, spec)
            if fitness is Fitness.LATER:
                is_later = True
                if spec.rebalance.policy is RebalancePolicy.PRIORITY:
                    break  # the next listed role comes first; the one after it does not jump the queue
            elif fitness is Fitness.UNFIT:
                reasons.append(f"{donor} {why}")
            elif not _broken(donation := _legs(donor, receiver, target.vector), spec):
                return donation
            else:
                illegal = illegal or f"{donor} -> {receiver}: an intermediate vector breaks bounds or ratios"
    if not needy or is_later:
        return None
    if illegal:
        return Denial(event=RebalanceEvent.ILLEGAL, message=illegal)
    why = "; ".join(reasons[:_MOST_NAMED]) or "no role may donate"
    return Denial(event=RebalanceEvent.NO_DONOR, message=f"no donor for {needy[0]}: {why}")


def receivers(plan: Plan, exhaustion: Exhaustion, target: ModelDeployment, spec: ScalerSpec) -> tuple[str, ...]:
    """Exhausted roles that still ask for more than the plan can give them now, the neediest first."""
    order = spec.rebalance.priority if spec.rebalance.policy is RebalancePolicy.PRIORITY else tuple(target.vector)
    exhausted = set(exhausted_roles(exhaustion))
    vector = target.vector
    needs = {
        role: Fraction(plan.roles[role].recommended - vector[role], vector[role])
        for role in order
        if role in exhausted
        and role in vector
        and role in plan.roles
        and plan.roles[role].recommended > vector[role]
        and plan.vector.get(role, 0) <= vector[role]
    }
    return tuple(sorted(needs, key=lambda role: (-needs[role], order.index(role))))


def judge_donor(
    donor: str, receiver: str, plan: Plan, target: ModelDeployment, spec: ScalerSpec
) -> tuple[Fitness, str]:
    """Whether a role may give a replica to the receiver, and why not."""
    bounds, role = spec.role(donor), plan.roles.get(donor)
    if not rebalance.same_pool(target, donor, receiver):
        return Fitness.UNFIT, "uses another instanceType"
    if bounds is None or target.vector[donor] <= bounds.min_replicas:
        return Fitness.UNFIT, f"is at its minimum of {target.vector[donor]}"
    if role is None:
        return Fitness.UNFIT, "has no plan"
    return _judge_plan(role, target.vector[donor], spec)


def _judge_plan(role: RolePlan, current: int, spec: ScalerSpec) -> tuple[Fitness, str]:
    is_opposing = spec.rebalance.policy is RebalancePolicy.OPPOSING
    if role.recommended > current:
        return Fitness.UNFIT, "wants to grow itself"
    if is_opposing and role.recommended == current:
        return Fitness.UNFIT, "does not want to shrink"
    if role.release_blocked:
        return Fitness.LATER, role.release_blocked
    if is_opposing and _after_window(role) >= current:
        return Fitness.LATER, "waits for its scale-down window"
    return Fitness.FIT, ""


def _candidates(receiver: str, target: ModelDeployment, spec: ScalerSpec) -> Iterator[str]:
    listed = tuple(target.vector)
    if spec.rebalance.policy is RebalancePolicy.PRIORITY:
        listed = rebalance.donors_after(receiver, spec)
    return (role for role in listed if role != receiver and role in target.vector)


def _after_window(role: RolePlan) -> int:
    """What the shrink window leaves of the recommendation."""
    return next((stage.replicas for stage in role.stages if stage.stage is Stage.STABILIZATION), role.current)


def _legs(donor: str, receiver: str, vector: dict[str, int]) -> Donation:
    released = {**vector, donor: vector[donor] - 1}
    acquired = {**released, receiver: vector[receiver] + 1}
    return Donation(receiver=receiver, donor=donor, released=released, acquired=acquired)


def _broken(donation: Donation, spec: ScalerSpec) -> bool:
    return not is_legal(donation.released, spec) or not is_legal(donation.acquired, spec)
