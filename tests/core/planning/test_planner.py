"""What a pass decides and says, case by case."""

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import Reason, RoleReason
from scaler_core.api.scaler_spec import Behavior, Ratio, ScaleDown, ScaleUp, StepPolicy, StepType
from scaler_core.model.plan import RoleInput, Stage, TargetLimits
from scaler_core.planning.planner import plan
from tests.core.planning.planning_builders import FAST, given, ratio, recommend, role

DEFAULTS = Behavior()
NO_STEP = StepPolicy(type=StepType.PODS, value=0)
FIXED_3_TO_2 = ratio("prefill", "decode", 1.5, 1.5, 1.5)
ONE_TO_ONE = ratio("prefill", "decode", 1, 1, 1)


@pytest.mark.parametrize(
    ("row", "behavior", "count", "reason"),
    [
        pytest.param(role("r", 3, 5), FAST, 5, RoleReason.TOKEN_THROUGHPUT, id="nothing in the way"),
        pytest.param(role("r", 3, 3), FAST, 3, RoleReason.TOKEN_THROUGHPUT, id="nothing to do"),
        pytest.param(role("r", 3, 9, (1, 8)), FAST, 8, RoleReason.AT_MAXIMUM, id="above maxReplicas"),
        pytest.param(role("r", 3, 8, (1, 8)), FAST, 8, RoleReason.TOKEN_THROUGHPUT, id="exactly maxReplicas"),
        pytest.param(role("r", 3, 0, (2, 8)), FAST, 2, RoleReason.AT_MINIMUM, id="below minReplicas"),
        pytest.param(
            role("r", 3, 9, stabilized_up=None), FAST, 3, RoleReason.STABILIZING, id="growth window not spanned"
        ),
        pytest.param(
            role("r", 3, 9, stabilized_up=5), FAST, 5, RoleReason.STABILIZING, id="lowest of the growth window"
        ),
        pytest.param(
            role("r", 3, 9, stabilized_up=2), FAST, 3, RoleReason.STABILIZING, id="growth window below the count"
        ),
        pytest.param(
            role("r", 5, 1, stabilized_down=None), FAST, 5, RoleReason.STABILIZING, id="shrink window not spanned"
        ),
        pytest.param(
            role("r", 5, 1, stabilized_down=3), FAST, 3, RoleReason.STABILIZING, id="highest of the shrink window"
        ),
        pytest.param(
            role("r", 5, 1, stabilized_down=7), FAST, 5, RoleReason.STABILIZING, id="shrink window above the count"
        ),
        pytest.param(role("r", 2, 20), DEFAULTS, 6, RoleReason.PACING_BOUNDED, id="four replicas are the larger bound"),
        pytest.param(
            role("r", 6, 20), DEFAULTS, 12, RoleReason.PACING_BOUNDED, id="a hundred percent is the larger bound"
        ),
        pytest.param(role("r", 9, 1), DEFAULTS, 8, RoleReason.PACING_BOUNDED, id="one removal a pass"),
        pytest.param(
            role("r", 3, 5, is_complete=False), FAST, 5, RoleReason.TOKEN_THROUGHPUT, id="partial coverage grows"
        ),
        pytest.param(
            role("r", 3, 2, is_complete=False), FAST, 3, RoleReason.INCOMPLETE_COVERAGE, id="partial coverage keeps"
        ),
        pytest.param(role("r", 3, 2, ready=0), FAST, 3, RoleReason.NO_READY_REPLICAS, id="no ready replica keeps"),
        pytest.param(
            role("r", 2, 1, ready=1, lowest_ready=1),
            FAST,
            2,
            RoleReason.NO_READY_REPLICAS,
            id="the only ready one stays",
        ),
        pytest.param(
            role("r", 5, 1, ready=2, lowest_ready=2), FAST, 3, RoleReason.NO_READY_REPLICAS, id="the lowest ready stays"
        ),
        pytest.param(
            role("r", 5, 1, ready=3, lowest_ready=0),
            FAST,
            1,
            RoleReason.TOKEN_THROUGHPUT,
            id="others need not be ready",
        ),
        pytest.param(
            role("r", 3, 9, recommendation=recommend(9, holds_growth=True)),
            FAST,
            3,
            RoleReason.WAITING_FOR_METRICS,
            id="stale signals do not grow",
        ),
        pytest.param(
            role("r", 3, 1, recommendation=recommend(1, holds_growth=True)),
            FAST,
            3,
            RoleReason.WAITING_FOR_METRICS,
            id="stale signals do not shrink",
        ),
        pytest.param(
            role("r", 3, 1, recommendation=recommend(1, holds_scale_down=True)),
            FAST,
            3,
            RoleReason.TOKEN_THROUGHPUT,
            id="the algorithm's hold keeps its reason",
        ),
        pytest.param(
            role("r", 3, 5, growth_blocked="r-3 is not admitted"),
            FAST,
            3,
            RoleReason.WORKLOAD_PENDING,
            id="pending Workload",
        ),
        pytest.param(
            role("r", 3, 9, growth_cap=5), FAST, 5, RoleReason.RESOURCE_EXHAUSTED, id="cap of exhausted growth"
        ),
        pytest.param(role("r", 3, 9, growth_cap=2), FAST, 3, RoleReason.RESOURCE_EXHAUSTED, id="a cap never shrinks"),
        pytest.param(
            role("r", 3, 2, kind=RoleKind.DECODE, last_scale_up_at=880.001),
            FAST,
            3,
            RoleReason.DECODE_GRACE,
            id="decode just inside its grace",
        ),
        pytest.param(
            role("r", 3, 2, kind=RoleKind.DECODE, last_scale_up_at=880.0),
            FAST,
            2,
            RoleReason.TOKEN_THROUGHPUT,
            id="decode exactly at the end of its grace",
        ),
        pytest.param(
            role("r", 3, 2, kind=RoleKind.DECODE, last_scale_up_at=99_999.0),
            FAST,
            3,
            RoleReason.DECODE_GRACE,
            id="a growth time in the future counts as now",
        ),
        pytest.param(
            role("r", 3, 2, kind=RoleKind.PREFILL, last_scale_up_at=999.0),
            FAST,
            2,
            RoleReason.TOKEN_THROUGHPUT,
            id="grace is for decode only",
        ),
        pytest.param(
            role("r", 3, 9),
            Behavior(scale_up=ScaleUp(step_policy=NO_STEP)),
            3,
            RoleReason.PACING_BOUNDED,
            id="a zero step stops growth",
        ),
        pytest.param(
            role("r", 3, 1),
            Behavior(scale_down=ScaleDown(step_policy=NO_STEP)),
            3,
            RoleReason.PACING_BOUNDED,
            id="a zero step stops shrinkage",
        ),
    ],
)
def test_one_role(row: RoleInput, behavior: Behavior, count: int, reason: RoleReason) -> None:
    result = plan(given([row], behavior=behavior)).roles["r"]
    assert (result.replicas, result.reason) == (count, reason)


