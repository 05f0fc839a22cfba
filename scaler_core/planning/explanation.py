"""Why the ratios changed or held a role, in words that name the limit which would have to give."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaler_core.api.reasons import RoleReason
from scaler_core.model.action import render_vector
from scaler_core.model.plan import Stage, StageResult
from scaler_core.planning.chain import Constrained
from scaler_core.planning.limits import Limit
from scaler_core.planning.projection import Direction, Projection
from scaler_core.ratios.bands import Cap


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioHold:
    """A component that stays although its policy would let it move, and the limit that stops it."""

    role: str
    """The role whose wish is not met."""
    limit: Limit
    message: str

    @property
    def is_conflict(self) -> bool:
        """The step is too small for the ratios; every other limit passes by itself."""
        return self.limit.reason is RoleReason.PACING_BOUNDED


def ratio_stage(projection: Projection, position: int, hold: RatioHold | None) -> StageResult:
    """What the ratios made of one member's count."""
    member, count = projection.members[position], projection.counts[position]
    if count == member.wish:
        return StageResult(stage=Stage.RATIOS, replicas=count)
    if hold is not None:
        reason = RoleReason.RATIO_CONFLICT if hold.is_conflict else RoleReason.RATIO_BOUNDED
        return StageResult(stage=Stage.RATIOS, replicas=count, reason=reason, message=hold.message)
    message = _sentence(projection, position)
    return StageResult(stage=Stage.RATIOS, replicas=count, reason=RoleReason.RATIO_BOUNDED, message=message)


def ratio_hold(projection: Projection) -> RatioHold | None:
    """Why a component that asks to move, and could inside its bounds, stays where it is."""
    if projection.counts != projection.current:
        return None
    for position, member in enumerate(projection.members):
        if member.wish > member.view.role.current:
            hold = _growth_hold(projection, position)
        elif member.wish < member.view.role.current:
            hold = _shrink_hold(projection, position)
        else:
            continue
        if hold is not None:
            return hold
    return None


def _growth_hold(projection: Projection, position: int) -> RatioHold | None:
    """The smallest legal growth of one member, and whose ceiling stands in its way."""
    most = [member.view.role.maximum for member in projection.members]
    needed = projection.lattice.raised(projection.current, position, most)
    if needed is None:
        return None  # another role's maxReplicas is the end: the policy is reached, nothing is held
    pairs = zip(projection.members, needed, strict=True)
    blocker = next((member for member, count in pairs if count > member.ceiling.replicas), None)
    return None if blocker is None else _hold(projection, position, needed, blocker, blocker.ceiling)


def _shrink_hold(projection: Projection, position: int) -> RatioHold | None:
    """The smallest legal shrinkage of one member that leaves every other what it asks for, and whose floor stops it."""
    most = list(projection.current)
    most[position] -= 1
    asked = [
        max(member.view.role.minimum, min(member.after(Stage.STABILIZATION), member.view.role.current))
        for member in projection.members
    ]
    needed = projection.lattice.greatest(asked, most)
    if needed is None:
        return None  # another role needs the capacity: the policy is reached, nothing is held
    pairs = zip(projection.members, needed, strict=True)
    blocker = next((member for member, count in pairs if count < member.floor.replicas), None)
    return None if blocker is None else _hold(projection, position, needed, blocker, blocker.floor)


def _hold(
    projection: Projection, position: int, needed: Sequence[int], blocker: Constrained, limit: Limit
) -> RatioHold:
    steps = zip(projection.members, needed, projection.current, strict=True)
    changes = "/".join(f"{m.view.role.name} {count - now:+d}" for m, count, now in steps if count != now)
    role = projection.members[position].view.role.name
    message = (
        f"{_band_names(projection)} needs {changes} in one pass to move {role}, "
        f"but for {blocker.view.role.name} {limit.message}"
    )
    return RatioHold(role=role, limit=limit, message=message)


