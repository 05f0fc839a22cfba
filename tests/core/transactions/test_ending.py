"""Suspending, Shadow mode, deleting, or another target in the middle: what is told of the last write."""

from collections.abc import Callable

import pytest

from scaler_core.api.ownership import BINDING
from scaler_core.model.action import Release
from scaler_core.transactions import Standing
from tests.core.transactions.cluster import Cluster, Fault, bound

START, GROWN = {"prefill": 2, "decode": 2}, {"prefill": 3, "decode": 2}
MOVE = "prefill=2 decode=2 -> prefill=3 decode=2"


def suspend(cluster: Cluster) -> None:
    cluster.edit_scaler(suspend=True)


def shadow(cluster: Cluster) -> None:
    cluster.edit_scaler(mode="Shadow")


def delete(cluster: Cluster) -> None:
    cluster.scaler["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"


def told(cluster: Cluster) -> list[tuple[str, str]]:
    return [(note.reason.value, note.message) for note in cluster.notes]


leaving = pytest.mark.parametrize("leave", [suspend, shadow, delete])


@leaving
@pytest.mark.parametrize("fault", [Fault.CRASH_AFTER_TARGET, Fault.ANSWER_LOST])
def test_a_write_that_landed_before_the_end_is_recorded_and_then_released(
    leave: Callable[[Cluster], None], fault: Fault
) -> None:
    cluster = bound()
    cluster.plan(GROWN, fault)
    cluster.now += 5
    leave(cluster)
    assert isinstance(cluster.run().action, Release)
    assert BINDING not in cluster.annotations
    last = cluster.status.last_commit
    assert last is not None
    assert (last.vector, last.baseline_vector) == (GROWN, START)
    assert [reason for reason, _ in told(cluster)] == ["ScaledUp", "TransactionDropped", "Released"]
    landed, dropped, _ = (message for _, message in told(cluster))
    assert landed == f"{MOVE}: found on the target"
    assert dropped == f"Dropped the transaction {MOVE}, landed; counts stay prefill=3 decode=2: the binding ended"


@leaving
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE_TARGET, Fault.LATE])
def test_a_write_that_is_still_open_holds_nobody_up_and_the_release_proves_that_it_never_lands(
    leave: Callable[[Cluster], None], fault: Fault
) -> None:
    cluster = bound()
    cluster.plan(GROWN, fault)
    cluster.now += 5
    leave(cluster)
    assert isinstance(cluster.run().action, Release)
    assert not any(cluster.deliver() for _ in list(cluster.in_flight))
    assert (cluster.vector, cluster.status.last_commit) == (START, None)
    assert told(cluster)[0] == (
        "TransactionDropped",
        f"Dropped the transaction {MOVE}, not landed (its decision is not on the target); "
        "counts stay prefill=2 decode=2: the binding ended",
    )


@leaving
def test_a_release_that_meets_the_late_write_fails_and_the_next_one_records_it(
    leave: Callable[[Cluster], None],
) -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.LATE)
    before = cluster.target
    assert cluster.deliver()
    leave(cluster)
    cluster.run(cached=before)
    assert BINDING in cluster.annotations
    assert cluster.events() == ["CommitConflicted"]
    cluster.run()
    assert cluster.status.last_commit is not None
    assert cluster.events() == ["CommitConflicted", "ScaledUp", "TransactionDropped", "Released"]


def test_a_release_whose_answer_was_lost_still_tells_what_became_of_the_write() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.CRASH_AFTER_TARGET)
    suspend(cluster)
    cluster.run(fault=Fault.CRASH_BEFORE_STATUS)
    cluster.annotations.pop(BINDING)
    cluster.notes.clear()
    cluster.run()
    assert cluster.events() == ["ScaledUp", "TransactionDropped"]
    assert cluster.status.last_commit is not None


def test_an_expired_write_that_arrived_after_all_is_adopted_before_the_release() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.LATE)
    cluster.now += 31
    cluster.run()
    assert cluster.deliver()
    suspend(cluster)
    cluster.run()
    assert cluster.status.last_commit is not None
    assert cluster.status.last_commit.vector == GROWN
    assert cluster.events() == ["CommitExpired", "ScaledUp", "TransactionDropped", "Released"]


def test_an_expired_write_leaves_an_event_with_the_counts() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.CRASH_BEFORE_TARGET)
    cluster.now += 31
    cluster.run()
    assert told(cluster) == [(
        "CommitExpired",
        f"The write {MOVE} got no answer and has not landed by its deadline: given up; counts are prefill=2 decode=2",
    )]  # fmt: skip
    cluster.run()
    assert len(cluster.notes) == 1


def test_an_overtaken_write_leaves_an_event_with_the_counts() -> None:
    cluster = bound()
    cluster.plan(GROWN, Fault.LATE)
    cluster.edit()
    cluster.run()
    assert told(cluster) == [(
        "CommitConflicted",
        f"The write {MOVE} did not land: something that it tests has changed; counts are prefill=2 decode=2",
    )]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "fate"), [(Fault.NONE, "landed"), (Fault.CRASH_AFTER_TARGET, "landed or not before its target was gone")]
)
def test_accepting_another_target_ends_what_was_under_way_with_its_vectors(fault: Fault, fate: str) -> None:
    cluster = bound(quota=4)
    cluster.plan(GROWN, fault)
    cluster.replace_target()
    cluster.run()
    cluster.edit_scaler()
    cluster.notes.clear()
    cluster.run()
    assert told(cluster)[0] == (
        "TransactionDropped",
        f"Dropped the transaction {MOVE}, {fate}; the new one has prefill=2 decode=2: "
        "the deployment with UID target-1 is gone",
    )
    assert cluster.events()[1] == "TargetReplaced"


def test_a_scaler_that_is_deleted_after_its_target_tells_what_it_drops() -> None:
    cluster = bound()
    cluster.plan(GROWN)
    cluster.target = None
    delete(cluster)
    cluster.run()
    assert told(cluster)[-1] == (
        "TransactionDropped", f"Dropped the transaction {MOVE}, landed; there is no target: the binding ended",
    )  # fmt: skip
    assert cluster.scaler["metadata"]["finalizers"] == []


def test_a_suspended_scaler_reports_another_target_and_resuming_accepts_it() -> None:
    cluster = bound()
    suspend(cluster)
    cluster.run()
    cluster.replace_target()
    cluster.notes.clear()
    settled = cluster.run()
    assert settled.standing is Standing.SUSPENDED
    assert "resuming, like any edit of the spec, accepts it" in settled.bound.message
    assert "resuming the scaler accepts it" in told(cluster)[0][1]
    cluster.run()
    assert cluster.events() == ["TargetReplaced"]
    cluster.edit_scaler(suspend=False)
    cluster.run()
    assert cluster.term == 1, "the first term of another target"
    assert cluster.events() == ["TargetReplaced", "TargetReplaced", "Bound"]


def test_resuming_does_not_accept_another_target_that_nobody_reported_before() -> None:
    cluster = bound()
    suspend(cluster)
    cluster.run()
    cluster.replace_target()
    cluster.edit_scaler(suspend=False)
    settled = cluster.run()
    assert settled.standing is Standing.TARGET_REPLACED
    assert "seen at generation 3, and only a later edit accepts" in settled.bound.message
    assert cluster.run().standing is Standing.TARGET_REPLACED
    cluster.edit_scaler()
    assert cluster.run().standing is not Standing.TARGET_REPLACED
