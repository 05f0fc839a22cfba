"""Added replicas until they are admitted, and the rollback when they are not."""

import pytest

from scaler_core.api.scaler_status import Cause, Commit
from scaler_core.transactions import landing
from scaler_core.transactions.draft import Draft
from tests.core.transactions.cluster import Cluster, Fault, bound, scaler_document, target_document

BAND = [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "0.5", "max": "2"}]
ROLES = [{"name": name, "minReplicas": 1, "maxReplicas": 8} for name in ("prefill", "decode", "encode")]


def three_roles(**spec: object) -> Cluster:
    """A pair in a band, and an encode role of its own."""
    return bound(
        scaler=scaler_document(roles=ROLES, ratios=BAND, **spec), target=target_document(prefill=2, decode=2, encode=3)
    )


def test_a_cohort_ends_when_every_added_replica_is_admitted() -> None:
    cluster = bound(quota=5)
    cluster.plan({"prefill": 3, "decode": 3})
    assert cluster.run().limits.growth_blocked is not None
    assert cluster.run().limits.cohort_roles == {"prefill", "decode"}
    cluster.operate()
    cluster.run()
    assert cluster.status.pending_cohort is not None, "one of two is not enough"
    cluster.quota = 6
    cluster.operate()
    settled = cluster.run()
    assert cluster.status.pending_cohort is None
    assert settled.limits.growth_blocked is None
    assert cluster.events() == ["ScaledUp", "Admitted"]


@pytest.mark.parametrize(
    ("change", "admitted"),
    [
        pytest.param({}, True, id="admitted"),
        pytest.param({"conditions": [("QuotaReserved", "True")]}, False, id="quota alone is no admission"),
        pytest.param({"conditions": [("Admitted", "False")]}, False, id="not admitted"),
        pytest.param({"conditions": [("Admitted", "True"), ("Evicted", "True")]}, False, id="evicted"),
        pytest.param({"conditions": [("Admitted", "True"), ("Evicted", "False")]}, True, id="no longer evicted"),
        pytest.param({"conditions": [("Admitted", "True"), ("Finished", "True")]}, False, id="finished"),
        pytest.param({"active": False}, False, id="parked"),
        pytest.param({"deleted": "2026-01-01T00:00:00Z"}, False, id="being deleted"),
        pytest.param({"gone": True}, False, id="no Workload yet"),
    ],
)
def test_what_counts_as_admission(change: dict[str, object], admitted: bool) -> None:
    cluster = bound()
    cluster.plan({"prefill": 3})
    cluster.operate()
    workload = cluster.workloads["prefill", 2]
    if "conditions" in change:
        pairs = change["conditions"]
        assert isinstance(pairs, list)
        workload["status"]["conditions"] = [{"type": type_, "status": status} for type_, status in pairs]
    if "active" in change:
        workload["spec"] = {"active": False}
    if "deleted" in change:
        workload["metadata"]["deletionTimestamp"] = change["deleted"]
    if "gone" in change:
        cluster.workloads.pop(("prefill", 2))
    cluster.run()
    assert (cluster.status.pending_cohort is None) is admitted


def test_the_workload_that_was_there_before_the_commit_is_not_the_new_replicas() -> None:
    cluster = bound()
    cluster.start(("prefill", 2), admitted=True)  # still leaving from an earlier scale-down
    cluster.plan({"prefill": 3})
    cluster.run()
    assert cluster.status.pending_cohort is not None, "its admission is the old replica's"
    cluster.remove(("prefill", 2))
    cluster.start(("prefill", 2), admitted=True)
    cluster.run()
    assert cluster.status.pending_cohort is None


def test_stale_workloads_are_remembered_through_a_crash() -> None:
    cluster = bound()
    cluster.start(("prefill", 2), admitted=True)
    cluster.plan({"prefill": 3}, Fault.CRASH_AFTER_TARGET)
    cluster.run()
    cluster.run()
    assert cluster.status.pending_cohort is not None


