"""One replica from a donor to a receiver: who gives, who gets, and every way that it ends."""

from typing import Any

import pytest

from scaler_core.transactions import Planning
from tests.core.transactions.cluster import Cluster, Fault, bound, plan_of, scaler_document, target_document

ROLES = [{"name": name, "minReplicas": 1, "maxReplicas": 8} for name in ("prefill", "decode", "encode")]
COUNTS = {"prefill": 2, "decode": 4, "encode": 2}
PRIORITY = {"policy": "Priority", "priority": ["prefill", "decode", "encode"]}


def exhausted(grow: dict[str, int] | None = None, **spec: Any) -> Cluster:
    """Growth was rolled back and has retired; three roles of one pool."""
    cluster = bound(
        quota=8, scaler=scaler_document(roles=ROLES, **spec), target=target_document(**COUNTS)
    )  # fmt: skip
    cluster.plan(grow or {"prefill": 4})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    for _ in range(6):
        cluster.operate()
    cluster.run()
    cluster.notes.clear()
    return cluster


def ask(cluster: Cluster, fault: Fault = Fault.NONE, **recommend: int) -> str:
    """One pass with these recommendations; which donor gave, or the reason why none did."""
    before = cluster.vector
    cluster.run(lambda target: plan_of(target, recommend=recommend), fault)
    gave = [role for role, count in cluster.vector.items() if count < before[role]]
    if gave:
        return gave[0]
    return reason(cluster)


def reason(cluster: Cluster) -> str:
    rebalance = cluster.status.rebalance
    return "" if rebalance is None else rebalance.reason


@pytest.mark.parametrize(
    ("spec", "recommend", "gives"),
    [
        pytest.param({}, {"prefill": 4, "decode": 3}, "decode", id="Opposing takes from a role that wants to shrink"),
        pytest.param({}, {"prefill": 4}, "RebalanceNotApplicable", id="Opposing takes from no role that holds"),
        pytest.param({}, {"prefill": 2, "decode": 3}, "", id="nobody needs anything"),
        pytest.param({"rebalance": {"policy": "Disabled"}}, {"prefill": 4, "decode": 3}, "", id="Disabled"),
        pytest.param({"rebalance": PRIORITY}, {"prefill": 4}, "decode", id="Priority takes from a role that holds"),
        pytest.param({"rebalance": PRIORITY}, {"prefill": 4, "decode": 5}, "encode",
                     id="Priority passes over a role that wants to grow"),
        pytest.param({"rebalance": {"policy": "Priority", "priority": ["decode", "prefill", "encode"]}},
                     {"prefill": 4, "decode": 3}, "encode", id="Priority never takes from a role before the receiver"),
        pytest.param({"rebalance": {"policy": "Priority", "priority": ["encode", "prefill"]}},
                     {"prefill": 4, "decode": 3}, "RebalanceNotApplicable", id="Priority: unlisted roles give nothing"),
        pytest.param({"rebalance": {"policy": "Priority", "priority": ["decode", "encode"]}},
                     {"prefill": 4, "decode": 3}, "ResourceExhausted", id="Priority: unlisted roles get nothing"),
        pytest.param({"roles": [ROLES[0], {**ROLES[1], "minReplicas": 4}, {**ROLES[2], "minReplicas": 2}]},
                     {"prefill": 4, "decode": 3, "encode": 1}, "RebalanceNotApplicable",
                     id="a role at its minimum keeps it"),
        pytest.param({"ratios": [{"numeratorRole": "decode", "denominatorRole": "encode", "min": "2"}]},
                     {"prefill": 4, "decode": 3}, "RebalanceBlocked", id="the first intermediate vector breaks a band"),
    ],
)  # fmt: skip
def test_who_gives_to_prefill(spec: dict[str, Any], recommend: dict[str, int], gives: str) -> None:
    cluster = exhausted(**({"rebalance": spec["rebalance"]} if "rebalance" in spec else {}))
    cluster.scaler["spec"].update(spec)
    assert ask(cluster, **recommend) == gives


