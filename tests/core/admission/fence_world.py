"""Short rows for tests of the fence: targets, scalers and requests, valid by construction."""

import json
from collections.abc import Mapping
from typing import Any

from scaler_core.admission.verdict import Absent, Found, Lookup, Operation, Request, Unread
from scaler_core.api import ownership

OPERATOR = "system:serviceaccount:gpustack:scaler-controller"
USER = "jane"
OPERATORS = frozenset({OPERATOR})
B, D = ownership.BINDING, ownership.DECISION


def binding(name: str = "llm", uid: str = "uid-1", term: int = 4) -> str:
    return ownership.Binding(scaler_name=name, scaler_uid=uid, term=term).render()


def decision(identity: str = "d-1", term: int = 4, **vector: int) -> str:
    return ownership.DecisionRecord(
        decision_id=identity, term=term, vector=vector or {"prefill": 4, "decode": 5}
    ).render()


def target(
    annotations: Mapping[str, Any] | None = None, *, image: str = "engine:1", terminating: bool = False, **counts: Any
) -> dict[str, Any]:
    roles = [
        {"name": name, "replicas": count, "instanceType": "h100", "image": image}
        for name, count in (counts or {"prefill": 4, "decode": 5}).items()
    ]
    metadata: dict[str, Any] = {"name": "llm", "namespace": "default", "uid": "target-1"}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"engine": {"name": "vLLM"}, "roles": roles}}


BOUND = {B: binding(), D: decision()}


def update(old: dict[str, Any], new: dict[str, Any], *, user: str = USER, dry_run: bool = False) -> Request:
    return Request(
        operation=Operation.UPDATE, user=user, is_dry_run=dry_run, namespace="default", name="llm", old=old, new=new
    )


def create(new: dict[str, Any], *, user: str = USER) -> Request:
    return Request(operation=Operation.CREATE, user=user, namespace="default", name="llm", new=new)


def scaler(uid: str = "uid-1", aims_at: str = "llm", *, terminating: bool = False) -> Lookup:
    metadata: dict[str, Any] = {"name": "llm", "uid": uid}
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Found(document={"metadata": metadata, "spec": {"targetRef": {"name": aims_at}}})


ABSENT = Absent()
UNREAD = Unread(reason="timeout after 3 s")


def without(document: dict[str, Any], *path: str | int) -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(document))
    node: Any = copied
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]
    return copied


def put(document: dict[str, Any], *path_and_value: Any) -> dict[str, Any]:
    *path, value = path_and_value
    copied: dict[str, Any] = json.loads(json.dumps(document))
    node: Any = copied
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return copied
