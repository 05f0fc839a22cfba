"""Clocks that step, and clocks of two leaders that differ."""

from collections.abc import Callable

import pytest

from scaler_core.api.meta import ConditionStatus
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler_status import Condition, ScalerStatus
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


def miss_target(cluster: Cluster, seconds: float) -> None:
    """The target is not to be seen for a while; every pass stores its conditions, as the shell does."""
    target, cluster.target = cluster.target, None
    for elapsed in (0.0, seconds):
        cluster.now += elapsed
        settled = cluster.run()
        assert settled.bound.reason is Reason.TARGET_NOT_FOUND
        since = cluster.now - elapsed
        condition = Condition(
            type=ConditionType.BOUND,
            status=ConditionStatus.FALSE,
            reason=Reason.TARGET_NOT_FOUND,
            message="",
            last_transition_time=since,
        )
        cluster.status = cluster.status.model_copy(update={"conditions": (condition,)})
    cluster.target = target


def growing() -> Cluster:
    cluster = bound()
    cluster.plan({"decode": 3})
    return cluster


def exhausted() -> Cluster:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 3})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    return cluster


def grown_at(status: ScalerStatus) -> float:
    found = status.role("decode")
    assert found is not None
    assert found.last_scale_up_time is not None
    return found.last_scale_up_time


def cohort_since(status: ScalerStatus) -> float:
    assert status.pending_cohort is not None
    return status.pending_cohort.started_at


def cooldown_until(status: ScalerStatus) -> float:
    assert status.last_scale_down is not None
    assert status.last_scale_down.cooldown_until is not None
    return status.last_scale_down.cooldown_until


def retry_at(status: ScalerStatus) -> float:
    assert status.exhaustion is not None
    return status.exhaustion.retry_at


@pytest.mark.parametrize(
    ("build", "moment"),
    [
        pytest.param(growing, cohort_since, id="the wait of a cohort for admission"),
        pytest.param(growing, grown_at, id="the grace of a Decode role that grew"),
        pytest.param(aborted, cooldown_until, id="the cooldown after an abort"),
        pytest.param(exhausted, retry_at, id="the wait before growth without room is tried again"),
    ],
)
@pytest.mark.parametrize("before", [0.0, 50.0])
def test_waits_stand_while_the_target_is_missing(
    build: Callable[[], Cluster], moment: Callable[[ScalerStatus], float], before: float
) -> None:
    cluster = build()
    cluster.now += before
    cluster.run()
    began = moment(cluster.status)
    miss_target(cluster, 5000.0)
    assert moment(cluster.status) == began
    cluster.run()
    assert moment(cluster.status) == began + 5000


def test_a_cooldown_stands_while_the_target_is_missing_even_if_the_binding_went_with_it() -> None:
    cluster = aborted()
    until = cooldown_until(cluster.status)
    miss_target(cluster, 5000.0)
    cluster.annotations.clear()
    cluster.run()
    assert cooldown_until(cluster.status) == until + 5000


def test_a_wait_that_was_over_before_the_target_went_missing_stays_over() -> None:
    cluster = aborted()
    cluster.now += 400
    cluster.run()
    miss_target(cluster, 5000.0)
    assert cluster.run().limits.shrink_blocked is None


def test_a_request_in_flight_expires_while_the_target_is_missing() -> None:
    cluster = bound()
    cluster.plan({"prefill": 3}, Fault.LOST)
    miss_target(cluster, 31.0)
    cluster.run()
    assert cluster.status.pending_commit is None