def test_the_second_intermediate_vector_must_be_legal_too() -> None:
    cluster = exhausted()
    cluster.scaler["spec"]["ratios"] = [{"numeratorRole": "prefill", "denominatorRole": "decode", "max": "0.9"}]
    assert ask(cluster, prefill=4, decode=3) == "RebalanceBlocked"  # 2/3 is legal, 3/3 is not
    assert cluster.vector == COUNTS
    assert cluster.run().blocked is not None
    assert cluster.events() == ["RebalanceBlocked"]


@pytest.mark.parametrize("pool", ["", "a100"])
def test_pools_are_never_mixed_and_an_empty_one_is_none(pool: str) -> None:
    cluster = exhausted()
    assert cluster.target is not None
    for role in cluster.target["spec"]["roles"][0:1] if pool else cluster.target["spec"]["roles"]:
        role["instanceType"] = pool
    assert ask(cluster, prefill=4, decode=3) == "RebalanceNotApplicable"
    assert cluster.events() == ["RebalanceNotApplicable"]
    settled = cluster.run()
    assert settled.blocked is not None
    assert settled.blocked.reason == "RebalanceNotApplicable"
    assert "instanceType" in settled.blocked.message
    ask(cluster, prefill=4, decode=3)
    assert cluster.events() == ["RebalanceNotApplicable"], "a steady state tells nothing twice"


@pytest.mark.parametrize(
    ("grow", "recommend", "spec", "receiver"),
    [
        pytest.param({"prefill": 3, "encode": 3}, {"prefill": 3, "encode": 4, "decode": 3}, {}, "encode",
                     id="the largest relative deficit comes first"),
        pytest.param({"prefill": 3, "encode": 3}, {"prefill": 4, "encode": 4, "decode": 3}, {}, "prefill",
                     id="then role order"),
        pytest.param({"prefill": 3, "encode": 3}, {"prefill": 4, "encode": 4, "decode": 3},
                     {"rebalance": {"policy": "Priority", "priority": ["encode", "prefill", "decode"]}}, "encode",
                     id="then the order of the list under Priority"),
    ],
)  # fmt: skip
def test_who_receives(grow: dict[str, int], recommend: dict[str, int], spec: dict[str, Any], receiver: str) -> None:
    cluster = exhausted(grow, **spec)
    assert ask(cluster, **recommend) == "decode"
    rebalance = cluster.status.rebalance
    assert rebalance is not None
    assert (rebalance.receiver_role, rebalance.donor_target_replicas) == (receiver, 3)
    assert rebalance.receiver_target_replicas == COUNTS[receiver] + 1
    assert rebalance.donation_attempted


@pytest.mark.parametrize("policy", [{"policy": "Opposing"}, PRIORITY])
def test_a_guard_makes_the_donor_leg_wait(policy: dict[str, Any]) -> None:
    cluster = exhausted(rebalance=policy)
    cluster.run(lambda t: plan_of(t, recommend={"prefill": 4, "decode": 3}, release_blocked={"decode": "grace"}))
    assert cluster.vector == COUNTS
    assert reason(cluster) == "ResourceExhausted"


def test_the_shrink_window_holds_an_opposing_donor_and_no_priority_donor() -> None:
    cluster = exhausted()
    cluster.run(lambda t: plan_of(t, recommend={"prefill": 4, "decode": 3}, after_window={"decode": 4}))
    assert cluster.vector == COUNTS
    cluster = exhausted(rebalance=PRIORITY)
    cluster.run(lambda t: plan_of(t, recommend={"prefill": 4, "decode": 3}, after_window={"decode": 4}))
    assert cluster.vector["decode"] == 3


def test_a_retirement_or_a_cooldown_makes_the_donor_leg_wait() -> None:
    cluster = exhausted()
    cluster.retire("Draining", ("encode", 7))
    assert ask(cluster, prefill=4, decode=3) == "ResourceExhausted"
    cluster.clear_record()
    assert ask(cluster, prefill=4, decode=3) == "decode"


