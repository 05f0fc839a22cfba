"""The fence once more, written from the design's paragraph alone: may this write pass? Knows nothing of the product."""

import json
import re
from typing import Any

BINDING, DECISION = "modeldeployment.gpustack.ai/scaler-binding", "modeldeployment.gpustack.ai/scaler-decision"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _bad(_: str) -> Any:
    raise ValueError


def payload(text: Any, *, is_binding: bool) -> dict[str, Any] | None:
    if not isinstance(text, str) or len(text.encode("utf-8", "surrogatepass")) > 8192:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_bad)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or type(value.get("term")) is not int or not 1 <= value["term"] < 2**53:
        return None
    if is_binding:
        label = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
        name, uid = value.get("scalerName"), value.get("scalerUID")
        fine: Any = isinstance(name, str) and len(name) <= 253 and re.fullmatch(rf"{label}(\.{label})*", name)
    else:
        vector, uid = value.get("vector"), value.get("decisionID")
        fine = isinstance(vector, dict) and vector and all(type(n) is int and n > 0 for n in vector.values())
    return value if fine and isinstance(uid, str) and re.fullmatch(r"[0-9A-Za-z-]{1,64}", uid) else None


def counts(document: dict[str, Any]) -> dict[str, int]:
    return {r["name"]: 1 if r.get("replicas") is None else r["replicas"] for r in document["spec"]["roles"]}


def role_set(document: dict[str, Any], *, typed: bool) -> set[str]:
    return {r["name"] for r in document["spec"]["roles"] if r.get("instanceType") or not typed}


def rest(document: dict[str, Any]) -> Any:
    spec = document["spec"]
    return {**spec, "roles": [{k: v for k, v in r.items() if k != "replicas"} for r in spec["roles"]]}


def is_orphan(scaler: dict[str, Any] | None, binding: dict[str, Any], name: str) -> bool:
    return scaler is None or scaler["uid"] != binding["scalerUID"] or scaler["target"] != name


def permits(  # noqa: C901, PLR0911 -- the rules, read from top to bottom
    old: dict[str, Any], new: dict[str, Any], *, operator: bool, dry_run: bool, scaler: dict[str, Any] | None
) -> bool:
    """`scaler` is the named one as it is now: uid, target, dying."""
    was, now = old["metadata"].get("annotations", {}), new["metadata"].get("annotations", {})
    held, decided = payload(was.get(BINDING), is_binding=True), payload(was.get(DECISION), is_binding=False)
    moved, name = counts(old) != counts(new), old["metadata"]["name"]
    if not operator:
        if held is None:
            return all(now.get(key) in (None, was.get(key)) for key in (BINDING, DECISION))
        if role_set(old, typed=False) != role_set(new, typed=False):
            return False
        if role_set(old, typed=True) - role_set(new, typed=True):
            return False
        if moved and not dry_run:
            return False
        if now.get(BINDING) is None:
            return now.get(DECISION) in (None, was.get(DECISION)) and is_orphan(scaler, held, name)
        return all(now.get(key) == was.get(key) for key in (BINDING, DECISION))
    if rest(old) != rest(new):
        return False
    if now.get(BINDING) == was.get(BINDING):
        if now.get(DECISION) == was.get(DECISION):
            return not moved
        commit = payload(now.get(DECISION), is_binding=False)
        fresh = commit is not None and (decided is None or decided["decisionID"] != commit["decisionID"])
        return bool(held and commit and fresh and commit["term"] == held["term"] and commit["vector"] == counts(new))
    if moved or now.get(DECISION) != was.get(DECISION):
        return False
    if now.get(BINDING) is None:
        return True
    bind = payload(now.get(BINDING), is_binding=True)
    if was.get(BINDING) is not None or bind is None or (decided and bind["term"] <= decided["term"]):
        return False
    alive = scaler is not None and not is_orphan(scaler, bind, name) and not scaler["dying"]
    return alive and "deletionTimestamp" not in new["metadata"]
