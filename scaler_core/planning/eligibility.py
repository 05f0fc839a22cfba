"""Whether a target can be planned at all: judged again on every pass, because both objects are edited later."""

from collections.abc import Iterator

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.reasons import Reason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.model.plan import Blocked


def judge_eligibility(spec: ScalerSpec, target: ModelDeployment) -> Blocked | None:
    """Why nothing may be planned for this target, or None (spec, Bounds and ratios and Limitations).

    Bounds must cover exactly the target's roles; roles with a custom command or an elastic width are not scaled.
    """
    problems = tuple(_problems(spec, target))
    if not problems:
        return None
    return Blocked(reason=Reason.BOUNDS_CONFLICT, message="; ".join(problems), stops_planning=True)


def _problems(spec: ScalerSpec, target: ModelDeployment) -> Iterator[str]:
    bounded = {role.name for role in spec.roles}
    present = set(target.vector)
    for name in sorted(present - bounded):
        yield f"role {name} of ModelDeployment {target.metadata.name} has no bounds; add it to spec.roles"
    for name in sorted(bounded - present):
        yield f"spec.roles names {name}, which ModelDeployment {target.metadata.name} does not have; remove it"
    for role in target.spec.roles:
        if role.command:
            yield f"role {role.name} sets a command, so its signals are not managed; remove the command to scale it"
        if role.elastic_ep is not None:
            yield f"role {role.name} is elastic (elasticEp), its width grows one collective; it cannot be scaled"
