"""Removed replicas until they are gone, and the restore when a retirement is aborted."""

import pytest

from scaler_core.api.reasons import RoleReason
from tests.core.transactions.cluster import Cluster, Fault, bound, scaler_document, target_document

ROLES = [{"name": name, "minReplicas": 1, "maxReplicas": 8} for name in ("prefill", "decode", "encode")]
START = {"prefill": 3, "decode": 4}


def shrunk(**to: int) -> Cluster:
    cluster = bound(target=target_document(**START))
    cluster.plan(to or {"decode": 3})
    return cluster


def is_finished(cluster: Cluster) -> bool:
    cluster.run()
    last = cluster.status.last_scale_down
    assert last is not None
    return last.is_finished


def test_the_record_names_the_role_its_highest_ordinal_and_the_counts_before() -> None:
    last = shrunk(decode=2).status.last_scale_down
    assert last is not None
    assert (last.role, last.ordinal, last.outcome, last.pre_scale_down_vector) == ("decode", 3, "Committed", START)


@pytest.mark.parametrize("left", ["echo", "pod", "workload", "record"])
def test_a_scale_down_is_finished_only_when_nothing_of_four_is_left(left: str) -> None:
    cluster = shrunk()
    replica = ("decode", 3)
    cluster.echo()
    cluster.remove(replica)
    if left == "echo":
        assert cluster.target is not None
        cluster.target["status"]["roles"][1]["desired"] = 4
    if left == "pod":
        cluster.pods.add(replica)
    if left == "workload":
        cluster.start(replica, admitted=True)
        cluster.pods.discard(replica)
    if left == "record":
        cluster.retire("Settling", replica)
    assert not is_finished(cluster)
    settled = cluster.run()
    assert settled.limits.shrink_blocked is not None
    assert settled.limits.shrink_blocked_reason is RoleReason.RETIREMENT_ACTIVE
    cluster.echo()
    cluster.remove(replica)
    cluster.clear_record()
    assert is_finished(cluster)
    assert cluster.run().limits.shrink_blocked is None
    assert cluster.events()[-1] == "Retired"


def test_an_ordinal_that_never_had_a_workload_can_finish() -> None:
    cluster = bound(target=target_document(**START))
    cluster.workloads.pop(("decode", 3))
    cluster.plan({"decode": 3})
    cluster.echo()
    cluster.pods.discard(("decode", 3))
    assert is_finished(cluster)


def test_growth_may_go_on_while_a_retirement_runs() -> None:
    cluster = shrunk()
    cluster.retire()
    assert cluster.run().limits.growth_blocked is None
    cluster.plan({"prefill": 4})
    assert cluster.vector == {"prefill": 4, "decode": 3}


@pytest.mark.parametrize("state", ["Admitted", "Disqualified", "Withdrawing", "Draining", "Deleting", "Later", ""])
def test_every_state_but_completed_stops_shrinkage_also_one_that_nobody_knows(state: str) -> None:
    cluster = bound()
    cluster.retire(state, ("prefill", 7))
    assert cluster.run().limits.shrink_blocked is not None
    cluster.retire("Completed", ("prefill", 7))
    assert cluster.run().limits.shrink_blocked is None


def test_pods_above_the_count_stop_shrinkage_before_there_is_a_record() -> None:
    cluster = bound()
    cluster.start(("decode", 2), admitted=True)
    assert cluster.run().limits.shrink_blocked is not None


def test_an_aborted_retirement_restores_every_removed_replica_once_and_starts_the_cooldown() -> None:
    cluster = shrunk(prefill=2, decode=2)
    cluster.echo()
    cluster.remove(("decode", 3))  # one of three has retired
    cluster.retire("Aborted", ("decode", 2))
    cluster.now += 30
    cluster.run()
    assert cluster.vector == START
    last = cluster.status.last_scale_down
    assert last is not None
    assert (last.outcome, last.aborted_at, last.cooldown_until) == ("Aborted", cluster.now, cluster.now + 300)
    assert cluster.status.pending_cohort is None
    settled = cluster.run()
    assert cluster.vector == START
    assert len(cluster.writes) == 2
    assert settled.blocked is not None
    assert settled.blocked.reason == "ScaleDownAborted"
    assert cluster.events() == ["ScaledDown", "Restored", "ScaleDownAborted"]


def test_the_cooldown_stops_shrinkage_until_its_end_and_the_record_while_it_stands() -> None:
    cluster = shrunk()
    cluster.echo()
    cluster.retire("Aborted")
    cluster.run()
    assert cluster.run().limits.shrink_blocked_reason is RoleReason.RETIREMENT_ACTIVE
    cluster.clear_record()
    settled = cluster.run()
    assert (settled.limits.shrink_blocked_reason, settled.wait) == (RoleReason.ABORT_COOLDOWN, 300)
    cluster.now += 299
    assert cluster.run().limits.shrink_blocked is not None
    cluster.now += 1
    settled = cluster.run()
    assert (settled.limits.shrink_blocked, settled.blocked) == (None, None)