def _band_names(projection: Projection) -> str:
    names = dict.fromkeys(cap.pair for cap in projection.lattice.caps)
    return " and ".join(names) or "the role"


def _sentence(projection: Projection, position: int) -> str:
    """Why a count is not what the role asks for."""
    cap = _tight_cap(projection, position)
    if cap is None:
        return _partner(projection, position)
    if _is_circular(projection, position):
        return _gap(projection, position)
    name, count = projection.members[position].view.role.name, projection.counts[position]
    other = _other(cap, name)
    verb = "allows no more than" if cap.role == name else "needs"
    vector = _vector(projection, projection.counts)
    return f"{cap.label} {verb} {count} with {other} at {vector[other]}{_end(projection, cap, other, vector)}"


def _tight_cap(projection: Projection, position: int) -> Cap | None:
    """The cap that stops the count from being nearer to the wish, where one alone does."""
    member, count = projection.members[position], projection.counts[position]
    name = member.view.role.name
    step = 1 if count < member.wish else -1
    nearer = {**_vector(projection, projection.counts), name: count + step}
    return next(
        (cap for cap in projection.lattice.caps if name in {cap.role, cap.other} and not cap.admits(nearer)), None
    )


def _is_circular(projection: Projection, position: int) -> bool:
    """Whether the caps lead from role to role back to this one, and on the way no count stands by itself."""
    at = position
    for _ in projection.members:
        cap = _tight_cap(projection, at)
        if cap is None:
            return False
        at = projection.lattice.roles.index(_other(cap, projection.lattice.roles[at]))
        if projection.counts[at] in {projection.members[at].wish, projection.members[at].ceiling.replicas}:
            return False
        if at == position:
            return True
    return False


def _gap(projection: Projection, position: int) -> str:
    """What was asked for and the next legal counts, where several counts move each other."""
    counts, is_up = projection.counts, projection.direction is Direction.UP
    asked = [
        max(member.wish, now) if is_up else member.wish
        for member, now in zip(projection.members, projection.current, strict=True)
    ]
    if counts[position] == asked[position]:
        return _partner(projection, position)
    is_raised = counts[position] > asked[position]
    moved = {
        name
        for name, count, wish in zip(projection.lattice.roles, counts, asked, strict=True)
        if (count > wish if is_raised else count < wish)
    }
    ends = [
        render_vector({name: count for name, count in _vector(projection, vector).items() if name in moved})
        for vector in (asked, counts)
    ]
    side = "above" if is_raised else "below"
    return f"the next counts {side} {ends[0]} within {_band_names(projection)} are {ends[1]}"


def _other(cap: Cap, name: str) -> str:
    return cap.other if cap.role == name else cap.role


def _vector(projection: Projection, counts: Sequence[int]) -> dict[str, int]:
    return dict(zip(projection.lattice.roles, counts, strict=True))


def _end(projection: Projection, cap: Cap, other: str, vector: dict[str, int]) -> str:
    """The limit at which the other role stands, where it is what keeps the capped role from growing."""
    member = next(m for m in projection.members if m.view.role.name == other)
    at_ceiling = cap.other == other and vector[other] == member.ceiling.replicas
    return f" ({member.ceiling.message})" if at_ceiling else ""


def _partner(projection: Projection, position: int) -> str:
    """What holds a count where no cap alone does: the component's direction, or several caps together."""
    name, count = projection.members[position].view.role.name, projection.counts[position]
    names = [member.view.role.name for member in projection.members]
    steps = zip(names, projection.counts, projection.current, strict=True)
    growing = [role for role, after, now in steps if after > now]
    if growing and count == projection.current[position]:
        verb = "grows" if len(growing) == 1 else "grow"
        return f"ratios connect {name} to {' and '.join(growing)}, which {verb}, so it does not shrink in this pass"
    return f"{_band_names(projection)} together allow {name} no count nearer than {count} here"
