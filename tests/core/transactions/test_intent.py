"""The write-ahead record: crashes, lost answers and late requests never lose, repeat or invent a step."""

import pytest

from scaler_core import transactions
from scaler_core.api.ownership import BINDING, DECISION, DecisionRecord, parse_decision
from scaler_core.api.scaler_status import Cause, ScalerStatus
from scaler_core.transactions import Planning
from tests.core.transactions.cluster import Cluster, Fault, bound, plan_of

GROWN = {"prefill": 3, "decode": 2}
START = {"prefill": 2, "decode": 2}


def in_flight() -> Cluster:
    cluster = bound()
    cluster.plan(GROWN, Fault.LATE)
    return cluster


def test_no_target_write_without_a_stored_intent_and_no_intent_left_after_it() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.CRASH_BEFORE_TARGET)
    pending = cluster.status.pending_commit
    assert pending is not None
    assert (pending.vector, pending.baseline_vector, pending.target_generation) == (GROWN, START, 2)
    cluster = bound()
    cluster.plan(GROWN)
    assert cluster.status.pending_commit is None
    last = cluster.status.last_commit
    assert last is not None
    assert (last.vector, last.baseline_vector, last.target_generation, last.cause) == (GROWN, START, 2, Cause.PLAN)
    decision = parse_decision(cluster.annotations[DECISION])
    assert (decision.decision_id, decision.vector, decision.term) == (last.decision_id, GROWN, 1)


@pytest.mark.parametrize("fault", [Fault.CRASH_AFTER_TARGET, Fault.ANSWER_LOST])
def test_a_commit_that_nobody_confirmed_is_found_on_the_target(fault: Fault) -> None:
    cluster = bound()
    cluster.plan(GROWN, fault)
    assert cluster.status.pending_commit is not None
    cluster.run()
    status = cluster.status
    assert status.pending_commit is None
    assert status.last_commit is not None
    assert status.last_commit.vector == GROWN
    assert status.pending_cohort is not None
    assert status.pending_cohort.baseline_vector == START
    assert cluster.events() == ["ScaledUp"]


def test_a_commit_that_was_found_counts_from_then_on_and_its_cohort_from_when_it_was_asked_for() -> None:
    cluster = bound()
    asked_at = cluster.now
    cluster.plan({"prefill": 3}, Fault.ANSWER_LOST)
    cluster.now += 12
    cluster.run()
    status = cluster.status
    assert status.last_commit is not None
    assert status.pending_cohort is not None
    assert (status.last_commit.timestamp, status.pending_cohort.started_at) == (asked_at + 12, asked_at)


def test_a_crash_before_the_status_write_leaves_nothing_behind() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.CRASH_BEFORE_STATUS)
    assert cluster.status.pending_commit is None
    assert cluster.vector == START


def test_absence_alone_never_clears_an_intent_whose_request_may_still_arrive() -> None:
    cluster = in_flight()
    cluster.now += 29
    settled = cluster.run()
    assert (settled.planning, settled.wait) == (Planning.FRESH_READ, 1.0)
    assert cluster.status.pending_commit is not None
    assert cluster.deliver()
    cluster.run()
    assert cluster.status.pending_cohort is not None


def test_nothing_is_written_while_an_intent_is_open() -> None:
    cluster = in_flight()
    cluster.plan({"prefill": 4})
    assert cluster.vector == START


def test_a_cached_view_after_the_deadline_proves_nothing() -> None:
    cluster = in_flight()
    cluster.now += 31
    settled = cluster.run(fresh=False)
    assert (settled.planning, settled.wait) == (Planning.FRESH_READ, 0.0)
    assert cluster.status.pending_commit is not None


def test_a_direct_read_after_the_deadline_clears_it_and_the_plan_goes_on() -> None:
    cluster = in_flight()
    cluster.now += 30
    cluster.plan({"prefill": 4})
    assert cluster.vector["prefill"] == 4
    assert not cluster.deliver(), "the late request must fail its tests"
    assert cluster.vector["prefill"] == 4


def test_an_expired_request_that_arrives_after_all_is_adopted_with_the_reported_counts_as_baseline() -> None:
    cluster = in_flight()
    cluster.status = cluster.status.model_copy(
        update={"roles": tuple(r for r in ScalerStatus.from_wire(
            {"roles": [{"name": "prefill", "currentReplicas": 2}, {"name": "decode", "currentReplicas": 2}]}
        ).roles)}
    )  # fmt: skip
    cluster.now += 31
    cluster.run()
    assert cluster.status.pending_commit is None
    assert cluster.deliver()
    cluster.run()
    status = cluster.status
    assert status.last_commit is not None
    assert (status.last_commit.vector, status.last_commit.baseline_vector) == (GROWN, START)
    assert status.pending_cohort is not None, "adopted growth is a cohort like any other"
    assert cluster.events() == ["CommitExpired", "ScaledUp"], "adopted, not fought as a stranger's change"


def test_a_changed_generation_overtakes_an_open_intent_at_once() -> None:
    cluster = in_flight()
    cluster.edit()
    cluster.run(fresh=False)
    assert cluster.status.pending_commit is None
    assert not cluster.deliver()


