"""A cluster that serves no Workload API: scheduling gates tell what was admitted."""

from dataclasses import replace

from scaler_kube.transport import Document
from tests.controller.faults.operator import Operator, Replica
from tests.controller.faults.processes import Controller
from tests.controller.faults.server import PODS
from tests.controller.recovery.conftest import Begin
from tests.controller.recovery.stage import TIMEOUT, Stage

PAIR = {"prefill": 2, "decode": 2}
GROWN = {"prefill": 4, "decode": 2}


class GatedOperator(Operator):
    """Its Pods have a gate until there is room, and then a node; its Workloads are out of the controller's sight."""

    def round(self) -> None:
        super().round()
        for replica in self.replicas():
            pod = self.pod(replica)
            if pod is not None and pod["spec"] != self.spec(replica):
                self.server.put(PODS, {**pod, "spec": self.spec(replica)})

    def spec(self, replica: Replica) -> Document:
        if self.is_admitted(replica):
            return {"nodeName": "node"}
        return {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}


def blind(controller: Controller) -> Controller:
    """The process on a server that serves no Workloads."""
    found = controller.reconciler
    controller.reconciler = replace(found, observer=replace(found.observer, serves_workloads=lambda: False))
    return controller


def gated(begin: Begin, quota: int) -> Stage:
    stage = begin(PAIR, quota, rebalance={"policy": "Disabled"})
    operator = GatedOperator(stage.server, quota)
    operator.created = stage.operator.created
    stage.operator = operator
    stage.controller = blind(stage.controller)
    stage.live()
    return stage


def test_growth_is_admitted_when_its_pods_are_scheduled(begin: Begin) -> None:
    stage = gated(begin, 6)
    stage.live(rounds=0, prefill=4)
    assert stage.counts == GROWN
    assert stage.status.pending_cohort is not None
    stage.live()
    assert stage.status.pending_cohort is None
    assert "Admitted" in stage.events


def test_growth_whose_pods_keep_their_gates_is_rolled_back(begin: Begin) -> None:
    stage = gated(begin, 5)
    stage.live(prefill=4)
    stage.live(TIMEOUT)
    assert stage.vectors == [PAIR, GROWN, PAIR]
    for _ in range(4):
        stage.live()
    assert stage.condition("Blocked") == ("True", "ResourceExhausted")
    assert stage.status.exhaustion is not None
    assert stage.status.exhaustion.admitted_vector == {"prefill": 3, "decode": 2}, "one of two had room"
    assert stage.counts == {"prefill": 3, "decode": 2}, "as much as had room is asked for again"


def test_a_replica_that_is_gated_anew_stops_the_growth_of_its_role(begin: Begin) -> None:
    stage = gated(begin, 4)
    stage.operator.evict(2)
    stage.operator.quota = 3
    stage.live(prefill=4)
    stage.live()
    role = stage.status.role("prefill")
    assert role is not None
    assert role.reason == "WorkloadPending"
    assert stage.counts == PAIR