def test_a_replica_whose_retirement_was_taken_back_is_not_rolled_back() -> None:
    cluster = bound()
    cluster.start(("prefill", 2), admitted=True)
    cluster.plan({"prefill": 3})
    cluster.echo()
    cluster.now += 300
    cluster.run()
    assert cluster.vector["prefill"] == 3
    assert cluster.status.pending_cohort is None
    assert cluster.status.exhaustion is None


def test_two_ordinals_of_one_role_have_two_admissions() -> None:
    cluster = bound()
    cluster.plan({"prefill": 4})
    cluster.start(("prefill", 2), admitted=True)
    cluster.run()
    assert cluster.status.pending_cohort is not None
    cluster.start(("prefill", 3), admitted=True)
    cluster.run()
    assert cluster.status.pending_cohort is None


def test_without_the_workload_api_pods_without_gates_on_a_node_are_admitted() -> None:
    cluster = bound(has_workload_api=False)
    cluster.plan({"prefill": 3})
    cluster.run()
    assert cluster.status.pending_cohort is not None, "no Pod yet"
    cluster.start(("prefill", 2), admitted=False)
    cluster.run()
    assert cluster.status.pending_cohort is not None, "gated"
    cluster.admit(("prefill", 2))
    cluster.run()
    assert cluster.status.pending_cohort is None


def test_without_the_workload_api_a_replica_needs_all_its_members() -> None:
    target = target_document(prefill=2, decode=2)
    target["spec"]["roles"][0]["size"] = 2
    cluster = bound(has_workload_api=False, target=target)
    cluster.plan({"prefill": 3})
    cluster.start(("prefill", 2), admitted=True)
    cluster.run()
    assert cluster.status.pending_cohort is not None


@pytest.mark.parametrize(("seconds", "restored"), [(299, False), (300, True)])
def test_the_wait_ends_at_pending_timeout_seconds(seconds: int, restored: bool) -> None:
    cluster = bound(quota=5)
    cluster.plan({"prefill": 4, "decode": 3})
    cluster.operate()
    cluster.now += seconds
    settled = cluster.run()
    assert (cluster.vector == {"prefill": 2, "decode": 2}) is restored
    if not restored:
        assert settled.wait == 1


def test_a_rollback_restores_the_whole_cohort_although_some_was_admitted_in_one_write() -> None:
    cluster = bound(quota=6)
    cluster.plan({"prefill": 4, "decode": 3})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    assert cluster.writes == [{"prefill": 4, "decode": 3}, {"prefill": 2, "decode": 2}]
    assert cluster.decision() == {"prefill": 2, "decode": 2}
    settled = cluster.run()
    assert settled.blocked is not None
    assert settled.blocked.reason == "ResourceExhausted"
    assert cluster.events() == ["ScaledUp", "RolledBack", "ResourceExhausted"]


def test_a_rollback_leaves_other_components_alone() -> None:
    cluster = three_roles()
    cluster.quota = 7
    cluster.plan({"prefill": 3})
    cluster.operate()
    cluster.plan({"encode": 2})
    cluster.now += 300
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 2, "encode": 2}


def test_the_rollback_of_a_mixed_commit_undoes_only_what_grew() -> None:
    cluster = three_roles()
    cluster.quota = 7
    cluster.plan({"prefill": 3, "encode": 2})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 2, "encode": 2}
    last = cluster.status.last_scale_down
    assert last is not None
    assert (last.role, last.is_rollback) == ("encode", False)


def test_an_aborted_removal_of_the_rollback_restores_nothing_although_a_scale_down_runs() -> None:
    cluster = three_roles()
    cluster.quota = 7
    cluster.plan({"prefill": 3, "encode": 2})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    cluster.retire("Aborted", ("prefill", 2))
    settled = cluster.run()
    assert settled.action is None
    assert settled.limits.shrink_blocked is not None
    cluster.retire("Aborted", ("encode", 2))
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 2, "encode": 3}


def test_an_aborted_removal_of_a_lone_rollback_restores_nothing() -> None:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 3})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    cluster.echo()
    cluster.retire("Aborted", ("prefill", 2))
    settled = cluster.run()
    assert settled.action is None
    assert settled.limits.shrink_blocked is not None