@pytest.mark.parametrize(
    ("replica", "generation"),
    [
        pytest.param(("prefill", 2), None, id="another role"),
        pytest.param(("decode", 1), None, id="an ordinal that was not removed"),
        pytest.param(("decode", 3), 1, id="a record older than our commit"),
    ],
)
def test_an_aborted_record_that_is_not_ours_blocks_and_restores_nothing(
    replica: tuple[str, int], generation: int | None
) -> None:
    cluster = shrunk()
    cluster.echo()
    cluster.retire("Aborted", replica)
    assert cluster.target is not None
    if generation is not None:
        cluster.target["status"]["retirement"]["observedGeneration"] = generation
    settled = cluster.run()
    assert settled.action is None
    assert settled.limits.shrink_blocked is not None
    assert settled.blocked is not None
    assert settled.blocked.reason == "ScaleDownAborted"
    assert cluster.vector == {"prefill": 3, "decode": 3}


@pytest.mark.parametrize(("started", "is_ours"), [("2023-11-14T22:13:19Z", True), ("2023-11-14T22:13:10Z", False)])
def test_a_record_without_a_generation_is_told_by_its_start(started: str, is_ours: bool) -> None:
    cluster = shrunk()  # at 2023-11-14T22:13:20Z
    cluster.retire("Aborted")
    assert cluster.target is not None
    cluster.target["status"]["retirement"].update(observedGeneration=0, startedAt=started)
    cluster.run()
    assert (cluster.vector == START) is is_ours


def test_a_restore_bypasses_a_pending_cohort_and_the_cohort_does_not_take_it_back() -> None:
    cluster = bound(
        scaler=scaler_document(
            roles=ROLES, ratios=[{"numeratorRole": "prefill", "denominatorRole": "decode", "target": "1"}]
        ),
        target=target_document(prefill=3, decode=4, encode=1),
    )
    cluster.plan({"decode": 3})
    cluster.plan({"prefill": 4})
    cluster.retire("Aborted", ("decode", 3))
    cluster.run()
    assert cluster.vector == {"prefill": 4, "decode": 4, "encode": 1}
    cluster.clear_record()
    cluster.now += 300
    cluster.run()
    assert cluster.vector == {"prefill": 3, "decode": 4, "encode": 1}


def test_a_restore_above_new_bounds_goes_as_far_as_is_legal() -> None:
    cluster = shrunk(decode=2)
    cluster.edit_scaler(
        roles=[
            {"name": "prefill", "minReplicas": 1, "maxReplicas": 8},
            {"name": "decode", "minReplicas": 1, "maxReplicas": 3},
        ]
    )
    cluster.retire("Aborted", ("decode", 2))
    cluster.run()
    assert cluster.vector == {"prefill": 3, "decode": 3}


def test_a_restore_that_cannot_move_anything_still_starts_the_cooldown() -> None:
    cluster = shrunk()
    cluster.edit_scaler(
        roles=[
            {"name": "prefill", "minReplicas": 1, "maxReplicas": 8},
            {"name": "decode", "minReplicas": 1, "maxReplicas": 3},
        ]
    )
    cluster.retire("Aborted")
    settled = cluster.run()
    assert settled.action is None
    last = cluster.status.last_scale_down
    assert last is not None
    assert last.outcome == "Aborted"
    assert settled.limits.shrink_blocked is not None


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE_TARGET, Fault.CRASH_AFTER_TARGET, Fault.ANSWER_LOST, Fault.RACED])
def test_a_restore_happens_once_whatever_fails(fault: Fault) -> None:
    cluster = shrunk()
    cluster.retire("Aborted")
    cluster.run(fault=fault)
    for _ in range(3):
        cluster.now += 31
        cluster.run()
    assert cluster.vector == START
    assert cluster.writes.count(START) == 1
    last = cluster.status.last_scale_down
    assert last is not None
    assert last.outcome == "Aborted"


@pytest.mark.parametrize("is_asked_again", [False, True])
def test_a_restore_that_was_given_up_and_arrives_still_starts_the_cooldown(is_asked_again: bool) -> None:
    cluster = shrunk(prefill=2, decode=2)
    before = cluster.status.last_scale_down
    assert before is not None
    cluster.retire("Aborted", ("decode", before.pre_scale_down_vector["decode"] - 1))
    cluster.run(fault=Fault.LATE)
    cluster.now += 31
    cluster.run(fault=Fault.CRASH_BEFORE_TARGET if is_asked_again else Fault.CRASH_BEFORE_STATUS)
    assert cluster.deliver()
    cluster.run()
    assert cluster.vector == before.pre_scale_down_vector
    last = cluster.status.last_scale_down
    assert last is not None
    assert (last.outcome, last.cooldown_until) == ("Aborted", cluster.now + 300)
    assert cluster.status.pending_cohort is None, "what is back was there before"
    assert cluster.status.expired_commit is None
    cluster.settle_down()
    assert cluster.vector == before.pre_scale_down_vector
