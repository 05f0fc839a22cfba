"""One replica from a donor to a receiver: who gives, who gets, and every way that it ends."""

from tests.core.transactions.cluster import bound, plan_of


def test_a_donation_moves_one_replica_in_two_writes_and_waits_for_the_donor_to_be_gone() -> None:
    cluster = bound(quota=4)
    cluster.plan({"prefill": 3})
    cluster.operate()
    cluster.now += 300
    cluster.run()
    cluster.settle_down(2)
    cluster.run(lambda target: plan_of(target, recommend={"prefill": 3, "decode": 1}))
    assert cluster.vector == {"prefill": 2, "decode": 1}
    cluster.settle_down()
    assert cluster.vector == {"prefill": 3, "decode": 1}
    assert cluster.status.rebalance is not None
    assert cluster.status.rebalance.reason == "DonationAttempted"