@pytest.mark.parametrize(
    ("limits", "counts"),
    [
        pytest.param(
            TargetLimits(growth_blocked="cohort"), {"up": 2, "down": 4}, id="a pending cohort stops growth only"
        ),
        pytest.param(
            TargetLimits(shrink_blocked="retiring", shrink_blocked_reason=RoleReason.ABORT_COOLDOWN),
            {"up": 3, "down": 5},
            id="a cooldown stops shrinkage only",
        ),
        pytest.param(
            TargetLimits(cohort_roles=frozenset({"down"})),
            {"up": 3, "down": 5},
            id="a cohort's component does not shrink",
        ),
        pytest.param(
            TargetLimits(cohort_roles=frozenset({"up"})),
            {"up": 3, "down": 4},
            id="another component may shrink beside it",
        ),
    ],
)
def test_limits_of_the_target(limits: TargetLimits, counts: dict[str, int]) -> None:
    assert plan(given([role("up", 2, 3), role("down", 5, 4)], limits=limits)).vector == counts


@pytest.mark.parametrize(
    ("rows", "bands", "behavior", "counts"),
    [
        pytest.param(
            [role("prefill", 2, 10), role("decode", 2, 2)],
            [ONE_TO_ONE],
            DEFAULTS,
            {"prefill": 6, "decode": 6},
            id="a loaded role takes its idle partner along",
        ),
        pytest.param(
            [role("prefill", 6, 1), role("decode", 6, 5)],
            [ONE_TO_ONE],
            DEFAULTS,
            {"prefill": 5, "decode": 5},
            id="a partner that needs its capacity keeps the other",
        ),
        pytest.param(
            [role("prefill", 4, 8, (1, 8)), role("decode", 2, 1, (1, 2)), role("encode", 4, 1)],
            [ratio("prefill", "decode", high=2), ratio("encode", "decode", 0.5, 2)],
            DEFAULTS,
            {"prefill": 4, "decode": 2, "encode": 3},
            id="growth that the ratios forbid does not stop a partner from shrinking",
        ),
        pytest.param(
            [role("prefill", 2, 5), role("decode", 5, 2)],
            [ratio("prefill", "decode", 0.25, 4)],
            DEFAULTS,
            {"prefill": 5, "decode": 5},
            id="a component that grows does not shrink",
        ),
        pytest.param(
            [role("prefill", 2, 5), role("decode", 5, 2)],
            [ratio("prefill", "decode", 0.25, 4)],
            Behavior(scale_up=ScaleUp(step_policy=NO_STEP)),
            {"prefill": 2, "decode": 4},
            id="a zero step upwards is no upward direction",
        ),
    ],
)
def test_roles_that_ratios_connect(
    rows: list[RoleInput], bands: list[Ratio], behavior: Behavior, counts: dict[str, int]
) -> None:
    assert plan(given(rows, bands, behavior)).vector == counts