def released(**spec: Any) -> Cluster:
    cluster = exhausted(**spec)
    assert ask(cluster, prefill=4, decode=3) == "decode"
    assert reason(cluster) == "DonorRelease"
    return cluster


def test_the_receiver_leg_waits_until_the_donors_replica_is_gone_and_nothing_grows_meanwhile() -> None:
    cluster = released()
    settled = cluster.run()
    assert settled.limits.growth_blocked is not None
    assert settled.limits.shrink_blocked is not None
    cluster.operate()
    cluster.run()
    assert cluster.vector["prefill"] == 2
    cluster.pods.discard(("decode", 3))
    cluster.clear_record()
    cluster.run()
    assert cluster.vector["prefill"] == 2, "its Workload still holds the capacity"
    cluster.remove(("decode", 3))
    cluster.run()
    assert cluster.vector == {"prefill": 3, "decode": 3, "encode": 2}
    assert reason(cluster) == "ReceiverAcquire"
    cluster.operate()
    cluster.run()
    assert reason(cluster) == "DonationAttempted"
    assert cluster.events() == ["DonorReleased", "Retired", "ReceiverAcquired", "Admitted"]


def test_an_aborted_donor_is_restored_and_the_transaction_ends() -> None:
    cluster = released()
    cluster.retire("Aborted", ("decode", 3))
    cluster.run()
    assert cluster.vector == COUNTS
    assert reason(cluster) == "DonationAttempted"
    cluster.clear_record()
    cluster.now += 301
    assert ask(cluster, prefill=4, decode=3) == "DonationAttempted"
    settled = cluster.run()
    assert settled.planning is Planning.COMMIT
    assert cluster.vector == COUNTS, "one donation for each episode"


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"rebalance": {"policy": "Disabled"}}, id="the policy was disabled"),
        pytest.param({"roles": [{**ROLES[0], "maxReplicas": 2}, *ROLES[1:]]}, id="the receiver's maximum fell"),
        pytest.param({"ratios": [{"numeratorRole": "prefill", "denominatorRole": "encode", "max": "1"}]},
                     id="a new band"),
        pytest.param({"rebalance": {"policy": "Priority", "priority": ["decode", "prefill"]}},
                     id="the priorities were turned round"),
    ],
)  # fmt: skip
def test_everything_is_checked_again_before_the_receiver_leg_and_the_donor_is_restored(edit: dict[str, Any]) -> None:
    cluster = released()
    cluster.edit_scaler(**edit)
    for _ in range(3):
        cluster.operate()
    cluster.run()
    cluster.run()
    assert cluster.vector == COUNTS
    assert reason(cluster) == "RebalanceBlocked"


def test_a_receiver_with_an_evicted_replica_does_not_get_another_one() -> None:
    cluster = released()
    cluster.operate()
    cluster.operate()
    cluster.workloads["prefill", 0]["status"]["conditions"][0]["status"] = "False"
    cluster.run()
    assert cluster.vector == COUNTS


def test_a_donor_whose_restore_is_illegal_stays_and_the_transaction_ends() -> None:
    cluster = released()
    cluster.edit_scaler(roles=[{**ROLES[0], "maxReplicas": 2}, {**ROLES[1], "maxReplicas": 3}, ROLES[2]])
    for _ in range(3):
        cluster.operate()
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 3, "encode": 2}
    assert reason(cluster) == "RebalanceBlocked"
    assert "RebalanceBlocked" in cluster.events()


def test_a_receiver_leg_that_is_not_admitted_is_rolled_back_and_the_episode_goes_on() -> None:
    cluster = released()
    before = cluster.status.exhaustion
    assert before is not None
    for _ in range(3):
        cluster.operate()
    cluster.run()
    cluster.quota = 0
    cluster.operate()
    cluster.now += 300
    cluster.run()
    assert cluster.vector == {"prefill": 2, "decode": 3, "encode": 2}
    assert reason(cluster) == "DonationAttempted"
    after = cluster.status.exhaustion
    assert after is not None
    assert (after.episode_generation, after.attempts) == (before.episode_generation, before.attempts + 1)


