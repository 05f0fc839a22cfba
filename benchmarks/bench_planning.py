"""What a planning pass costs, and what the windows weigh."""

import json
import sys

from benchmarks.yardstick import Row, microseconds, report
from scaler_core.api.deployment import RoleKind
from scaler_core.api.quantity import Quantity
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import Behavior, Ratio, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.api.scaler_status import DemandSample, Predictor, RoleObservation, ScalerStatus
from scaler_core.model.plan import PlanInput, RoleInput
from scaler_core.model.recommendation import Recommendation
from scaler_core.planning.history import RecommendationHistory
from scaler_core.planning.planner import plan
from scaler_core.ratios.feasibility import check
from scaler_core.ratios.propagation import Lattice

ANY_STEP = StepPolicy(type=StepType.PODS, value=1024)
NAMES = tuple(f"role-{number}" for number in range(10))
FEW, MANY = 3, 10
SLOW = "0.9990234375"  # 1023/1024: a cycle with it walks through every count


def band(numerator: str, denominator: str, low: str | None, high: str | None) -> Ratio:
    bounds = {"min": low and Quantity(low), "max": high and Quantity(high)}
    return Ratio(numerator_role=numerator, denominator_role=denominator, **bounds)


def role(name: str, current: int, wish: int) -> RoleInput:
    return RoleInput(
        name=name,
        kind=RoleKind.DECODE,
        current=current,
        ready=current,
        minimum=1,
        maximum=1024,
        recommendation=Recommendation(replicas=wish, reason=RoleReason.TOKEN_THROUGHPUT, message="measured"),
        is_complete=True,
        stabilized_up=wish,
        stabilized_down=wish,
    )


def few_roles() -> PlanInput:
    ratios = (band(NAMES[0], NAMES[1], "0.5", "2"), band(NAMES[2], NAMES[0], "0.25", "1"))
    roles = (role(NAMES[0], 4, 9), role(NAMES[1], 4, 4), role(NAMES[2], 2, 2))
    return PlanInput(now=0.0, roles=roles, ratios=ratios, behavior=Behavior())


def ring() -> tuple[Ratio, ...]:
    """A cycle through ten roles that allows growth together, and is nearly neutral."""
    down = [band(NAMES[i], NAMES[i + 1], None, "1") for i in range(MANY - 1)]
    return (*down, band(NAMES[-1], NAMES[0], None, "1.0009775171"))


def mesh() -> tuple[Ratio, ...]:
    """Every pair of ten roles in a narrow band: 45 ratios, 90 caps, thousands of cycles."""
    return tuple(band(a, b, SLOW, "1.0009775171") for a in NAMES for b in NAMES if a < b)


def many_roles(ratios: tuple[Ratio, ...]) -> PlanInput:
    behavior = Behavior(scale_up=ScaleUp(step_policy=ANY_STEP), scale_down=ScaleDown(step_policy=ANY_STEP))
    roles = tuple(role(name, 512, 1024 if name == NAMES[4] else 1) for name in NAMES)
    return PlanInput(now=0.0, roles=roles, ratios=ratios, behavior=behavior)


def stuck() -> tuple[Lattice, list[int], list[int]]:
    """An infeasible cycle that a plain propagation walks down one replica at a time."""
    ratios = [
        *(band(NAMES[i], NAMES[i + 1], None, "1") for i in range(MANY - 1)),
        band(NAMES[-1], NAMES[0], None, SLOW),
    ]
    return Lattice.of(NAMES, ratios), [1] * MANY, [1024] * MANY


def full_history() -> RecommendationHistory:
    history = RecommendationHistory()
    for number in range(1000):
        history = history.append(1_800_000_000.123 + 5 * number, 1 + number * 7 % 1024, 5)
    return history


def full_status(history: RecommendationHistory) -> ScalerStatus:
    demand = tuple(DemandSample(timestamp=t + 0.123, tokens_per_second=Quantity("1234567.891")) for t in range(256))
    roles = [RoleObservation(name=f"{name:-<40}", stabilization_history=history.to_status()) for name in NAMES]
    predictors = [Predictor(name=f"{name:-<40}", history=demand) for name in NAMES]
    return ScalerStatus(roles=tuple(roles), predictors=tuple(predictors))


def kibibytes(history: RecommendationHistory) -> float:
    return (sys.getsizeof(history) + sys.getsizeof(history.times) + sys.getsizeof(history.counts)) / 1024


def main() -> None:
    few, circle, net = few_roles(), many_roles(ring()), many_roles(mesh())
    lattice, low, high = stuck()
    bounds, ratios = dict.fromkeys(NAMES, (1, 1024)), ring()
    history = full_history()
    now = history.times[-1]
    wire = len(json.dumps(full_status(history).to_wire(), separators=(",", ":")))
    rows = [
        Row(name="plan, 3 roles", value=microseconds(lambda: plan(few)), limit=200, unit="us"),
        Row(name="plan, 10 roles x 1024, ring", value=microseconds(lambda: plan(circle)), limit=5000, unit="us"),
        Row(name="plan, 10 roles x 1024, mesh", value=microseconds(lambda: plan(net)), limit=5000, unit="us"),
        Row(
            name="propagation, 10 roles x 1024, infeasible 1023/1024 cycle",
            value=microseconds(lambda: lattice.greatest(low, high)),
            limit=5000,
            unit="us",
        ),
        Row(
            name="feasibility, 10 roles x 1024, ring",
            value=microseconds(lambda: check(bounds, ratios)),
            limit=5000,
            unit="us",
        ),
        Row(
            name="history, one append to a full one",
            value=microseconds(lambda: history.append(now + 5, 3, 5)),
            limit=500,
            unit="us",
        ),
        Row(
            name="history, one window of 1800 s",
            value=microseconds(lambda: history.highest(1800)),
            limit=200,
            unit="us",
        ),
        Row(name="histories of 10 roles in memory", value=MANY * kibibytes(history), limit=128, unit="Ki"),
        Row(name="status of 10 roles on the wire, full", value=wire / 1000, limit=400, unit="kB"),
    ]
    report("planning", rows)


if __name__ == "__main__":
    main()
