"""Clocks that step, and clocks of two leaders that differ."""

import pytest

from tests.core.transactions.cluster import Cluster, Fault, bound, target_document


def aborted() -> Cluster:
    cluster = bound(target=target_document(prefill=3, decode=4))
    cluster.plan({"decode": 3})
    cluster.retire("Aborted")
    cluster.run()
    cluster.clear_record()
    return cluster


def test_a_cohort_from_the_future_waits_its_length_and_no_longer() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3})
    cluster.now -= 7200
    assert cluster.run().wait == 300
    cluster.now += 300
    cluster.run()
    assert cluster.vector["prefill"] == 2


@pytest.mark.parametrize("step", [0, -100, -7200])
def test_a_step_backwards_never_shortens_a_cooldown_and_never_makes_it_longer_than_its_length(step: int) -> None:
    cluster = aborted()
    cluster.now += 100
    assert cluster.run().wait == 200
    cluster.now += step
    wait = cluster.run().wait
    assert wait is not None
    assert 200 <= wait <= 300
    cluster.now += 300
    assert cluster.run().limits.shrink_blocked is None


def test_an_edit_to_a_shorter_cooldown_counts_at_once() -> None:
    cluster = aborted()
    cluster.edit_scaler(behavior={"scaleDown": {"cooldownAfterAbortSeconds": 60}})
    assert cluster.run().wait == 60


def test_a_retry_from_the_future_is_at_most_its_own_wait_away() -> None:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 3})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    cluster.now -= 9000
    assert cluster.run().wait == 300


def test_an_open_intent_from_the_future_is_settled_after_one_deadline() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3}, Fault.LOST)
    cluster.now -= 5000
    assert cluster.run().wait == 30
    cluster.now += 30
    cluster.run()
    assert cluster.status.pending_commit is None


def test_waits_do_not_move_the_status_by_themselves() -> None:
    cluster = aborted()
    cluster.run()
    before = cluster.status
    for _ in range(20):
        cluster.now += 10
        cluster.run()
    assert cluster.status == before


def test_a_growth_from_the_future_is_stored_as_now_so_that_its_grace_ends() -> None:
    cluster = bound()
    cluster.plan({"decode": 3})
    cluster.now -= 7200
    cluster.run()
    noticed = cluster.now
    cluster.now += 60
    cluster.run()
    grown = cluster.status.role("decode")
    assert grown is not None
    assert grown.last_scale_up_time == noticed
