"""The facts of the target that a scaler relies on, on the embedded API server."""

import pytest

from scaler_core.api.pod import ENGINE_CONTAINER, SCRAPE_PORT
from scaler_core.api.workload import workload_name
from scaler_kube import resources
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.operator.operator import RELEASE_ANNOTATION
from tests.sim.operator.conftest import TARGET, role

PAIR = (role("prefill", "Prefill"), role("decode", "Decode"))


async def test_pods_carry_what_a_scaler_looks_for(start):
    world = await start(*PAIR)
    pod = (await world.pods("decode"))[0]
    target = (await world.document())["metadata"]
    labels = pod.metadata.labels
    assert labels["app.kubernetes.io/name"] == "model-deployment"
    assert labels["app.kubernetes.io/instance"] == "llm"
    assert labels["app.kubernetes.io/component"] == pod.role == "decode"
    assert labels["modeldeployment.gpustack.ai/role-kind"] == "decode"
    assert labels["kueue.x-k8s.io/pod-group-name"] == workload_name("default", "llm", "decode", 0)
    assert (pod.ordinal, pod.member) == (0, 0)
    owner = pod.metadata.owner_references[0]
    assert (owner.kind, owner.uid, owner.controller) == ("ModelDeployment", target["uid"], True)
    assert pod.metadata.annotations[SCRAPE_PORT].isdigit()
    assert pod.metadata.name.startswith("llm-decode-")
    assert pod.status.pod_ip == "127.0.0.1"
    assert pod.engine.name == ENGINE_CONTAINER
    assert pod.engine.container_id


async def test_replicas_are_admitted_jointly_and_ready_after_the_warm_up(start):
    world = await start(*PAIR, warm_up_seconds=45.0)
    await world.step(1)
    workload = await world.workload("decode", 0)
    assert workload.is_admitted
    assert [owner.uid for owner in workload.metadata.owner_references] == [
        pod.metadata.uid for pod in await world.pods("decode")
    ]
    await world.step(43)
    assert not any(pod.is_ready for pod in await world.pods())
    assert (await world.status())["phase"] == "Starting"
    await world.step(1)
    pods = await world.pods()
    assert all(pod.is_ready for pod in pods)
    assert all(pod.metadata.labels["modeldeployment.gpustack.ai/endpoint-eligible"] == "true" for pod in pods)
    assert world.machines.admitted == {ReplicaKey("prefill", 0), ReplicaKey("decode", 0)}
    status = await world.status()
    assert (status["phase"], status["roleSummary"]) == ("Ready", "1P1D")
    assert status["roles"][1] == {
        "name": "decode",
        "kind": "Decode",
        "desired": 1,
        "ready": 1,
        "quotaReserved": 1,
        "unmanaged": 0,
    }


async def test_one_role_without_quota_keeps_the_other_unadmitted(start):
    world = await start(role("prefill", "Prefill", instanceType="big"), role("decode", "Decode"), quota={"big": 1})
    await world.step(60)
    await world.scale(prefill=2, decode=2)
    await world.step(10)
    waiting, held = await world.workload("prefill", 1), await world.workload("decode", 1)
    assert not waiting.has("QuotaReserved")
    assert waiting.status.conditions[0].reason == "Pending"
    assert held.has("QuotaReserved")
    assert not held.is_admitted
    assert (await world.workload("prefill", 0)).is_admitted, "what was admitted stays so"
    condition = next(c for c in (await world.status())["conditions"] if c["type"] == "QuotaReserved")
    assert (condition["status"], condition["reason"]) == ("False", "Pending")
    world.operator.set_quota("big", 2)
    await world.step(1)
    await world.step(1)
    assert (await world.workload("prefill", 1)).is_admitted
    assert (await world.workload("decode", 1)).is_admitted


async def test_workloads_can_be_read_in_both_versions(start):
    world = await start(*PAIR)
    newer, older = [await world.workload("decode", 0, version) for version in ("v1beta2", "v1beta1")]
    assert newer.metadata.uid == older.metadata.uid


