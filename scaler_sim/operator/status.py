"""The target's status, as the real operator words it."""

from typing import Any

from scaler_core.api.base import format_time
from scaler_core.api.deployment import Role, RoleKind
from scaler_sim.operator import admission, replicas
from scaler_sim.operator.record import RetirementRecord
from scaler_sim.operator.view import ReplicaView, TargetView

_LETTERS = {RoleKind.SERVER: "S", RoleKind.PREFILL: "P", RoleKind.DECODE: "D"}


def render(view: TargetView, record: RetirementRecord | None, previous: dict[str, Any], now: float) -> dict[str, Any]:
    """The whole status.

    Args:
        view: the target.
        record: its retirement after this pass.
        previous: the stored status, for transition times and parts that others write.
        now: Unix seconds of the clock.
    """
    roles = [_role(view, role, previous) for role in view.target.spec.roles]
    desired = sum(entry["desired"] for entry in roles)
    ready = sum(entry["ready"] for entry in roles)
    status = {
        **previous,
        "phase": _phase(desired, ready, previous.get("phase", "")),
        "roleSummary": _summary(view),
        "roles": roles,
        "conditions": _conditions(view, previous.get("conditions", []), now),
    }
    status.pop("retirement", None)
    if record is not None:
        status["retirement"] = record.to_wire()
    return status


def _role(view: TargetView, role: Role, previous: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = next((e for e in previous.get("roles", []) if e["name"] == role.name), {})
    existing = [replica for key, replica in view.replicas.items() if key.role == role.name]
    return {
        **kept,
        "name": role.name,
        "kind": role.kind.value,
        "desired": role.replicas,
        "ready": sum(replica.is_ready(role.size) for replica in existing),
        "quotaReserved": sum(admission.holds_quota(replica.workload) for replica in existing),
        "unmanaged": 0,
    }


def _phase(desired: int, ready: int, previous: str) -> str:
    if ready == desired:
        return "Ready"
    return "Starting" if previous in ("", "Starting") else "Degraded"


def _summary(view: TargetView) -> str:
    return "".join(
        f"{role.replicas}{_LETTERS.get(role.kind, role.kind.value.upper())}" for role in view.target.spec.roles
    )


def _conditions(view: TargetView, previous: list[dict[str, Any]], now: float) -> list[dict[str, Any]]:
    wanted = [_quota(view), _up_to_date(view)]
    known = {condition["type"]: condition for condition in previous}
    ours = [_timed(condition, known.get(condition["type"]), now) for condition in wanted]
    others = [condition for condition in previous if condition["type"] not in {c["type"] for c in ours}]
    return ours + others


def _timed(condition: dict[str, Any], previous: dict[str, Any] | None, now: float) -> dict[str, Any]:
    if previous is not None and previous["status"] == condition["status"]:
        return condition | {"lastTransitionTime": previous["lastTransitionTime"]}
    return condition | {"lastTransitionTime": format_time(now)}


def _declared(view: TargetView) -> list[ReplicaView]:
    return [replica for role in view.target.spec.roles for replica in view.declared(role)]


def _quota(view: TargetView) -> dict[str, Any]:
    waiting = sum(not admission.holds_quota(replica.workload) for replica in _declared(view))
    message = f"{waiting} replicas wait for quota" if waiting else "every declared replica holds quota"
    return _condition("QuotaReserved", waiting == 0, "Pending" if waiting else "Reserved", message)


def _up_to_date(view: TargetView) -> dict[str, Any]:
    stale = sum(replicas.is_stale(view, replica) for replica in _declared(view))
    message = f"{stale} replicas have an older template" if stale else "every replica has the current template"
    return _condition("ReplicasUpToDate", stale == 0, "RolloutInProgress" if stale else "UpToDate", message)


def _condition(name: str, is_true: bool, reason: str, message: str) -> dict[str, Any]:  # noqa: FBT001 -- two-valued
    return {"type": name, "status": "True" if is_true else "False", "reason": reason, "message": message}
