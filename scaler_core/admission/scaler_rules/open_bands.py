"""Coupled roles whose band is open at one end, so that nothing moves them in one direction.

A band alone is a constraint and no wish: the count nearest to the current one inside it is taken. With both ends the
role follows its neighbours with some slack; with one end it is pushed one way and never brought back.
"""

from collections.abc import Iterator

from scaler_core.admission import messages
from scaler_core.admission.scaler_rules.subject import Judged
from scaler_core.admission.scaler_rules.vectors import ratio_path
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_spec import Ratio


def open_bands(judged: Judged) -> Iterator[str]:
    """Coupled roles that grow and do not come down again before idleness, or come down and do not grow again."""
    signalled = _signalled(judged)
    for role in [role.name for role in judged.spec.roles if role.name not in signalled]:
        ties = list(_ties(role, judged.spec.ratios, signalled))
        endless = next((tie for tie in ties if tie[0].target is None and tie[2] is None), None)
        if endless is not None and any(least is not None for _, least, _ in ties):
            yield _line(endless[0], role, "grows with its neighbour and comes down only without any load")
        elif ties and all(ratio.target is None and least is None for ratio, least, _ in ties):
            yield _line(ties[0][0], role, "comes down with its neighbour and never grows again")


def _signalled(judged: Judged) -> frozenset[str]:
    """Roles with a signal of their own; every role where that is not known."""
    spec = judged.spec
    if spec.algorithm.proportional is not None:
        return frozenset(target.name for target in spec.algorithm.proportional.role_targets)
    kinds = {} if judged.target is None else {role.name: role.kind for role in judged.target.roles}
    return frozenset(role.name for role in spec.roles if kinds.get(role.name) is not RoleKind.ENCODE)


def _ties(
    role: str, ratios: tuple[Ratio, ...], signalled: frozenset[str]
) -> Iterator[tuple[Ratio, object | None, object | None]]:
    """Ratios to signalled neighbours, each with what bounds this role's count from below and from above."""
    for ratio in ratios:
        if ratio.numerator_role == role and ratio.denominator_role in signalled:
            yield ratio, ratio.min, ratio.max
        elif ratio.denominator_role == role and ratio.numerator_role in signalled:
            yield ratio, ratio.max, ratio.min


def _line(ratio: Ratio, role: str, what: str) -> str:
    missing = "max" if ratio.max is None else "min"
    return (
        f"{ratio_path(ratio)}: {messages.word(role)} has no signal of its own and {what}; set a target, or a {missing}"
    )
