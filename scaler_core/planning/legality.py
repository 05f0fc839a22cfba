"""Whether the current counts satisfy the policy at all; nothing is planned from counts that do not."""

from scaler_core.api.reasons import Reason
from scaler_core.model.plan import Blocked, PlanInput
from scaler_core.planning.projection import lattices
from scaler_core.ratios.bands import Bound, Cap, broken_caps

_WAY_OUT = "suspend the scaler, set the counts and resume, or widen the policy"


def illegality(given: PlanInput) -> Blocked | None:
    """Why the current vector is illegal, with what it has, what is allowed and the way out; None where it is legal."""
    outside = [role for role in given.roles if not role.minimum <= role.current <= role.maximum]
    if outside:
        facts = "; ".join(
            f"{role.name} is at {role.current}, allowed are {role.minimum} to {role.maximum}" for role in outside
        )
        return Blocked(reason=Reason.BOUNDS_CONFLICT, message=f"{facts}; {_WAY_OUT}", stops_planning=True)
    vector = {role.name: role.current for role in given.roles}
    groups = lattices(tuple(vector), given.ratios)
    if all(lattice.admits([vector[role] for role in lattice.roles]) for lattice in groups):
        return None
    known = [r for r in given.ratios if r.numerator_role in vector and r.denominator_role in vector]
    facts = "; ".join(_broken(cap, vector) for cap in broken_caps(known, vector))
    return Blocked(reason=Reason.RATIO_CONFLICT, message=f"{facts}; {_WAY_OUT}", stops_planning=True)


def _broken(cap: Cap, vector: dict[str, int]) -> str:
    numerator, denominator = cap.ratio.numerator_role, cap.ratio.denominator_role
    has = f"{vector[numerator]}/{vector[denominator]}"
    ratio = vector[numerator] / vector[denominator]
    rule = f"at least {cap.text}" if cap.bound is Bound.MIN else f"at most {cap.text}"
    return f"{cap.pair} is {has} = {ratio:.3g}, allowed is {rule}"
