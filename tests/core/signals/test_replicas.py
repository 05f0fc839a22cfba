"""Which replicas are capacity and which Pods answer for them."""

import pytest

from scaler_core.api.deployment import Role
from scaler_core.api.pod import Pod
from scaler_core.signals.replicas import answering_pods, ready_replicas, replicas_of, target_pods
from tests.core.signals import worlds


def role(replicas: int = 2, size: int = 1) -> Role:
    return Role(name="server", replicas=replicas, size=size)


@pytest.mark.parametrize(
    ("pod", "own"),
    [
        pytest.param(worlds.pod("server", 0), True, id="a Pod that the target controls is its own"),
        pytest.param(worlds.pod("server", 0, owner="old"), False, id="a namesake's Pod is not"),
        pytest.param(worlds.pod("server", 0, controller=False), False, id="a Pod that it merely owns is not"),
        pytest.param(
            worlds.pod("server", 0, labels={"modeldeployment.gpustack.ai/router": "r"}), False, id="a router is not"
        ),
        pytest.param(
            worlds.pod("server", 0, labels={"app.kubernetes.io/instance": "other"}), False, id="another instance is not"
        ),
        pytest.param(
            worlds.pod("server", 0, labels={"app.kubernetes.io/name": "web"}), False, id="another application is not"
        ),
    ],
)
def test_a_target_knows_its_own_pods(pod: Pod, own: bool) -> None:
    assert target_pods(worlds.target(server=1), [pod]) == ((pod,) if own else ())


@pytest.mark.parametrize(
    ("size", "members", "ready", "problem"),
    [
        pytest.param(1, [worlds.pod("server", 0)], 1, None, id="one ready Pod is a replica"),
        pytest.param(1, [worlds.pod("server", 0, ready=False)], 0, None, id="a Pod that warms up is no capacity"),
        pytest.param(1, [worlds.pod("server", 0, terminating=True)], 0, None, id="a leaving Pod is no replica at all"),
        pytest.param(1, [worlds.pod("server", None)], 0, None, id="a Pod without ordinal belongs to no replica"),
        pytest.param(1, [worlds.pod("server", 2)], 0, None, id="an ordinal beyond the count is no capacity"),
        pytest.param(
            2, [worlds.pod("server", 0, 0), worlds.pod("server", 0, 1)], 1, None, id="two members are one replica"
        ),
        pytest.param(
            2,
            [worlds.pod("server", 0, 0), worlds.pod("server", 0, 1, ready=False)],
            0,
            None,
            id="every member must be ready",
        ),
        pytest.param(2, [worlds.pod("server", 0, 0)], 0, "replica 0: 1 of its 2 Pods exist", id="a member is missing"),
        pytest.param(2, [worlds.pod("server", 0, 1)], 0, "replica 0: it has no leader", id="the leader is missing"),
        pytest.param(
            1,
            [worlds.pod("server", 0, name="a"), worlds.pod("server", 0, name="b")],
            0,
            "replica 0: two Pods claim the same member (a, b)",
            id="two leaders speak for nobody",
        ),
        pytest.param(
            2,
            [worlds.pod("server", 0, 0, size="2"), worlds.pod("server", 0, 1, size="3")],
            0,
            "replica 0: its members disagree on their number (2, 3)",
            id="members disagree on their number",
        ),
        pytest.param(
            4, [worlds.pod("server", 0, size="1")], 1, None, id="the template's size wins over an edited role"
        ),
    ],
)
def test_readiness(size: int, members: list[Pod], ready: int, problem: str | None) -> None:
    deployment = worlds.target(sizes={"server": size}, server=2)
    found = replicas_of(deployment, deployment.spec.roles[0], members)
    assert ready_replicas(deployment.spec.roles[0], found) == ready
    assert [replica.problem for replica in found if replica.problem] == ([problem] if problem else [])


def test_the_leader_answers_for_a_replica_and_every_member_under_external_data_parallelism() -> None:
    members = [worlds.pod("server", ordinal, member) for ordinal in (1, 0) for member in (1, 0)]
    for external, expected in (((), ["0-0", "1-0"]), (("server",), ["0-0", "0-1", "1-0", "1-1"])):
        deployment = worlds.target(sizes={"server": 2}, external=external, server=2)
        found = answering_pods(replicas_of(deployment, deployment.spec.roles[0], members))
        assert [pod.metadata.name.removeprefix("llm-server-") for pod in found] == expected


def test_pods_are_ordered_by_ordinal_as_a_number() -> None:
    deployment = worlds.target(server=12)
    found = answering_pods(replicas_of(deployment, role(12), reversed(worlds.pods("server", 12))))
    assert [pod.ordinal for pod in found] == list(range(12))
