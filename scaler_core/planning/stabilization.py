"""The second stage: a count follows what was recommended throughout a window, not the last word.

The windows shape what a role asks for. They do not bind a role that moves only because a ratio takes it along, except
that it never goes below what its own shrink window asks for.
"""

from typing import Final

from scaler_core.api.reasons import RoleReason
from scaler_core.planning.limits import Limit, RoleView, Rule


def growth_window(view: RoleView) -> Limit:
    """Growth to no more than the lowest recommendation of the growth window, once history spans it."""
    seconds = view.behavior.scale_up.stabilization_window_seconds
    lowest = view.role.stabilized_up
    if lowest is None:
        message = f"growth waits until recommendations span {seconds} s"
    else:
        message = f"the lowest recommendation of the last {seconds} s is {lowest}"
    ceiling = view.role.current if lowest is None else max(view.role.current, lowest)
    return Limit(replicas=ceiling, reason=RoleReason.STABILIZING, message=message)


def shrink_window(view: RoleView) -> Limit:
    """Shrinkage to no less than the highest recommendation of the shrink window, once history spans it."""
    seconds = view.behavior.scale_down.stabilization_window_seconds
    highest = view.role.stabilized_down
    if highest is None:
        message = f"shrinkage waits until recommendations span {seconds} s"
    else:
        message = f"the highest recommendation of the last {seconds} s is {highest}"
    floor = view.role.current if highest is None else min(view.role.current, highest)
    return Limit(replicas=floor, reason=RoleReason.STABILIZING, message=message)


CEILINGS: Final[tuple[Rule, ...]] = (growth_window,)  # a peak shorter than the window buys nothing
FLOORS: Final[tuple[Rule, ...]] = (shrink_window,)  # a dip shorter than the window loses nothing
