"""Short rows for tests of the scaler's rules: documents, valid by construction, and edits of them."""

from typing import Any

from scaler_core.admission.verdict import Found, Lookup, Operation, Request
from tests.core.admission.fence_world import put, without

__all__ = [
    "change",
    "create",
    "document",
    "pair",
    "predictive",
    "proportional",
    "put",
    "server",
    "target",
    "update",
    "without",
]


def document(algorithm: dict[str, Any], roles: list[dict[str, Any]], **members: Any) -> dict[str, Any]:
    spec = {"targetRef": {"name": "llm"}, "roles": roles, "algorithm": algorithm, **members}
    return {"metadata": {"name": "llm", "namespace": "default", "uid": "uid-1"}, "spec": spec}


def server(**members: Any) -> dict[str, Any]:
    """One Server role on token throughput."""
    return document(
        {"type": "TokenThroughput", "tokenThroughput": {"serverTargetTokensPerSecond": "2000"}},
        [{"name": "server", "minReplicas": 2, "maxReplicas": 16}],
        **members,
    )


def pair(*ratios: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Prefill and decode on token throughput; a ratio is (min, target, max) of prefill/decode unless it names roles."""
    tokens = {"prefillTargetTokensPerSecond": "2000", "decodeTargetTokensPerSecond": "800"}
    named = [{"numeratorRole": "prefill", "denominatorRole": "decode", **ratio} for ratio in ratios]
    return document(
        {"type": "TokenThroughput", "tokenThroughput": tokens},
        [
            {"name": "prefill", "minReplicas": 2, "maxReplicas": 16},
            {"name": "decode", "minReplicas": 2, "maxReplicas": 16},
        ],
        **({"ratios": named} if named else {}),
        **members,
    )


def proportional(*targets: tuple[str, Any], **block: Any) -> dict[str, Any]:
    """Prefill and decode on queue depth."""
    entries = [{"name": name, "target": target_} for name, target_ in targets or (("prefill", "8"), ("decode", "8"))]
    return document(
        {"type": "Proportional", "proportional": {"metric": "QueueDepth", "roleTargets": entries, **block}},
        [{"name": "prefill", "maxReplicas": 16}, {"name": "decode", "maxReplicas": 16}],
    )


def predictive(**block: Any) -> dict[str, Any]:
    """One Server role on the forecast."""
    parameters = {"tokenThroughput": {"serverTargetTokensPerSecond": "2000"}, "serverTokenCapacityPerReplica": "2000"}
    return document({"type": "Predictive", "predictive": parameters | block}, [{"name": "server", "maxReplicas": 16}])


def change(document_: dict[str, Any], *path_and_value: Any) -> dict[str, Any]:
    """The document with one member of its spec set."""
    return put(document_, "spec", *path_and_value)


def create(document_: Any) -> Request:
    return Request(operation=Operation.CREATE, user="jane", namespace="default", name="llm", new=document_)


def update(old: Any, new: Any) -> Request:
    return Request(operation=Operation.UPDATE, user="jane", namespace="default", name="llm", old=old, new=new)


def target(*roles: tuple[str, str, dict[str, Any]] | tuple[str, str], name: str = "llm", status: Any = None) -> Lookup:
    """A deployment with roles (name, kind, more members)."""
    entries = [
        {"name": role[0], "kind": role[1], "replicas": 2, **(role[2] if len(role) > 2 else {})}  # type: ignore[misc]
        for role in roles
    ]
    return Found(document={"metadata": {"name": name}, "spec": {"roles": entries}, "status": status or {}})