def test_every_stage_is_kept_with_its_sentence() -> None:
    result = plan(given([role("prefill", 2, 20, (1, 16)), role("decode", 2, 2)], [ONE_TO_ONE], DEFAULTS))
    prefill, decode = result.roles["prefill"].stages, result.roles["decode"].stages
    assert [(stage.stage, stage.replicas) for stage in prefill] == [
        (Stage.BOUNDS, 16),
        (Stage.STABILIZATION, 16),
        (Stage.GUARDS, 16),
        (Stage.PACING, 6),
        (Stage.RATIOS, 6),
    ]
    assert prefill[0].message == "maxReplicas is 16"
    assert prefill[3].message == "one pass adds at most 4 (maxStepReplicas 4, maxStepPercent 100)"
    assert decode[4].message == "prefill/decode max 1 needs 6 with prefill at 6"
    assert result.roles["decode"].reason is RoleReason.RATIO_BOUNDED


@pytest.mark.parametrize(
    ("rows", "bands", "sentences"),
    [
        pytest.param(
            [role("prefill", 3, 3), role("decode", 2, 3)],
            [FIXED_3_TO_2],
            ["the next counts above prefill=3 decode=3 within prefill/decode are prefill=6 decode=4"] * 2,
            id="both raised",
        ),
        pytest.param(
            [role("prefill", 3, 8, (1, 8)), role("decode", 2, 8)],
            [FIXED_3_TO_2],
            ["the next counts below prefill=8 decode=8 within prefill/decode are prefill=6 decode=4"] * 2,
            id="both lowered",
        ),
        pytest.param(
            [role("prefill", 3, 6), role("decode", 2, 2)],
            [FIXED_3_TO_2],
            ["asks for 6", "prefill/decode max 1.5 needs 4 with prefill at 6"],
            id="one that asked takes the other along",
        ),
        pytest.param(
            [role("prefill", 3, 9), role("decode", 2, 2, (1, 4))],
            [FIXED_3_TO_2],
            [
                "prefill/decode max 1.5 allows no more than 6 with decode at 4 (maxReplicas is 4)",
                "prefill/decode max 1.5 needs 4 with prefill at 6",
            ],
            id="one at its limit stops the other",
        ),
    ],
)
def test_counts_that_ratios_move_are_told_by_what_was_asked_for(
    rows: list[RoleInput], bands: list[Ratio], sentences: list[str]
) -> None:
    roles = plan(given(rows, bands)).roles
    assert [roles[row.name].message for row in rows] == sentences


def test_a_role_that_only_the_direction_holds_is_told_so() -> None:
    rows = [role("prefill", 2, 5), role("decode", 5, 2)]
    decode = plan(given(rows, [ratio("prefill", "decode", 0.25, 4)], DEFAULTS)).roles["decode"]
    words = "ratios connect decode to prefill, which grows, so it does not shrink in this pass"
    assert (decode.replicas, decode.reason, decode.message) == (5, RoleReason.RATIO_BOUNDED, words)


