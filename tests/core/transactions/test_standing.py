"""How a scaler stands to its target: the `Bound` and `Active` conditions, and what follows."""

from collections.abc import Callable

import pytest

from scaler_core import transactions
from scaler_core.api.meta import Condition, ConditionStatus
from scaler_core.api.ownership import BINDING, DECISION, Binding, DecisionRecord
from scaler_core.api.scaler import FINALIZER
from scaler_core.model.action import AddFinalizer, Bind, Release, RemoveFinalizer
from scaler_core.transactions import Planning, Standing
from tests.core.transactions.cluster import Cluster, Fault, bound, scaler_document, target_document

OTHER = Binding(scaler_name="other", scaler_uid="scaler-9", term=4).render()
RECREATED = Binding(scaler_name="scale", scaler_uid="scaler-0", term=4).render()
OURS = Binding(scaler_name="scale", scaler_uid="scaler-1", term=4).render()


def annotated(text: str, **spec: object) -> Cluster:
    cluster = Cluster(scaler=scaler_document(**spec))
    cluster.annotations[BINDING] = text
    return cluster


def replaced(*spec: object) -> Cluster:
    cluster = bound()
    cluster.replace_target()
    return cluster


def suspended_and_missing() -> Cluster:
    cluster = Cluster(scaler=scaler_document(suspend=True))
    cluster.target = None
    return cluster


def missing_and_deleting() -> Cluster:
    cluster = Cluster()
    assert cluster.target is not None
    cluster.target["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return cluster


def missing() -> Cluster:
    cluster = Cluster()
    cluster.target = None
    return cluster


@pytest.mark.parametrize(
    ("build", "standing", "bound_is", "active_is", "planning"),
    [
        pytest.param(suspended_and_missing, Standing.SUSPENDED, "False Suspended", "False Suspended", Planning.STOPPED,
                     id="suspended comes before a missing target"),
        pytest.param(missing, Standing.TARGET_NOT_FOUND, "False TargetNotFound", "False TargetNotFound",
                     Planning.STOPPED, id="a missing target"),
        pytest.param(missing_and_deleting, Standing.TARGET_NOT_FOUND, "False TargetNotFound", "False TargetNotFound",
                     Planning.STOPPED, id="a target being deleted is gone"),
        pytest.param(replaced, Standing.TARGET_REPLACED, "False TargetReplaced", "False TargetReplaced",
                     Planning.STOPPED, id="another UID under the same name"),
        pytest.param(lambda: annotated("{"), Standing.INVALID_BINDING, "False InvalidBinding", "False InvalidBinding",
                     Planning.STOPPED, id="an unreadable binding"),
        pytest.param(lambda: annotated("{", mode="Shadow"), Standing.INVALID_BINDING, "False InvalidBinding",
                     "False InvalidBinding", Planning.STOPPED, id="an unreadable binding stops a Shadow scaler too"),
        pytest.param(lambda: annotated(OURS), Standing.INVALID_BINDING, "False InvalidBinding", "False InvalidBinding",
                     Planning.STOPPED, id="a binding that names us without a write-ahead record"),
        pytest.param(lambda: annotated(OTHER), Standing.ALREADY_BOUND, "False AlreadyBound", "False AlreadyBound",
                     Planning.STOPPED, id="another scaler's binding"),
        pytest.param(lambda: annotated(RECREATED), Standing.ALREADY_BOUND, "False AlreadyBound", "False AlreadyBound",
                     Planning.STOPPED, id="our name with another UID is an orphan of our predecessor"),
        pytest.param(lambda: annotated(OTHER, mode="Shadow"), Standing.SHADOW_BESIDE, "False AlreadyBound",
                     "False AlreadyBound", Planning.RECOMMEND, id="a Shadow scaler beside an owner keeps computing"),
        pytest.param(lambda: Cluster(scaler=scaler_document(mode="Shadow")), Standing.SHADOW, "True Bound",
                     "False ShadowMode", Planning.RECOMMEND, id="a Shadow scaler alone is bound without annotation"),
        pytest.param(Cluster, Standing.FREE, "Unknown Bound", "Unknown Active", Planning.RECOMMEND,
                     id="an unclaimed target is being bound"),
        pytest.param(bound, Standing.OWNER, "True Bound", "True Active", Planning.COMMIT, id="the owner commits"),
    ],
)  # fmt: skip
def test_the_first_standing_that_applies_decides(
    build: Callable[[], Cluster], standing: Standing, bound_is: str, active_is: str, planning: Planning
) -> None:
    settled = build().run()
    assert settled.standing is standing
    assert f"{settled.bound.status} {settled.bound.reason}" == bound_is
    assert f"{settled.active.status} {settled.active.reason}" == active_is
    assert settled.planning is planning
    assert settled.bound.message


def test_the_finalizer_is_there_before_the_binding() -> None:
    scaler = scaler_document()
    scaler["metadata"]["finalizers"] = []
    cluster = Cluster(scaler=scaler)
    assert cluster.run().action == AddFinalizer()
    assert cluster.run().action == Bind(term=1)
    assert cluster.term == 1
    assert cluster.events() == ["Bound"]


@pytest.mark.parametrize(
    "spec", [pytest.param({"suspend": True}, id="suspended"), pytest.param({"mode": "Shadow"}, id="Shadow mode")]
)
def test_leaving_releases_the_binding_keeps_the_decision_and_drops_the_transaction(spec: dict[str, object]) -> None:
    cluster = bound()
    cluster.plan({"prefill": 4})
    cluster.edit_scaler(**spec)
    assert isinstance(cluster.run().action, Release)
    assert BINDING not in cluster.annotations
    assert DECISION in cluster.annotations
    assert cluster.vector == {"prefill": 4, "decode": 2}
    status = cluster.status
    assert (status.pending_cohort, status.pending_commit, status.exhaustion) == (None, None, None)
    assert status.binding is not None
    assert (status.binding.term, status.binding.term_floor) == (None, 1)
    dropped = next(note.message for note in cluster.notes if note.reason.value == "TransactionDropped")
    assert "prefill=2 decode=2 -> prefill=4 decode=2" in dropped
    assert cluster.events()[-2:] == ["TransactionDropped", "Released"]
    cluster.notes.clear()
    cluster.run()
    assert cluster.events() == []


def test_the_cooldown_survives_a_suspension() -> None:
    cluster = bound()
    cluster.plan({"decode": 1})
    cluster.echo()
    cluster.retire("Aborted")
    cluster.run()
    before = cluster.status.last_scale_down
    assert before is not None
    cluster.edit_scaler(suspend=True)
    cluster.run()
    after = cluster.status.last_scale_down
    assert after is not None
    assert after.cooldown_until == before.cooldown_until
    cluster.edit_scaler(suspend=False)
    cluster.run()
    cluster.clear_record()
    assert cluster.run().limits.shrink_blocked is not None
    cluster.now += 301
    assert cluster.run().limits.shrink_blocked is None


def test_terms_rise_from_one_owner_to_the_next() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3})
    for expected in (2, 3):
        cluster.edit_scaler(suspend=True)
        cluster.run()
        cluster.edit_scaler(suspend=False)
        cluster.run()
        assert cluster.term == expected


