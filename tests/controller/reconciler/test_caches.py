"""Which scalers a change wakes."""

from typing import Any

import pytest

from scaler_controller.reconciler.caches import Caches, Triggers
from scaler_core.api import defaulting
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import Pod
from scaler_core.api.workload import Workload
from scaler_kube.store import Change, Entry
from tests.controller.reconciler.conftest import scaler_document
from tests.core.signals.worlds import pod as make_pod


def triggers() -> tuple[Triggers, list[ObjectKey]]:
    caches, woken = Caches(), list[ObjectKey]()
    for name, target in (("a", "llm"), ("b", "llm"), ("c", "other")):
        document = scaler_document(targetRef={"name": target})
        document["metadata"]["name"] = name
        scaler = defaulting.load(document)
        caches.scalers.put(scaler.metadata.key, Entry(value=scaler, uid=name, resource_version="1", generation=1))
    return Triggers(caches=caches, enqueue=woken.append), woken


def names(woken: list[ObjectKey]) -> list[str]:
    return sorted(key.name for key in woken)


def changed(old: Pod | None, new: Pod | None) -> Change[Pod]:
    pod = new or old
    assert pod is not None
    return Change(key=pod.metadata.key, old=old, new=new)


def relabelled(pod: Pod, **changes: Any) -> Pod:
    return pod.model_copy(update={"metadata": pod.metadata.model_copy(update=changes)})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_pod("server", 0), ["a", "b"], id="a new Pod wakes every scaler of its target"),
        pytest.param(make_pod("server", 0), None, ["a", "b"], id="so does one that vanished"),
        pytest.param(
            make_pod("server", 0, ready=False), make_pod("server", 0), ["a", "b"], id="so does one that became ready"
        ),
        pytest.param(
            make_pod("server", 0),
            relabelled(make_pod("server", 0), resource_version="9"),
            [],
            id="a new version with nothing that a pass reads wakes nobody",
        ),
        pytest.param(
            make_pod("server", 0),
            relabelled(make_pod("server", 0), deletion_timestamp=1.0),
            ["a", "b"],
            id="one that begins to leave wakes them",
        ),
    ],
)
def test_pods(old: Pod | None, new: Pod | None, expected: list[str]) -> None:
    rules, woken = triggers()
    rules.on_pod(changed(old, new))
    assert names(woken) == expected


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param("uid-llm-server-0-0", ["a", "b"], id="its Pods tell whose Workload it is"),
        pytest.param("stranger", [], id="another deployment's Workload wakes nobody"),
        pytest.param(None, ["a", "b", "c"], id="a Workload that lost its Pods could be anybody's"),
    ],
)
def test_workloads(owner: str | None, expected: list[str]) -> None:
    rules, woken = triggers()
    pod = make_pod("server", 0)
    rules.caches.pods.put(pod.metadata.key, Entry(value=pod, uid="p", resource_version="1", generation=0))
    owners = [{"kind": "Pod", "name": "p", "uid": owner}] if owner else []
    workload = Workload.from_wire(
        {"metadata": {"name": "w", "namespace": "default", "ownerReferences": owners}, "spec": {}, "status": {}}
    )
    rules.on_workload(Change(key=workload.metadata.key, old=None, new=workload))
    assert names(woken) == expected
