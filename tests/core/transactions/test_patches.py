"""The JSON Patches of the target, each held against the real fence, and what answers mean."""

from collections.abc import Callable
from typing import Any

import jsonpatch
import pytest

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.ownership import BINDING, DECISION, FENCE_WEBHOOK
from scaler_core.api.scaler_status import Commit
from scaler_core.model.action import Committed, Conflicted, Outcome, Refused, Unknown
from scaler_core.transactions import patches
from scaler_core.transactions.patches import Answer
from tests.core.transactions.cluster import Cluster, Fault, bound

ESCAPED = "/metadata/annotations/modeldeployment.gpustack.ai~1scaler-"


def committed() -> Cluster:
    cluster = bound()
    cluster.plan({"prefill": 3})
    return cluster


def intent_of(cluster: Cluster, **counts: int) -> Commit:
    target = cluster.snapshot().target
    assert target is not None
    return Commit(
        decision_id="next",
        term=1,
        vector={**target.vector, **counts},
        baseline_vector=target.vector,
        timestamp=cluster.now,
        target_generation=target.metadata.generation + 1,
    )


def seen(cluster: Cluster) -> ModelDeployment:
    target = cluster.snapshot().target
    assert target is not None
    return target


def test_a_commit_tests_all_that_it_rests_on_and_writes_counts_and_decision_alone() -> None:
    cluster = committed()
    operations = patches.commit(seen(cluster), intent_of(cluster, prefill=4))
    tested = [operation["path"] for operation in operations if operation["op"] == "test"]
    assert tested == [
        "/metadata/uid", "/metadata/generation", f"{ESCAPED}binding", f"{ESCAPED}decision",
        "/spec/roles/0/name", "/spec/roles/0/replicas",
    ]  # fmt: skip
    assert [operation["path"] for operation in operations if operation["op"] != "test"] == [
        "/spec/roles/0/replicas",
        f"{ESCAPED}decision",
    ]


def test_the_resource_version_is_tested_while_an_annotation_is_missing() -> None:
    cluster = bound()
    first = patches.commit(seen(cluster), intent_of(cluster, prefill=4))
    assert {"op": "test", "path": "/metadata/resourceVersion", "value": "2"} in first
    unclaimed = Cluster()
    binding = patches.bind(seen(unclaimed), unclaimed.snapshot().scaler, 1)
    assert {"op": "test", "path": "/metadata/resourceVersion", "value": "1"} in binding
    assert binding[-1]["path"] == "/metadata/annotations", "the map itself is absent"
    unclaimed.annotations["else"] = "kept"
    assert patches.bind(seen(unclaimed), unclaimed.snapshot().scaler, 1)[-1]["path"] == f"{ESCAPED}binding"


def test_an_omitted_count_is_held_by_the_generation() -> None:
    cluster = committed()
    assert cluster.target is not None
    cluster.target["spec"]["roles"][1].pop("replicas")
    intent = intent_of(cluster, decode=2)
    operations = patches.commit(seen(cluster), intent)
    assert not any(o["op"] == "test" and o["path"] == "/spec/roles/1/replicas" for o in operations)
    after = jsonpatch.apply_patch(cluster.target, [dict(o) for o in operations])
    assert after["spec"]["roles"][1]["replicas"] == 2


def test_an_intent_for_another_state_is_not_sent() -> None:
    cluster = committed()
    intent = intent_of(cluster, prefill=4)
    cluster.edit()
    with pytest.raises(ValueError, match="made for another state"):
        patches.commit(seen(cluster), intent)


def _edit(cluster: Cluster) -> dict[str, Any]:
    assert cluster.target is not None
    return cluster.target


TOUCHED: list[tuple[str, Callable[[Cluster], object]]] = [
    ("uid", lambda c: _edit(c)["metadata"].update(uid="target-2")),
    ("generation", lambda c: c.edit()),
    ("binding", lambda c: c.annotations.update({BINDING: c.annotations[BINDING] + " "})),
    ("decision", lambda c: c.annotations.update({DECISION: c.annotations[DECISION] + " "})),
    ("role order", lambda c: _edit(c)["spec"]["roles"].reverse()),
    ("count", lambda c: _edit(c)["spec"]["roles"][0].update(replicas=7)),
]


@pytest.mark.parametrize(("name", "touch"), TOUCHED, ids=[name for name, _ in TOUCHED])
def test_whatever_it_rests_on_changes_the_commit_fails(name: str, touch: Callable[[Cluster], object]) -> None:
    cluster = committed()
    patch = patches.commit(seen(cluster), intent_of(cluster, prefill=4))
    touch(cluster)
    answer = cluster.apply(patch)
    assert answer is not None
    assert answer.code == 422


