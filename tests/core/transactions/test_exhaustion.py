"""Growth that found no capacity: how long it waits, what it may ask for meanwhile, and what ends the episode."""

from dataclasses import replace

import pytest

from scaler_core.api.deployment import ModelDeployment
from scaler_core.model.plan import Plan
from scaler_core.transactions.exhaustion import exhausted_roles
from tests.core.transactions.cluster import Cluster, bound, plan_of, scaler_document

START = {"prefill": 2, "decode": 2}


def exhausted(quota: int = 5, **spec: object) -> Cluster:
    """Two added replicas of which the quota admits `quota - 4`, rolled back and retired."""
    cluster = bound(quota=quota, scaler=scaler_document(**{"rebalance": {"policy": "Disabled"}, **spec}))
    fail(cluster)
    return cluster


def fail(cluster: Cluster) -> None:
    cluster.plan({"prefill": 4})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    for _ in range(4):
        cluster.operate()
    assert cluster.vector == START


@pytest.mark.parametrize(("quota", "cap"), [(4, 2), (5, 3)])
def test_until_the_retry_a_role_may_ask_for_what_was_admitted_and_no_more(quota: int, cap: int) -> None:
    cluster = exhausted(quota)
    settled = cluster.run()
    assert settled.growth_caps == {"prefill": cap}
    assert settled.wait == 300
    cluster.now += 299
    assert cluster.run().growth_caps == {"prefill": cap}
    cluster.now += 1
    assert cluster.run().growth_caps == {}


def test_each_failure_of_the_same_growth_doubles_the_wait_up_to_thirty_minutes() -> None:
    cluster = exhausted(4)
    waits = []
    for _ in range(6):
        exhaustion = cluster.status.exhaustion
        assert exhaustion is not None
        waits.append(exhaustion.retry_at - cluster.now)
        cluster.now = exhaustion.retry_at
        fail(cluster)
    assert waits == [300, 600, 1200, 1800, 1800, 1800]
    exhaustion = cluster.status.exhaustion
    assert exhaustion is not None
    assert exhaustion.episode_generation == 3, "our own commits begin no new episode"


def test_a_spec_edit_of_the_scaler_ends_the_episode() -> None:
    cluster = exhausted()
    cluster.edit_scaler()
    assert cluster.run().growth_caps == {}
    assert cluster.status.exhaustion is None


def test_an_external_generation_of_the_target_ends_the_episode() -> None:
    cluster = exhausted()
    cluster.edit()
    assert cluster.run().growth_caps == {}


def test_our_own_commits_do_not_end_it() -> None:
    cluster = exhausted()
    cluster.plan({"prefill": 3})
    cluster.operate()
    assert cluster.run().growth_caps == {"prefill": 3}


def test_a_recommendation_back_at_the_baseline_ends_it_and_one_above_does_not() -> None:
    cluster = exhausted()
    cluster.run(lambda target: plan_of(target, recommend={"prefill": 3}))
    assert cluster.status.exhaustion is not None
    cluster.run(lambda target: plan_of(target, recommend={"prefill": 2}))
    assert cluster.status.exhaustion is None
    assert cluster.run().blocked is None


def test_a_neighbour_that_still_asks_for_the_growth_keeps_it_going() -> None:
    """Decode asks, the ratio makes prefill follow, and prefill is what found no room."""
    fixed = {"ratios": [{"numeratorRole": "prefill", "denominatorRole": "decode", "min": "1", "max": "1"}]}
    cluster = bound(quota=5, scaler=scaler_document(rebalance={"policy": "Disabled"}, **fixed))
    cluster.plan({"prefill": 3, "decode": 3})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    for _ in range(4):
        cluster.operate()
    exhaustion = cluster.status.exhaustion
    assert exhaustion is not None
    assert exhausted_roles(exhaustion) == ("prefill",)
    cluster.run(lambda target: plan_of(target, recommend={"decode": 3}))
    assert cluster.status.exhaustion == exhaustion
    cluster.run(plan_of)
    assert cluster.status.exhaustion is None


def test_a_recommendation_that_concludes_nothing_does_not_end_it() -> None:
    """A new leader, or silent engines, recommend what is there for want of signals: that is not less need."""

    def without_signals(target: ModelDeployment) -> Plan:
        plan = plan_of(target)
        return replace(plan, roles={name: replace(role, is_conclusive=False) for name, role in plan.roles.items()})

    cluster = exhausted()
    cluster.run(without_signals)
    assert cluster.status.exhaustion is not None


def test_growth_that_is_admitted_in_full_ends_it() -> None:
    cluster = exhausted()
    cluster.now += 300
    cluster.quota = 8
    cluster.plan({"prefill": 4})
    cluster.operate()
    cluster.run()
    assert cluster.status.exhaustion is None


def test_it_blocks_with_resource_exhausted_and_says_what_was_asked_for() -> None:
    settled = exhausted().run()
    assert settled.blocked is not None
    assert settled.blocked.reason == "ResourceExhausted"
    assert "prefill 4 (admitted 3) within 300 s" in settled.blocked.message
