"""One engine as a role of its own, so that a command reads it exactly as the controller would."""

from typing import Final

from scaler_core.api.deployment import ModelDeployment, RoleKind
from scaler_core.api.pod import COMPONENT_LABEL, INSTANCE_LABEL, NAME_LABEL, NAME_VALUE, ORDINAL_LABEL, Pod
from scaler_core.api.scaler import TARGET_KIND
from scaler_core.model.reading import RoleReading
from scaler_core.model.scrape import EngineCounters, PodScrape, TargetScrape
from scaler_core.signals.readings import read_needed
from scaler_core.signals.requirements import Requirements
from scaler_core.signals.windows import SignalMemory

_NAME: Final = "engine"
_UID: Final = "solo"


def read_pair(first: EngineCounters, second: EngineCounters, seconds: float, kind: RoleKind) -> RoleReading:
    """What a scaler knows of a role of one Pod after two samples that are `seconds` > 0 apart."""
    target = ModelDeployment.from_wire(
        {"metadata": {"name": _NAME, "uid": _UID}, "spec": {"roles": [{"name": _NAME, "kind": kind}]}}
    )
    pod = _pod()
    needs = Requirements(interval_seconds=seconds, panic_window_seconds=seconds, metric=None)
    _, memory = read_needed(_sample(first, 0.0, pod), target, [pod], needs, SignalMemory(), 0.0)
    (reading,), _ = read_needed(_sample(second, seconds, pod), target, [pod], needs, memory, seconds)
    return reading


def problems(reading: RoleReading) -> list[str]:
    """What the reading lacks, without the name of the Pod that there is not."""
    return [problem.removeprefix(f"Pod {_NAME}: ") for problem in reading.problems]


def waiting(counters: EngineCounters, kind: RoleKind) -> float | None:
    """Waiting requests as they count for a role of this kind."""
    if counters.waiting is None or kind is not RoleKind.DECODE:
        return counters.waiting
    return counters.waiting + (counters.transfer_queue or 0.0)


def _pod() -> Pod:
    labels = {NAME_LABEL: NAME_VALUE, INSTANCE_LABEL: _NAME, COMPONENT_LABEL: _NAME, ORDINAL_LABEL: "0"}
    owner = {"kind": TARGET_KIND, "name": _NAME, "uid": _UID, "controller": True}
    return Pod.from_wire(
        {
            "metadata": {"name": _NAME, "uid": _UID, "labels": labels, "ownerReferences": [owner]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
    )


def _sample(counters: EngineCounters, at: float, pod: Pod) -> TargetScrape:
    scrape = PodScrape(
        pod_uid=_UID, pod_name=_NAME, role=_NAME, ordinal=0, member=0, container=pod.engine_id, outcome=counters
    )
    return TargetScrape(target_uid=_UID, taken_at=at, pods=(scrape,), answering={_NAME: 1})
