"""The first stage: minReplicas and maxReplicas."""

from typing import Final

from scaler_core.api.reasons import RoleReason
from scaler_core.planning.limits import Limit, RoleView, Rule


def maximum(view: RoleView) -> Limit:
    """Never above maxReplicas."""
    most = view.role.maximum
    return Limit(replicas=most, reason=RoleReason.AT_MAXIMUM, message=f"maxReplicas is {most}")


def minimum(view: RoleView) -> Limit:
    """Never below minReplicas."""
    fewest = view.role.minimum
    return Limit(replicas=fewest, reason=RoleReason.AT_MINIMUM, message=f"minReplicas is {fewest}")


CEILINGS: Final[tuple[Rule, ...]] = (maximum,)  # the user's cost limit
FLOORS: Final[tuple[Rule, ...]] = (minimum,)  # the user's capacity floor
