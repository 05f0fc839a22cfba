from fractions import Fraction

import pytest

from scaler_core.api.deployment import RoleKind
from scaler_core.api.meta import Condition, ConditionStatus
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.finding import fails, holds
from scaler_core.model.plan import Blocked
from scaler_core.model.reading import RoleReading
from scaler_core.reporting.conditions import judge_blocked, judge_metrics, not_planned, update_conditions


def reading(state: SignalState, *problems: str, role: str = "decode") -> RoleReading:
    return RoleReading(
        role=role,
        kind=RoleKind.DECODE,
        taken_at=0.0,
        state=state,
        is_complete=not problems,
        ready_replicas=1,
        read_replicas=Fraction(1),
        problems=problems,
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(ConditionStatus.TRUE, 10.0, id="the transition time stays while the status does"),
        pytest.param(ConditionStatus.FALSE, 99.0, id="the transition time moves with the status"),
    ],
)
def test_transition_time(status: ConditionStatus, expected: float) -> None:
    old = Condition(
        type="Bound", status=status, reason="Bound", message="", observed_generation=1, last_transition_time=10.0
    )
    (new,) = update_conditions([old], [holds(ConditionType.BOUND, Reason.BOUND, "ours")], generation=2, now=99.0)
    assert (new.last_transition_time, new.observed_generation, new.message) == (expected, 2, "ours")


def test_conditions_without_a_finding_stay_and_the_order_is_fixed() -> None:
    first = update_conditions([], [fails(ConditionType.BLOCKED, Reason.READY)], 1, 1.0)
    second = update_conditions(first, [holds(ConditionType.BOUND, Reason.BOUND)], 2, 2.0)
    assert [(c.type, c.observed_generation) for c in second] == [("Bound", 2), ("Blocked", 1)]


@pytest.mark.parametrize(
    ("readings", "blocked", "status", "reason", "message"),
    [
        pytest.param(
            [], None, ConditionStatus.FALSE, Reason.WAITING_FOR_METRICS, "no sample yet", id="nothing was sampled"
        ),
        pytest.param(
            [reading(SignalState.FRESH)],
            None,
            ConditionStatus.TRUE,
            Reason.OBSERVED,
            "all required role signals are available",
            id="complete fresh signals",
        ),
        pytest.param(
            [reading(SignalState.IDLE)],
            None,
            ConditionStatus.TRUE,
            Reason.OBSERVED,
            "all required role signals are available",
            id="an idle role is observed",
        ),
        pytest.param(
            [reading(SignalState.FRESH, "Pod d-0: HTTP 500")],
            None,
            ConditionStatus.FALSE,
            Reason.WAITING_FOR_METRICS,
            "decode: Pod d-0: HTTP 500",
            id="incomplete coverage names the Pod and why",
        ),
        pytest.param(
            [reading(SignalState.STALE)],
            None,
            ConditionStatus.FALSE,
            Reason.WAITING_FOR_METRICS,
            "decode: signals are Stale",
            id="stale signals",
        ),
        pytest.param(
            [],
            Blocked(reason=Reason.RATIO_CONFLICT, message="3:1 is outside", stops_planning=True),
            ConditionStatus.FALSE,
            Reason.RATIO_CONFLICT,
            "not judged: 3:1 is outside",
            id="planning stopped before the signals were judged",
        ),
    ],
)
def test_metrics_ready(
    readings: list[RoleReading], blocked: Blocked | None, status: ConditionStatus, reason: Reason, message: str
) -> None:
    found = judge_metrics(readings, blocked)
    assert (found.status, found.reason, found.message) == (status, reason, message)


def test_the_first_block_wins() -> None:
    found = judge_blocked(
        None,
        Blocked(reason=Reason.RESOURCE_EXHAUSTED, message="no quota"),
        Blocked(reason=Reason.PACING_BOUNDED, message="step"),
    )
    assert (found.status, found.reason) == (ConditionStatus.TRUE, Reason.RESOURCE_EXHAUSTED)


def test_no_block_is_ready() -> None:
    assert (judge_blocked(None).status, judge_blocked().reason) == (ConditionStatus.FALSE, Reason.READY)
    assert judge_blocked().message == "only bounds, windows and ratios limit the recommendation"


def test_nothing_planned_says_why_on_both_conditions() -> None:
    assert [(f.type, f.status) for f in not_planned("suspended")] == [
        ("MetricsReady", ConditionStatus.UNKNOWN),
        ("Blocked", ConditionStatus.FALSE),
    ]