def test_a_new_scaler_binds_above_the_term_of_the_decision_that_its_predecessor_left() -> None:
    cluster = Cluster()
    cluster.annotations[DECISION] = DecisionRecord(decision_id="d", term=7, vector={"prefill": 2, "decode": 2}).render()
    cluster.run()
    assert cluster.term == 8
    assert cluster.refusals == []


def test_a_lost_answer_to_a_bind_does_not_make_our_own_binding_a_stranger() -> None:
    cluster = Cluster()
    cluster.run(fault=Fault.ANSWER_LOST)
    assert cluster.run().standing is Standing.OWNER
    assert cluster.status.binding is not None
    assert cluster.status.binding.term == 1


def test_a_crash_between_the_record_and_the_bind_binds_under_the_same_term() -> None:
    cluster = Cluster()
    cluster.run(fault=Fault.CRASH_BEFORE_TARGET)
    assert cluster.term is None
    cluster.run(fault=Fault.LATE)
    assert cluster.deliver()
    assert cluster.run().standing is Standing.OWNER
    assert cluster.term == 1


def test_a_term_that_was_taken_and_given_back_unnoticed_is_not_used_again() -> None:
    cluster = Cluster()
    cluster.run(fault=Fault.CRASH_AFTER_TARGET)
    assert cluster.term == 1
    assert cluster.status.binding is not None
    assert cluster.status.binding.pending_term == 1, "nobody has seen it"
    cluster.edit_scaler(suspend=True)
    cluster.run()
    assert cluster.term is None
    cluster.edit_scaler(suspend=False)
    cluster.run()
    assert cluster.term == 2


def test_suspending_is_the_way_out_of_a_binding_that_our_restored_status_does_not_know() -> None:
    cluster = annotated(OURS)
    cluster.run()
    cluster.edit_scaler(suspend=True)
    cluster.run()
    assert cluster.term is None
    cluster.edit_scaler(suspend=False)
    cluster.run()
    assert cluster.term == 5
    assert cluster.run().standing is Standing.OWNER


def test_a_binding_below_the_decision_is_invalid_although_we_know_its_term() -> None:
    cluster = bound()
    cluster.annotations[DECISION] = DecisionRecord(decision_id="d", term=2, vector={"prefill": 2, "decode": 2}).render()
    assert cluster.run().standing is Standing.INVALID_BINDING


def test_transactions_of_a_restored_status_do_not_count_without_our_binding() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3})
    status = cluster.status
    cluster.annotations.pop(BINDING)
    cluster.status = status
    cluster.run()
    assert cluster.status.pending_cohort is None
    assert cluster.term == 2


def test_a_lagging_cache_does_not_make_us_bind_again() -> None:
    cluster = bound()
    settled = cluster.run()
    stale = target_document(prefill=2, decode=2)

    settled = transactions.settle(cluster.snapshot(fresh=False, target=stale), "x")
    assert (settled.planning, settled.wait, settled.action) == (Planning.FRESH_READ, 0.0, None)
    assert settled.status.binding == cluster.status.binding