@pytest.mark.parametrize(
    ("rows", "bands", "reason", "words"),
    [
        pytest.param(
            [role("prefill", 20, 20, (2, 16)), role("decode", 2, 2)],
            [],
            Reason.BOUNDS_CONFLICT,
            "prefill is at 20, allowed are 2 to 16; suspend the scaler, set the counts and resume",
            id="above its bounds",
        ),
        pytest.param(
            [role("prefill", 1, 5), role("decode", 4, 4)],
            [ratio("prefill", "decode", 0.5, 2)],
            Reason.RATIO_CONFLICT,
            "prefill/decode is 1/4 = 0.25, allowed is at least 0.5; suspend the scaler, set the counts and resume",
            id="below its band",
        ),
        pytest.param(
            [role("prefill", 9, 5), role("decode", 4, 4)],
            [ratio("prefill", "decode", 0.5, 2)],
            Reason.RATIO_CONFLICT,
            "prefill/decode is 9/4 = 2.25, allowed is at most 2",
            id="above its band",
        ),
    ],
)
def test_nothing_is_planned_from_an_illegal_vector(
    rows: list[RoleInput], bands: list[Ratio], reason: Reason, words: str
) -> None:
    result = plan(given(rows, bands))
    assert result.vector == {row.name: row.current for row in rows}
    assert result.blocked is not None
    assert (result.blocked.reason, result.blocked.stops_planning) == (reason, True)
    assert result.blocked.message.startswith(words)


@pytest.mark.parametrize(
    ("rows", "behavior", "reason", "words"),
    [
        pytest.param(
            [role("prefill", 3, 6), role("decode", 2, 2)],
            Behavior(scale_up=ScaleUp(step_policy=StepPolicy(type=StepType.PODS, value=2))),
            Reason.RATIO_CONFLICT,
            "prefill/decode needs prefill +3/decode +2 in one pass to move prefill, "
            "but for prefill one pass adds at most 2 (scaleUp.stepPolicy Pods 2)",
            id="a step too small for the ratio upwards",
        ),
        pytest.param(
            [role("prefill", 6, 3), role("decode", 4, 2)],
            DEFAULTS,
            Reason.RATIO_CONFLICT,
            "prefill/decode needs prefill -3/decode -2 in one pass to move prefill, "
            "but for prefill one pass removes at most 1 (scaleDown.stepPolicy is not set)",
            id="a step too small for the ratio downwards",
        ),
        pytest.param(
            [role("prefill", 3, 6), role("decode", 2, 2, growth_blocked="decode-2 is not admitted")],
            DEFAULTS,
            Reason.PACING_BOUNDED,
            "needs prefill +3/decode +2 in one pass to move prefill, but for decode decode-2 is not admitted",
            id="a partner's guard",
        ),
    ],
)
def test_a_component_that_its_limits_hold_names_the_limit(
    rows: list[RoleInput], behavior: Behavior, reason: Reason, words: str
) -> None:
    result = plan(given(rows, [FIXED_3_TO_2], behavior))
    assert result.vector == {row.name: row.current for row in rows}
    assert result.blocked is not None
    assert (result.blocked.reason, result.blocked.stops_planning) == (reason, False)
    assert words in result.blocked.message


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([role("prefill", 6, 3), role("decode", 4, 4)], id="a partner that needs its capacity"),
        pytest.param([role("prefill", 6, 9, (1, 6)), role("decode", 4, 4)], id="maxReplicas reached"),
        pytest.param([role("prefill", 6, 6), role("decode", 4, 8, (1, 5))], id="a partner at its maxReplicas"),
        pytest.param([role("prefill", 6, 1, stabilized_down=None), role("decode", 4, 4)], id="a window at work"),
    ],
)
def test_an_ordinary_hold_is_not_reported_as_blocked(rows: list[RoleInput]) -> None:
    assert plan(given(rows, [FIXED_3_TO_2], FAST)).blocked is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param(role("r", 3, 3), "", id="free"),
        pytest.param(role("r", 3, 3, (3, 9)), "minReplicas is 3", id="at its minimum"),
        pytest.param(role("r", 3, 5, ready=0), "no replica is ready, so none is removed", id="not ready"),
    ],
)
def test_what_forbids_a_donation(row: RoleInput, words: str) -> None:
    assert plan(given([row])).roles["r"].release_blocked == words
