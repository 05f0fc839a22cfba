"""What the controller measures and plans at the moment, from its own metrics; the status is only a snapshot."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler_status import ScalerStatus

_NAMES: Final = {
    "mds_recommended_replicas": "recommended",
    "mds_demand": "demand",
    "mds_ttft_p95_seconds": "ttft",
    "mds_itl_p95_seconds": "itl",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRole:
    """One row of the screen."""

    name: str
    current: int
    ready: int
    demand: float | None = None
    """In the algorithm's unit."""
    recommended: int | None = None
    latency_milliseconds: float | None = None
    """The p95 that guards the role: TTFT for prefill, ITL for decode."""
    reason: str = ""


def measurements(text: str, scaler: ObjectKey) -> Mapping[str, Mapping[str, float]]:
    """Role name to what the controller's metrics say of it."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        name = _NAMES.get(family.name)
        for sample in family.samples if name is not None else ():
            labels = sample.labels
            if name is not None and (labels["namespace"], labels["scaler"]) == scaler:
                found[labels["role"]][name] = sample.value
    return found


def live_roles(
    counts: Mapping[str, int], ready: Mapping[str, int], status: ScalerStatus, text: str, scaler: ObjectKey
) -> tuple[LiveRole, ...]:
    """The rows of the screen.

    Args:
        counts: of the target's spec.
        ready: of the target's status.
        status: of the scaler.
        text: the controller's metrics.
        scaler: whose roles they are.
    """
    measured = measurements(text, scaler)
    return tuple(
        _row(name, count, ready.get(name, 0), status, measured.get(name, {})) for name, count in counts.items()
    )


def _row(name: str, count: int, ready: int, status: ScalerStatus, measured: Mapping[str, float]) -> LiveRole:
    observation = status.role(name)
    latency = measured.get("itl" if name == "decode" else "ttft")
    recommended = measured.get("recommended")
    return LiveRole(
        name=name,
        current=count,
        ready=ready,
        demand=measured.get("demand"),
        recommended=None if recommended is None else int(recommended),
        latency_milliseconds=None if latency is None else latency * 1000,
        reason="" if observation is None else observation.reason,
    )
