"""Which roles move together: components of the graph that the ratios draw."""

from collections.abc import Iterable

from scaler_core.api.scaler_spec import Ratio


def components(roles: Iterable[str], ratios: Iterable[Ratio]) -> tuple[tuple[str, ...], ...]:
    """Roles connected by ratios; a role outside any ratio is a component of one.

    A ratio with only a target connects too: its roles are meant to move together. Components and their members keep
    the order of `roles`; ratios that name unknown roles connect nothing.
    """
    order = list(roles)
    leader = {role: role for role in order}
    for ratio in ratios:
        if ratio.numerator_role in leader and ratio.denominator_role in leader:
            kept, merged = leader[ratio.numerator_role], leader[ratio.denominator_role]
            leader = {role: kept if head == merged else head for role, head in leader.items()}
    groups: dict[str, list[str]] = {}
    for role in order:
        groups.setdefault(leader[role], []).append(role)
    return tuple(tuple(group) for group in groups.values())