def test_a_conflict_clears_the_intent_and_the_next_pass_plans_anew() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.RACED)
    assert cluster.vector == START
    assert cluster.status.pending_commit is None
    assert cluster.status.refusal is None
    assert cluster.events() == ["CommitConflicted"]
    cluster.plan(GROWN)
    assert cluster.vector == GROWN


def test_a_refusal_clears_the_intent_blocks_and_backs_off_to_five_minutes() -> None:
    cluster = bound()
    waits = []
    for _ in range(9):
        cluster.plan(GROWN, Fault.REFUSED)
        assert cluster.status.pending_commit is None
        settled = cluster.plan(GROWN)
        assert settled.planning is Planning.RECOMMEND
        assert settled.blocked is not None
        assert settled.blocked.reason == "CommitRefused"
        assert "denied the request: no" in settled.blocked.message
        assert settled.wait is not None
        waits.append(settled.wait)
        cluster.now += settled.wait
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert cluster.events() == ["CommitRefused"]
    cluster.plan(GROWN)
    assert cluster.status.refusal is None
    assert cluster.vector == GROWN


def test_a_refusal_of_what_nobody_wants_any_more_is_forgotten() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.REFUSED)
    cluster.now += 5
    cluster.plan(START)
    assert cluster.run().blocked is None


def test_a_refused_rollback_is_tried_again_without_an_intent_meanwhile() -> None:
    cluster = bound(quota=4)
    cluster.plan(GROWN)
    cluster.operate()
    cluster.now += 300
    cluster.run(fault=Fault.REFUSED)
    settled = cluster.run()
    assert settled.action is None
    assert cluster.status.pending_commit is None
    cluster.now += 5
    cluster.run()
    assert cluster.vector == START


def test_a_cache_that_lags_behind_our_own_write_is_not_looked_at() -> None:
    cluster = bound()
    before = dict(cluster.target or {})
    cluster.plan(GROWN)
    settled = transactions.settle(cluster.snapshot(fresh=False, target=before), "x")
    assert (settled.planning, settled.wait) == (Planning.FRESH_READ, 5.0)
    assert settled.status == cluster.status
    cluster.now += 6
    assert transactions.settle(cluster.snapshot(fresh=False, target=before), "x").wait == 0.0


def test_a_generation_that_went_back_is_believed_when_read_directly() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3})
    before = dict(cluster.target or {})
    cluster.plan({"decode": 3})
    cluster.now += 10
    cluster.operate()
    cluster.run()
    cluster.plan({"decode": 3})
    cluster.target = before
    assert cluster.run().planning is Planning.COMMIT
    assert "ExternalChange" in cluster.events()


def test_counts_changed_past_the_fence_are_the_new_base_with_one_event_and_no_fight() -> None:
    cluster = bound()
    cluster.plan(GROWN)
    cluster.edit({"prefill": 6})
    cluster.run()
    cluster.run()
    assert cluster.vector == {"prefill": 6, "decode": 2}
    assert cluster.status.pending_cohort is None
    assert cluster.events() == ["ScaledUp", "ExternalChange", "TransactionDropped"]
    cluster.plan({"prefill": 5})
    assert cluster.vector["prefill"] == 5


def test_a_predecessors_decision_is_not_ours() -> None:
    cluster = Cluster()
    cluster.annotations[DECISION] = DecisionRecord(
        decision_id="old", term=3, vector={"prefill": 5, "decode": 5}
    ).render()
    cluster.run()
    cluster.run()
    assert cluster.status.last_commit is None
    assert cluster.events() == ["Bound"]


def test_an_unreadable_decision_is_overwritten_by_the_next_commit() -> None:
    cluster = bound()
    cluster.annotations[DECISION] = "{"
    cluster.plan(GROWN)
    assert cluster.decision() == GROWN


def test_an_intent_of_another_term_does_not_count() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.CRASH_BEFORE_TARGET)
    intent = cluster.status.pending_commit
    assert intent is not None
    cluster.status = cluster.status.model_copy(
        update={"pending_commit": intent.model_copy(update={"term": 9}), "last_commit": None}
    )
    assert cluster.run().planning is Planning.COMMIT
    assert cluster.status.pending_commit is None


def test_transactions_of_another_term_do_not_count() -> None:
    cluster = bound()
    cluster.plan(GROWN)
    status = cluster.status
    assert status.pending_cohort is not None
    assert status.last_commit is not None
    restored = {
        "pending_cohort": status.pending_cohort.model_copy(update={"term": 9}),
        "last_commit": status.last_commit.model_copy(update={"term": 9}),
    }
    cluster.annotations.pop(DECISION)
    cluster.status = status.model_copy(update=restored)
    cluster.now += 1000
    assert cluster.run().action is None
    assert cluster.status.pending_cohort is None
    assert cluster.vector == GROWN


def test_a_late_commit_of_a_released_term_fails() -> None:
    cluster = in_flight()
    cluster.edit_scaler(suspend=True)
    cluster.run()
    cluster.edit_scaler(suspend=False)
    cluster.run()
    assert cluster.term == 2
    assert not cluster.deliver()
    assert BINDING in cluster.annotations


def test_an_illegal_plan_is_not_written() -> None:
    cluster = bound()
    cluster.run(lambda target: plan_of(target, {"prefill": 9}))
    assert cluster.vector == START