async def test_a_smaller_count_retires_the_highest_ordinals_one_at_a_time(start):
    world = await start(*PAIR)
    await world.scale(prefill=3, decode=2)
    await world.step(1)
    await world.step(50)
    await world.scale(prefill=1, decode=1)
    seen = []
    for _ in range(130):
        await world.step(2, passes=1)
        state = await world.retirement()
        if state is None:
            assert len(await world.pods()) in (5, 4, 3, 2)
        elif not seen or seen[-1] != state:
            seen.append(state)
    states = ["Admitted", "Disqualified", "Withdrawing", "Draining", "Deleting", "Settling"]
    assert seen == [f"{who}:{state}" for who in ("prefill:2", "prefill:1", "decode:1") for state in states]
    assert [(pod.role, pod.ordinal) for pod in await world.pods()] == [("decode", 0), ("prefill", 0)]
    assert await world.workload("decode", 1) is None
    assert world.machines.placed.keys() == {ReplicaKey("prefill", 0), ReplicaKey("decode", 0)}


async def test_a_retiring_replica_stays_ready_until_its_pods_are_deleted(start):
    world = await start(*PAIR)
    await world.scale(prefill=2)
    await world.step(1)
    await world.step(50)
    await world.scale(prefill=1)
    await world.step(0)
    document = await world.document()
    record = document["status"]["retirement"]
    assert record["state"] == "Withdrawing"
    assert record["observedGeneration"] == document["metadata"]["generation"]
    leaving = (await world.pods("prefill"))[1]
    assert record["targetMemberUIDs"] == [leaving.metadata.uid]
    assert leaving.is_ready
    assert "modeldeployment.gpustack.ai/endpoint-eligible" not in leaving.metadata.labels
    assert ReplicaKey("prefill", 1) not in world.machines.admitted
    assert document["status"]["roles"][0]["ready"] == 2
    await world.step(20)
    assert await world.retirement() == "prefill:1:Draining"
    await world.step(50, passes=1)
    assert await world.retirement() == "prefill:1:Deleting"
    await world.step(0, passes=1)
    assert len(await world.pods("prefill")) == 1
    assert (await world.document())["metadata"]["annotations"][RELEASE_ANNOTATION] == "prefill:1"
    await world.step(5)
    await world.step(2)
    assert await world.retirement() is None
    assert RELEASE_ANNOTATION not in (await world.document())["metadata"].get("annotations", {})


async def test_an_aborted_record_blocks_until_the_ordinal_is_declared_again(start):
    world = await start(*PAIR)
    await world.scale(prefill=2, decode=2)
    await world.step(1)
    await world.step(50)
    before = {pod.metadata.uid for pod in await world.pods()}
    await world.scale(prefill=1, decode=1)
    world.operator.abort_retirement(TARGET, "engine restarted")
    await world.step(0)
    await world.step(400)
    assert await world.retirement() == "prefill:1:Aborted"
    assert (await world.status())["retirement"]["reason"] == "engine restarted"
    assert {pod.metadata.uid for pod in await world.pods()} == before
    await world.scale(prefill=2, decode=2)
    await world.step(0)
    assert await world.retirement() is None
    assert ReplicaKey("prefill", 1) in world.machines.admitted
    assert {pod.metadata.uid for pod in await world.pods()} == before


async def test_a_retirement_is_called_off_when_the_ordinal_is_wanted_again(start):
    world = await start(*PAIR)
    await world.scale(prefill=2)
    await world.step(1)
    await world.step(50)
    await world.scale(prefill=1)
    await world.step(0)
    await world.step(25)
    assert await world.retirement() == "prefill:1:Draining"
    await world.scale(prefill=2)
    await world.step(0)
    assert await world.retirement() is None
    assert len(world.machines.admitted) == 3


async def test_a_member_that_something_else_deleted_aborts_the_retirement(start):
    world = await start(*PAIR)
    await world.scale(prefill=2)
    await world.step(1)
    await world.step(50)
    await world.scale(prefill=1)
    await world.step(0)
    await world.client.delete(resources.PODS, (await world.pods("prefill"))[1].metadata.key)
    await world.step(0)
    assert await world.retirement() == "prefill:1:Aborted"


async def test_a_replica_that_never_served_leaves_at_once(start):
    world = await start(*PAIR, quota={"gpu": 2})
    await world.step(60)
    await world.scale(prefill=2)
    await world.step(5)
    first = await world.workload("prefill", 1)
    await world.scale(prefill=1)
    await world.step(0)
    await world.step(2)
    assert await world.retirement() is None
    assert await world.workload("prefill", 1) is None
    await world.scale(prefill=2)
    await world.step(0)
    assert (await world.workload("prefill", 1)).metadata.uid != first.metadata.uid