def test_a_deleted_scaler_does_not_trust_a_cache_that_shows_no_binding() -> None:
    cluster = delete(bound())
    stale = target_document(prefill=2, decode=2)
    settled = transactions.settle(cluster.snapshot(fresh=False, target=stale), "x")
    assert (settled.planning, settled.action) == (Planning.FRESH_READ, None)
    assert isinstance(transactions.settle(cluster.snapshot(fresh=False), "x").action, Release)


@pytest.mark.parametrize("spec", [{"suspend": True}, {"mode": "Shadow"}], ids=["suspended", "Shadow"])
def test_who_lets_go_does_not_forget_a_binding_because_a_cache_shows_none(spec: dict[str, object]) -> None:
    cluster = bound()
    cluster.edit_scaler(**spec)
    stale = target_document(prefill=2, decode=2)
    settled = transactions.settle(cluster.snapshot(fresh=False, target=stale), "x")
    assert (settled.planning, settled.action) == (Planning.FRESH_READ, None)
    assert settled.status.binding == cluster.status.binding
    assert isinstance(transactions.settle(cluster.snapshot(fresh=False), "x").action, Release)


def test_meeting_anothers_binding_is_told_once() -> None:
    cluster = annotated(OTHER)
    settled = cluster.run()
    assert cluster.events() == ["AlreadyBound"]
    condition = Condition(
        type="Bound", status=settled.bound.status, reason=settled.bound.reason, last_transition_time=cluster.now
    )
    cluster.status = cluster.status.model_copy(update={"conditions": (condition,)})
    cluster.run()
    assert cluster.events() == ["AlreadyBound"]


def test_a_replaced_target_waits_for_an_edit_made_after_it_was_reported() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3})
    cluster.replace_target(prefill=1, decode=1)
    cluster.edit_scaler(suspend=False)
    cluster.run()
    assert cluster.run().standing is Standing.TARGET_REPLACED
    assert cluster.status.last_commit is not None
    assert cluster.events().count("TargetReplaced") == 1
    cluster.edit_scaler(suspend=False)
    cluster.run()
    cluster.run()
    status = cluster.status
    assert (status.last_commit, status.pending_cohort, status.roles, status.predictors) == (None, None, (), ())
    assert status.binding is not None
    assert (status.binding.target_uid, status.binding.term) == ("target-2", 1)


def test_a_shadow_scaler_remembers_its_target_and_sees_a_replaced_one() -> None:
    cluster = Cluster(scaler=scaler_document(mode="Shadow"))
    cluster.run()
    cluster.replace_target()
    assert cluster.run().standing is Standing.TARGET_REPLACED


def test_nothing_expires_while_the_target_is_missing() -> None:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 3})
    target, cluster.target = cluster.target, None
    before = cluster.status
    cluster.now += 1000
    cluster.run()
    assert cluster.status == before
    cluster.target = target


def test_timers_go_on_where_they_stood_when_the_target_is_there_again() -> None:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 3})
    cluster.now += 100
    missing = Condition(
        type="Bound", status=ConditionStatus.FALSE, reason="TargetNotFound", last_transition_time=cluster.now
    )
    cluster.status = cluster.status.model_copy(update={"conditions": (missing,)})
    cluster.now += 1000
    assert cluster.run().wait == 200
    cluster.status = cluster.status.model_copy(update={"conditions": ()})
    cluster.now += 200
    cluster.run()
    assert cluster.vector["prefill"] == 2


def delete(cluster: Cluster) -> Cluster:
    cluster.scaler["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return cluster


def test_a_deleted_scaler_releases_then_lets_go() -> None:
    cluster = delete(bound())
    assert isinstance(cluster.run().action, Release)
    assert cluster.run().action == RemoveFinalizer()
    assert cluster.scaler["metadata"]["finalizers"] == []
    assert cluster.run().action is None


@pytest.mark.parametrize("build", [missing, missing_and_deleting, lambda: annotated(OTHER), lambda: annotated("{")])
def test_a_deleted_scaler_is_held_up_by_nothing_that_it_does_not_own(build: Callable[[], Cluster]) -> None:
    cluster = delete(build())
    assert cluster.scaler["metadata"]["finalizers"] == [FINALIZER]
    assert cluster.run().action == RemoveFinalizer()


def test_a_refused_release_is_tried_again_with_a_growing_wait() -> None:
    cluster = delete(bound())
    cluster.run(fault=Fault.REFUSED)
    settled = cluster.run()
    assert (settled.action, settled.wait) == (None, 5.0)
    assert "denied the request: no" in settled.active.message
    cluster.now += 5
    cluster.run(fault=Fault.REFUSED)
    assert cluster.run().wait == 10.0
    cluster.now += 10
    assert isinstance(cluster.run().action, Release)
    assert cluster.run().action == RemoveFinalizer()


def test_suspending_with_an_open_intent_overtakes_it() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3}, Fault.LATE)
    cluster.edit_scaler(suspend=True)
    cluster.run()
    assert cluster.term is None
    assert not cluster.deliver()
    assert cluster.vector == {"prefill": 2, "decode": 2}
    assert cluster.status.pending_commit is None