def test_a_scale_down_before_the_rollback_does_not_claim_the_rollbacks_removals() -> None:
    cluster = three_roles()
    cluster.quota = 7
    cluster.plan({"prefill": 3})
    cluster.operate()
    cluster.plan({"encode": 2})  # its record remembers prefill at 3
    cluster.now += 300
    cluster.run()
    cluster.retire("Aborted", ("prefill", 2))
    assert cluster.run().action is None
    cluster.retire("Aborted", ("encode", 2))
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 2, "encode": 3}


def test_an_illegal_baseline_becomes_the_nearest_legal_vector() -> None:
    cluster = three_roles()
    cluster.quota = 7
    cluster.plan({"prefill": 4, "decode": 4})
    cluster.operate()
    roles = [{"name": "decode", "minReplicas": 3, "maxReplicas": 8}, ROLES[0], ROLES[2]]
    cluster.edit_scaler(roles=roles)
    cluster.now += 300
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 3, "encode": 3}


def test_a_cohort_with_nothing_legal_to_go_back_to_ends_without_a_write() -> None:
    cluster = three_roles()
    cluster.quota = 7
    cluster.plan({"prefill": 3, "decode": 3})
    cluster.operate()
    cluster.edit_scaler(roles=[{**role, "minReplicas": 3} for role in ROLES])
    cluster.now += 300
    assert cluster.run().action is None
    assert cluster.vector == {"prefill": 3, "decode": 3, "encode": 3}
    assert cluster.status.pending_cohort is None
    assert "ResourceExhausted" in cluster.events()


def test_an_evicted_replica_that_is_not_the_cohorts_stops_growth_of_its_role_only() -> None:
    cluster = bound()
    cluster.workloads["prefill", 1]["status"]["conditions"][0]["status"] = "False"
    settled = cluster.run()
    assert set(settled.growth_blocked) == {"prefill"}
    assert "prefill 1" in settled.growth_blocked["prefill"]
    cluster = bound()
    cluster.plan({"prefill": 3})
    cluster.start(("prefill", 2), admitted=False)
    assert cluster.run().growth_blocked == {}, "the cohort's own wait is told by the target's limit"


def test_growth_is_remembered_for_the_decode_grace() -> None:
    cluster = bound()
    cluster.plan({"decode": 3})
    role = cluster.status.role("decode")
    assert role is not None
    assert (role.last_scale_up_time, role.current_replicas) == (cluster.now, 3)


def test_the_removals_of_two_rollbacks_are_followed_until_all_are_gone() -> None:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 4, "decode": 3})
    cluster.operate()
    roll_back(cluster)
    cluster.plan({"prefill": 3})
    roll_back(cluster)
    assert "Retired" not in cluster.events()
    last = cluster.status.last_scale_down
    assert last is not None
    assert dict(last.pre_scale_down_vector) == {"prefill": 4, "decode": 3}
    cluster.remove(("prefill", 2))
    cluster.remove(("prefill", 3))
    cluster.echo()
    cluster.run()
    assert "Retired" not in cluster.events(), "decode 2 still leaves"
    cluster.remove(("decode", 2))
    cluster.run()
    assert cluster.events().count("Retired") == 1


def roll_back(cluster: Cluster) -> None:
    """A cohort's wait expires; the retry of the same growth does not have to wait."""
    cluster.now += 301
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 2}
    cluster.now += 301


def test_a_rollback_that_only_grows_leaves_the_scale_down_alone() -> None:
    cluster = bound()
    undo = Commit(
        decision_id="undo", term=1, vector={"prefill": 3, "decode": 2}, baseline_vector=cluster.vector,
        timestamp=cluster.now, target_generation=2, cause=Cause.ROLLBACK,
    )  # fmt: skip
    draft = landing.landed(Draft(status=cluster.status), undo, cluster.snapshot())
    assert draft.status.last_scale_down == cluster.status.last_scale_down