@pytest.mark.parametrize("rebalance", [{"policy": "Opposing"}, PRIORITY])
def test_a_second_donation_in_one_episode_is_blocked_and_a_new_episode_may_donate_again(
    rebalance: dict[str, Any],
) -> None:
    cluster = released(rebalance=rebalance)
    for _ in range(3):
        cluster.operate()
        cluster.run()
    assert cluster.vector["prefill"] == 3
    assert ask(cluster, prefill=4, decode=2) == "DonationAttempted"
    cluster.edit_scaler()
    cluster.plan({"prefill": 5})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    for _ in range(6):
        cluster.operate()
    cluster.run()
    assert ask(cluster, prefill=5, decode=2) == "decode"


def test_an_edit_during_the_receiver_leg_begins_an_episode_with_a_donation_of_its_own() -> None:
    cluster = released(rebalance=PRIORITY)
    for _ in range(3):
        cluster.operate()
    cluster.quota = 0
    cluster.run()
    assert reason(cluster) == "ReceiverAcquire"
    cluster.edit()  # the episode ends, and the leg goes on
    cluster.run()
    assert cluster.status.exhaustion is None
    cluster.operate()
    cluster.now += 300
    cluster.run()
    assert reason(cluster) == "ResourceExhausted"
    for _ in range(4):
        cluster.operate()
    cluster.run()
    assert ask(cluster, prefill=4) == "decode"


def test_a_donor_leg_that_vanished_counts_as_the_donation_because_it_may_still_arrive() -> None:
    cluster = exhausted()
    ask(cluster, Fault.LATE, prefill=4, decode=3)
    cluster.now += 31
    cluster.run()
    assert ask(cluster, prefill=4, decode=3) == "RebalanceBlocked"
    assert cluster.deliver()
    cluster.run()
    assert cluster.vector["decode"] == 3
    assert reason(cluster) == "DonorRelease", "what was given up for lost is followed by its receiver"
    cluster.settle_down()
    donated = {"prefill": 3, "decode": 3, "encode": 2}
    assert cluster.vector == donated
    assert ask(cluster, prefill=4, decode=2) == "DonationAttempted"
    assert cluster.vector == donated


@pytest.mark.parametrize("is_asked_again", [False, True])
def test_a_receiver_leg_that_was_given_up_and_arrives_is_still_the_receivers(is_asked_again: bool) -> None:
    cluster = released()
    for _ in range(3):
        cluster.operate()
    cluster.run(fault=Fault.LATE)
    cluster.now += 31
    cluster.run(fault=Fault.CRASH_BEFORE_TARGET if is_asked_again else Fault.CRASH_BEFORE_STATUS)
    assert cluster.deliver()
    cluster.run()
    assert cluster.vector == {"prefill": 3, "decode": 3, "encode": 2}
    assert reason(cluster) == "ReceiverAcquire"
    cluster.settle_down()
    assert reason(cluster) == "DonationAttempted"


def test_counts_changed_by_a_stranger_end_the_transaction() -> None:
    cluster = released()
    cluster.edit({"encode": 5})
    cluster.run()
    assert cluster.status.rebalance is None
    assert cluster.vector == {"prefill": 2, "decode": 3, "encode": 5}


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE_TARGET, Fault.CRASH_AFTER_TARGET, Fault.ANSWER_LOST, Fault.RACED])
def test_each_leg_happens_once_whatever_fails(fault: Fault) -> None:
    cluster = exhausted()
    ask(cluster, fault, prefill=4, decode=3)
    for _ in range(8):
        cluster.now += 31
        cluster.operate()
        cluster.run()
    never_sent = fault in {Fault.CRASH_BEFORE_TARGET, Fault.RACED}
    donated = {"prefill": 3, "decode": 3, "encode": 2}
    assert cluster.vector == (COUNTS if never_sent else donated)
    ask(cluster, prefill=4, decode=3)
    cluster.settle_down()
    assert cluster.vector == (COUNTS if never_sent else donated)
