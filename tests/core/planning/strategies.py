"""Random planning passes: legal current vectors, bands narrow and wide, cycles, holds, steps."""

from collections.abc import Sequence
from itertools import permutations

from hypothesis import strategies as st

from scaler_core.api.scaler_spec import Behavior, Ratio, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.model.plan import PlanInput, RoleInput, TargetLimits
from tests.core.planning import brute_force
from tests.core.planning.planning_builders import given, ratio, recommend, role

THIRDS = {1 / 3: "0.3333333333", 2 / 3: "0.6666666667", 4 / 3: "1.3333333333"}


SHORT = {n / d for d in (1, 2, 4, 5, 8) for n in range(1, 60)}  # ratios with at most three decimals


def written_down(value: float) -> str:
    return THIRDS.get(value) or (f"{value:g}" if value in SHORT else f"{max(value - 5e-5, 1e-4):.4f}")


def written_up(value: float) -> str:
    return THIRDS.get(value) or (f"{value:g}" if value in SHORT else f"{value + 5e-5:.4f}")


@st.composite
def ratios(draw: st.DrawFn, names: Sequence[str], witness: Sequence[int]) -> list[Ratio]:
    """Bands around the ratios of a witness vector."""
    pairs = list(permutations(range(len(names)), 2))
    picked = draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True)) if pairs else []
    bands = []
    for a, b in picked:
        middle = witness[a] / witness[b]
        low, high = draw(st.sampled_from([(1, 1), (0.99, 1.02), (0.9, 1.1), (0.5, 2), (0.2, 1), (1, 4)]))
        side = draw(st.sampled_from(["both", "both", "min", "max"]))
        low_text = written_down(middle * low) if side != "max" else None
        high_text = written_up(middle * high) if side != "min" else None
        bands.append(ratio(names[a], names[b], low_text, high_text))
    return bands


@st.composite
def behaviors(draw: st.DrawFn) -> Behavior:
    policies = st.none() | st.builds(
        StepPolicy, type=st.sampled_from(StepType), value=st.sampled_from([0, 1, 2, 3, 4, 5, 50, 100])
    )
    up = ScaleUp(
        max_step_replicas=draw(st.integers(1, 4)),
        max_step_percent=draw(st.sampled_from([1, 50, 100])),
        step_policy=draw(policies),
    )
    return Behavior(scale_up=up, scale_down=ScaleDown(step_policy=draw(policies)))


def steps(behavior: Behavior, current: int) -> tuple[int, int]:
    """(most that may be removed, most that may be added), written down once more."""

    def size(policy: StepPolicy) -> int:
        return policy.value if policy.type == "Pods" else (current * policy.value + 99) // 100

    up, down = behavior.scale_up, behavior.scale_down
    either = max(up.max_step_replicas, (current * up.max_step_percent + 99) // 100)
    add = size(up.step_policy) if up.step_policy else either
    return (size(down.step_policy) if down.step_policy else 1), add


@st.composite
def passes(draw: st.DrawFn, most_roles: int = 4, most_replicas: int = 10) -> PlanInput:
    names = ["a", "b", "c", "d", "e", "f", "g", "h"][: draw(st.integers(1, most_roles))]
    current = [draw(st.integers(1, most_replicas)) for _ in names]
    bands = draw(ratios(names, current))
    now = dict(zip(names, current, strict=True))
    bands = [band for band in bands if brute_force.holds(band, now)]
    roles = [draw(role_inputs(name, count, most_replicas)) for name, count in now.items()]
    limits = draw(
        st.sampled_from(
            [
                *[TargetLimits()] * 8,
                TargetLimits(growth_blocked="a cohort is pending"),
                TargetLimits(shrink_blocked="a retirement is active"),
                TargetLimits(growth_blocked="a cohort is pending", cohort_roles=frozenset({names[0]})),
            ]
        )
    )
    return given(roles, bands, draw(behaviors()), limits)


@st.composite
def role_inputs(draw: st.DrawFn, name: str, current: int, most_replicas: int) -> RoleInput:
    wish = draw(st.integers(0, most_replicas + 3))
    bounds = (draw(st.integers(1, current)), draw(st.integers(current, most_replicas)))
    kinds = ["free"] * 18 + ["holds_growth", "holds_scale_down", "incomplete", "not ready", "pending", "cap"]
    kind = draw(st.sampled_from(kinds))
    return role(
        name,
        current,
        wish,
        bounds,
        recommendation=recommend(
            wish, holds_growth=kind == "holds_growth", holds_scale_down=kind == "holds_scale_down"
        ),
        ready=0 if kind == "not ready" else current,
        is_complete=kind != "incomplete",
        growth_blocked="a Workload is not admitted" if kind == "pending" else None,
        growth_cap=draw(st.integers(1, most_replicas)) if kind == "cap" else None,
        stabilized_up=draw(st.sampled_from([*[wish] * 6, max(0, wish - 1), None])),
        stabilized_down=draw(st.sampled_from([*[wish] * 6, wish + 1, None])),
    )
