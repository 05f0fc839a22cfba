"""The stages before the ratios, for one role: the list is the policy."""

from dataclasses import dataclass
from typing import Final

from scaler_core.model.plan import Stage, StageResult
from scaler_core.planning import bounds, guards, pacing, stabilization
from scaler_core.planning.limits import Limit, RoleView, Rule, higher, highest, lower, lowest


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRules:
    """Ceilings and floors of one stage; `binds` tells whether they also bind a role that a ratio takes along."""

    stage: Stage
    ceilings: tuple[Rule, ...]
    floors: tuple[Rule, ...]
    binds: bool = True


CHAIN: Final = (
    StageRules(stage=Stage.BOUNDS, ceilings=bounds.CEILINGS, floors=bounds.FLOORS),
    StageRules(
        stage=Stage.STABILIZATION, ceilings=stabilization.CEILINGS, floors=stabilization.FLOORS, binds=False
    ),  # a window delays what a role asks for itself
    StageRules(stage=Stage.GUARDS, ceilings=guards.CEILINGS, floors=guards.FLOORS),
    StageRules(stage=Stage.PACING, ceilings=pacing.CEILINGS, floors=pacing.FLOORS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained:
    """What one role asks for after every stage, and the counts that it may take when a ratio moves it."""

    view: RoleView
    stages: tuple[StageResult, ...]
    ceiling: Limit
    floor: Limit

    @property
    def wish(self) -> int:
        """The count after the last stage."""
        return self.stages[-1].replicas

    def after(self, stage: Stage) -> int:
        """The count after a stage."""
        return next(result.replicas for result in self.stages if result.stage is stage)


def constrain(view: RoleView) -> Constrained:
    """Run one role through the chain. Its current count must be within its bounds."""
    count = view.role.recommendation.replicas
    stages: list[StageResult] = []
    ceiling, floor = bounds.maximum(view), bounds.minimum(view)
    for rules in CHAIN:
        most, fewest = lowest(rules.ceilings, view), highest(rules.floors, view)
        result = _limited(rules.stage, count, most, fewest)
        stages.append(result)
        count = result.replicas
        if rules.binds:
            ceiling, floor = lower(ceiling, most) or ceiling, higher(floor, fewest) or floor
    return Constrained(view=view, stages=tuple(stages), ceiling=ceiling, floor=floor)


def _limited(stage: Stage, count: int, ceiling: Limit | None, floor: Limit | None) -> StageResult:
    if ceiling is not None and count > ceiling.replicas:
        return StageResult(stage=stage, replicas=ceiling.replicas, reason=ceiling.reason, message=ceiling.message)
    if floor is not None and count < floor.replicas:
        return StageResult(stage=stage, replicas=floor.replicas, reason=floor.reason, message=floor.message)
    return StageResult(stage=stage, replicas=count)