def test_status_and_foreign_annotations_of_the_targets_operator_do_not_starve_us() -> None:
    cluster = committed()
    patch = patches.commit(seen(cluster), intent_of(cluster, prefill=4))
    _edit(cluster)["metadata"]["resourceVersion"] = "99"
    cluster.annotations["modeldeployment.gpustack.ai/replacement-slots"] = "1"
    cluster.retire("Draining", ("decode", 1))
    assert cluster.apply(patch) is None


def test_every_write_of_ours_passes_the_real_fence() -> None:
    cluster = committed()
    cluster.plan({"decode": 1})
    cluster.edit_scaler(suspend=True)
    cluster.run()
    cluster.edit_scaler(suspend=False)
    cluster.run()
    cluster.plan({"prefill": 1})
    assert cluster.refusals == []
    assert cluster.term == 2
    assert cluster.vector == {"prefill": 1, "decode": 1}


@pytest.mark.parametrize("build", [Cluster, bound, committed])
def test_the_fence_refuses_the_probe_in_every_state(build: Callable[[], Cluster]) -> None:
    cluster = build()
    before = cluster.target
    answer = cluster.apply(patches.probe(seen(cluster)))
    assert answer is not None
    assert patches.proves_fence(answer)
    assert cluster.target == before


def test_a_missing_permission_proves_no_fence() -> None:
    assert not patches.proves_fence(Answer(code=403, message="modeldeployments is forbidden: cannot patch"))
    assert not patches.proves_fence(Answer(code=500, message=f"failed calling webhook {FENCE_WEBHOOK}"))


def nothing(cluster: Cluster) -> None:
    return None


FAILED_TEST = Answer(code=422, message="the server rejected our request due to an error in our request")
NAME_TOO_LONG = Answer(code=422, message="metadata.name: too long")


@pytest.mark.parametrize(
    ("answer", "meanwhile", "outcome"),
    [
        pytest.param(FAILED_TEST, lambda c: c.edit(), Conflicted, id="a failed test, and something differs"),
        pytest.param(FAILED_TEST, nothing, Refused, id="the same answer, and nothing differs"),
        pytest.param(NAME_TOO_LONG, nothing, Refused, id="refused by the target's own admission"),
        pytest.param(NAME_TOO_LONG, lambda c: c.annotations.pop(BINDING), Conflicted, id="the binding is gone"),
        pytest.param(Answer(code=403, message="denied"), nothing, Refused, id="refused by the fence"),
        pytest.param(Answer(code=409, message="conflict"), nothing, Conflicted, id="the API server says conflict"),
        pytest.param(Answer(code=0, message="timeout"), nothing, Unknown, id="no answer"),
        pytest.param(Answer(code=504, message="timeout"), nothing, Unknown, id="a gateway gave up"),
        pytest.param(Answer(code=500, message="failed calling webhook"), nothing, Refused, id="the webhook is down"),
        pytest.param(Answer(code=500, message="etcd"), nothing, Unknown, id="any other 500"),
    ],
)
def test_what_an_answer_means(answer: Answer, meanwhile: Callable[[Cluster], object], outcome: type[Outcome]) -> None:
    cluster = committed()
    tested, intent = seen(cluster), intent_of(cluster, prefill=4)
    meanwhile(cluster)
    assert isinstance(patches.classify(answer, tested, seen(cluster), intent), outcome)


def test_our_decision_on_the_target_means_committed_whatever_the_answer_says() -> None:
    cluster = committed()
    tested, intent = seen(cluster), intent_of(cluster, prefill=4)
    assert cluster.apply(patches.commit(tested, intent)) is None
    assert patches.classify(FAILED_TEST, tested, seen(cluster), intent) == Committed(generation=3)
    assert isinstance(patches.classify(FAILED_TEST, tested, None, intent), Conflicted)


def test_a_repeated_request_cannot_step_twice() -> None:
    cluster = committed()
    patch = patches.commit(seen(cluster), intent_of(cluster, prefill=4))
    assert cluster.apply(patch) is None
    assert cluster.apply(patch) is not None
    assert cluster.vector["prefill"] == 4


def test_a_release_of_what_is_gone_is_a_conflict() -> None:
    cluster = bound()
    cluster.edit_scaler(suspend=True)
    cluster.run(fault=Fault.CRASH_AFTER_TARGET)
    cluster.run()
    assert cluster.status.binding is not None
    assert cluster.status.binding.term is None
