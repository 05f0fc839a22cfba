"""What the controller measures and plans at the moment, from its debug endpoint; the status is only a snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scaler_core.api.deployment import ModelDeployment


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRole:
    """One row of the screen."""

    name: str
    current: int
    ready: int
    demand: float | None = None
    """In the algorithm's unit."""
    requests: str = "-"
    """Running and waiting ones."""
    latency_milliseconds: float | None = None
    """The p95 that guards the role: ITL for decode, TTFT for the others."""
    recommended: int | None = None
    planned: int | None = None
    reason: str = ""
    message: str = ""


def live_roles(target: ModelDeployment, explained: Mapping[str, Any]) -> tuple[LiveRole, ...]:
    """The rows of the screen.

    Args:
        target: as it is stored.
        explained: the controller's last pass (`scaler_core.reporting.explanation`); empty before the first.
    """
    ready = {role.name: role.ready for role in target.status.roles}
    roles: Mapping[str, Any] = explained.get("roles") or {}
    return tuple(_row(name, count, ready.get(name, 0), roles.get(name)) for name, count in target.vector.items())


def _row(name: str, count: int, ready: int, explained: Mapping[str, Any] | None) -> LiveRole:
    if explained is None:
        return LiveRole(name=name, current=count, ready=ready)
    reading, recommendation = explained["reading"], explained["recommendation"]
    running, waiting = reading.get("running"), reading.get("waiting")
    return LiveRole(
        name=name,
        current=count,
        ready=ready,
        demand=recommendation.get("demand"),
        requests="-" if running is None else f"{running:.0f}+{waiting or 0:.0f}",
        latency_milliseconds=reading.get("itlMilliseconds" if name == "decode" else "ttftMilliseconds"),
        recommended=recommendation["replicas"],
        planned=explained["replicas"],
        reason=explained["reason"],
        message=explained["message"],
    )


def demands(explained: Mapping[str, Any]) -> Mapping[str, str]:
    """By role, what the load alone asks for, in words."""
    roles: Mapping[str, Any] = explained.get("roles") or {}
    return {name: f"{name}: {role['recommendation']['message']}" for name, role in roles.items()}