async def test_a_deleted_pod_is_replaced_in_its_ordinal(start):
    world = await start(*PAIR)
    await world.scale(decode=3)
    await world.step(1)
    await world.step(50)
    gone = (await world.pods("decode"))[1]
    await world.client.delete(resources.PODS, gone.metadata.key)
    await world.step(1)
    pods = await world.pods("decode")
    assert [pod.ordinal for pod in pods] == [0, 1, 2]
    assert pods[1].metadata.uid != gone.metadata.uid
    assert not pods[1].is_ready
    owners = (await world.workload("decode", 1)).metadata.owner_references
    assert [owner.uid for owner in owners] == [pods[1].metadata.uid]
    await world.step(45)
    assert (await world.pods("decode"))[1].is_ready


async def test_an_evicted_replica_keeps_its_workload_and_waits(start):
    world = await start(*PAIR)
    await world.step(60)
    before = await world.workload("decode", 0)
    world.operator.set_quota("gpu", 1)
    world.operator.evict(TARGET, ReplicaKey("decode", 0))
    await world.step(0)
    evicted = await world.workload("decode", 0)
    assert evicted.metadata.uid == before.metadata.uid
    assert evicted.has("Evicted")
    assert not evicted.is_admitted
    assert not (await world.pods("decode"))[0].is_ready
    assert (await world.status())["phase"] == "Degraded"
    world.operator.set_quota("gpu", None)
    await world.step(0)
    await world.step(60)
    await world.step(60)
    assert (await world.workload("decode", 0)).is_admitted
    assert (await world.pods("decode"))[0].is_ready


async def test_an_edit_of_the_template_replaces_replicas_one_at_a_time_without_a_record(start):
    world = await start(*PAIR)
    await world.scale(decode=2)
    await world.step(1)
    await world.step(50)
    before = [pod.metadata.uid for pod in await world.pods("decode")]
    await world.edit("decode", image="registry.example/engine:2.0")
    await world.step(0)
    pods = await world.pods("decode")
    assert pods[0].metadata.uid != before[0]
    assert not pods[0].is_ready
    assert pods[1].metadata.uid == before[1]
    condition = next(c for c in (await world.status())["conditions"] if c["type"] == "ReplicasUpToDate")
    assert condition["reason"] == "RolloutInProgress"
    assert await world.retirement() is None
    await world.step(50)
    await world.step(50)
    pods = await world.pods("decode")
    assert all(pod.is_ready for pod in pods)
    assert not {pod.metadata.uid for pod in pods} & set(before)


async def test_a_restart_shows_in_the_container(start):
    world = await start(*PAIR)
    await world.step(60)
    world.operator.restart(TARGET, ReplicaKey("decode", 0))
    await world.step(0)
    pod = (await world.pods("decode"))[0]
    assert (pod.engine.container_id, pod.engine.restart_count) == ("restarted", 1)
    assert pod.is_ready


async def test_a_replica_of_several_pods_answers_at_its_leader(start):
    world = await start(role("server", "Server", size=3))
    await world.step(1)
    await world.step(50)
    pods = await world.pods("server")
    assert [pod.metadata.name for pod in pods] == [f"llm-server-r0-m{member}" for member in range(3)]
    assert [SCRAPE_PORT in pod.metadata.annotations for pod in pods] == [True, False, False]
    assert all(pod.is_ready for pod in pods)
    assert (await world.status())["roles"][0]["ready"] == 1
    assert len((await world.workload("server", 0)).metadata.owner_references) == 3


async def test_nothing_is_left_of_a_deleted_target(start):
    world = await start(*PAIR)
    await world.step(60)
    await world.client.delete(resources.deployments(), TARGET)
    await world.step(0)
    assert await world.pods() == []
    assert await world.workload("decode", 0) is None
    assert world.machines.placed == {}


@pytest.mark.parametrize("counts", [{"prefill": 2}, {}], ids=["grown", "unchanged"])
async def test_a_settled_target_is_left_alone(start, counts):
    world = await start(*PAIR)
    await world.scale(**counts)
    await world.step(1)
    await world.step(60)
    before = (await world.document())["metadata"]["resourceVersion"]
    await world.step(300)
    assert (await world.document())["metadata"]["resourceVersion"] == before
