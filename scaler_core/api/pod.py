"""The part of a Pod that a scaler reads."""

import re
from typing import Final

from pydantic import Field

from scaler_core.api.base import Time, Wire
from scaler_core.api.meta import ObjectMeta

NAME_LABEL: Final = "app.kubernetes.io/name"
NAME_VALUE: Final = "model-deployment"
INSTANCE_LABEL: Final = "app.kubernetes.io/instance"
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
ORDINAL_LABEL: Final = "modeldeployment.gpustack.ai/pod-ordinal"
MEMBER_LABEL: Final = "modeldeployment.gpustack.ai/member-index"
ROUTER_LABEL: Final = "modeldeployment.gpustack.ai/router"
SCRAPE_PORT: Final = "prometheus.io/port"
SCRAPE_PATH: Final = "prometheus.io/path"
SCRAPE_SCHEME: Final = "prometheus.io/scheme"
GROUP_SIZE: Final = "kueue.x-k8s.io/pod-group-total-count"
ENGINE_CONTAINER: Final = "main"
_COUNT: Final = re.compile(r"[0-9]{1,10}")  # of 32 bits where Kubernetes counts; an annotation may have any length


class PodCondition(Wire):
    """One condition of a Pod."""

    type: str
    status: str
    last_transition_time: Time | None = None


class ContainerStatus(Wire):
    """State of one container."""

    name: str
    container_id: str = Field(default="", alias="containerID")
    restart_count: int = 0


class SchedulingGate(Wire):
    """A gate that keeps a Pod from being scheduled."""

    name: str


class PodSpec(Wire):
    """A Pod's spec as far as a scaler reads it."""

    node_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class PodStatus(Wire):
    """A Pod's status as far as a scaler reads it."""

    phase: str = ""
    pod_ip: str = Field(default="", alias="podIP")
    start_time: Time | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _COUNT.fullmatch(text) is not None else None


class Pod(Wire):
    """A Pod of a role."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def role(self) -> str:
        """The role that it serves."""
        return self.metadata.labels.get(COMPONENT_LABEL, "")

    @property
    def ordinal(self) -> int | None:
        """The replica that it belongs to; None belongs to no replica."""
        return _number(self.metadata.labels.get(ORDINAL_LABEL))

    @property
    def member(self) -> int:
        """Its place within the replica."""
        return _number(self.metadata.labels.get(MEMBER_LABEL)) or 0

    @property
    def group_size(self) -> int | None:
        """Pods of its replica as of its template; None where the annotation is absent or no number."""
        return _number(self.metadata.annotations.get(GROUP_SIZE))

    @property
    def is_ready(self) -> bool:
        """Whether it serves and is not leaving."""
        return not self.metadata.is_terminating and any(
            condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions
        )

    @property
    def engine(self) -> ContainerStatus | None:
        """The engine's container."""
        return next((c for c in self.status.container_statuses if c.name == ENGINE_CONTAINER), None)

    @property
    def engine_id(self) -> str:
        """The engine process: container ID and restart count; another text means another process."""
        engine = self.engine
        return f"{engine.container_id}#{engine.restart_count}" if engine is not None else ""
