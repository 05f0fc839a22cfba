"""When a count may move, and what it waits for until then."""

from typing import Any

from scaler_core.api.scaler_status import Commit, Exhaustion, LastScaleDown, PendingCohort, ScaleDownOutcome
from scaler_core.reporting.explained import Explained, Outlook
from tests.core.test_decision import START, Passes, deployment, owner, scaler
from tests.core.test_recording import record

WINDOW = {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}


def steady(waiting: float, until: int = 90, **counts: int) -> Passes:
    """An owner with samples every 15 s that all say the same; its last commit is none."""
    passes = owner(waiting_before=waiting, **counts)
    passes.scaler = passes.scaler.model_copy(
        update={"spec": scaler(mode="Active", **WINDOW).spec, "status": passes.scaler.status}
    )
    for at in range(16, until + 1, 15):
        passes.run(at, waiting)
    return passes


def outlooks(
    passes: Passes, at: float, waiting: float, pods_there: int | None = None, **status: Any
) -> tuple[Outlook, Outlook, Explained]:
    passes.scaler = passes.scaler.model_copy(
        update={"status": passes.scaler.status.model_copy(update={"pending_commit": None, **status})}
    )
    explained: Explained = record(passes, at, waiting, pods_there).explain()
    role = explained.roles["server"]
    assert role.growth is not None
    assert role.shrink is not None
    return role.growth, role.shrink, explained


def holds(outlook: Outlook) -> list[tuple[str, str, float | None]]:
    return [
        (hold.stage, hold.reason, None if hold.until is None else round(hold.until - START)) for hold in outlook.holds
    ]


def test_what_the_load_does_not_ask_for_has_no_moment() -> None:
    """A window that ends a window from now, at every sample anew, ends at no moment that can be named."""
    growth, shrink, _ = outlooks(steady(4.0, server=2), 106, 4.0)
    assert holds(growth) == [("recommendation", "WithinTolerance", None)]
    assert holds(shrink) == [("recommendation", "WithinTolerance", None), ("stabilization", "Stabilizing", None)]
    assert (growth.earliest, shrink.earliest) == (None, None)


def test_the_window_of_a_fallen_load_ends_by_the_last_high_recommendation() -> None:
    passes = steady(4.0, until=76, server=2)
    passes.run(91, 1.0)
    _, shrink, _ = outlooks(passes, 106, 1.0)
    assert holds(shrink) == [("stabilization", "Stabilizing", 76 + 60)]
    assert shrink.earliest == START + 76 + 60


def test_at_its_minimum_no_time_helps() -> None:
    _, shrink, _ = outlooks(steady(0.0, server=1), 106, 0.0)
    assert ("bounds", "AtMinimum", None) in holds(shrink)
    assert shrink.earliest is None


def commit(before: int) -> Commit:
    """The write after which the target has what `deployment(server=2)` has."""
    vector, baseline = {"server": 2}, {"server": before}
    return Commit(
        decision_id="d", term=1, vector=vector, baseline_vector=baseline, timestamp=START - 50, target_generation=3
    )


def test_a_cohort_holds_growth_until_its_deadline() -> None:
    cohort = PendingCohort(
        decision_id="d", term=1, baseline_vector={"server": 1}, target_vector={"server": 2}, started_at=START + 100
    )
    growth, shrink, explained = outlooks(
        steady(4.0, server=2), 106, 16.0, pods_there=1, pending_cohort=cohort, last_commit=commit(1)
    )
    assert ("guards", "CohortPending", 400) in holds(growth)
    assert growth.earliest == START + 400
    assert ("guards", "CohortPending", 400) in holds(shrink)
    assert shrink.earliest is None, "the load does not ask for fewer, which has no end"
    assert [(it.name, it.until) for it in explained.transactions] == [("cohort", START + 400)]
    assert "the added replica server 1 waits" in explained.transactions[0].message


def test_a_cooldown_holds_shrinkage_of_an_idle_role() -> None:
    last = LastScaleDown(
        role="server",
        ordinal=2,
        pre_scale_down_vector={"server": 3},
        outcome=ScaleDownOutcome.ABORTED,
        cooldown_until=START + 350,
        is_finished=True,
    )
    _, shrink, explained = outlooks(steady(0.0, server=2), 106, 0.0, last_scale_down=last)
    assert holds(shrink) == [("guards", "AbortCooldown", 350)]
    assert shrink.earliest == START + 350
    assert [(it.name, it.until) for it in explained.transactions] == [("cooldown", START + 350)]


def test_growth_that_found_no_capacity_is_retried_at_a_moment() -> None:
    exhausted = Exhaustion(
        admitted_vector={"server": 2},
        requested_vector={"server": 4},
        episode_generation=3,
        baseline_vector={"server": 2},
        scaler_generation=1,
        retry_at=START + 250,
    )
    growth, _, explained = outlooks(steady(4.0, server=2), 106, 8.0, exhaustion=exhausted, last_commit=commit(1))
    assert holds(growth) == [("guards", "ResourceExhausted", 250)]
    assert growth.earliest == START + 250
    assert [(it.name, it.until) for it in explained.transactions if it.until] == [("exhaustion", START + 250)]


def test_shadow_never_writes() -> None:
    passes = Passes(scaler(), deployment(server=2))
    passes.run(0, 8.0)
    growth, shrink, explained = outlooks(passes, 15, 8.0)
    assert holds(growth)[0][:2] == ("commit", "ShadowMode")
    assert (growth.earliest, shrink.earliest) == (None, None)
    assert explained.standing == "Shadow"


def test_what_nothing_holds_may_move() -> None:
    growth, _, explained = outlooks(steady(4.0, server=2), 106, 8.0)
    assert growth == Outlook(earliest=START + 106)
    assert explained.vector == {"server": 4}


def test_a_pass_without_roles_has_no_outlook() -> None:
    passes = Passes(scaler(suspend=True), deployment(server=2))
    explained = record(passes, 0, None).explain()
    assert (explained.standing, explained.roles) == ("Suspended", {})
