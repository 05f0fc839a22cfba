"""Writes of a scaler's own status: conditional on the version that the decision rests on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scaler_controller.reconciler.own_writes import OwnWrites
from scaler_controller.telemetry.metrics import Metrics
from scaler_core.api import defaulting
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import ScalerStatus
from scaler_kube.client import KubeClient
from scaler_kube.clock import Clock
from scaler_kube.resources import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusWriter:
    """Replaces whole statuses."""

    client: KubeClient
    clock: Clock
    resource: Resource
    own_writes: OwnWrites
    metrics: Metrics
    deadline: Callable[[], float]
    """By when the next write must have been answered, in real seconds of the event loop's clock."""

    async def write(self, scaler: ModelDeploymentScaler, status: ScalerStatus) -> ModelDeploymentScaler:
        """Store the status; the result carries the new version, which the next write is conditional on.

        Raises:
            ConflictError: the scaler changed since it was read.
            KubeError: any other failure; what is stored is then unknown.
        """
        key = scaler.metadata.key
        operations: list[dict[str, Any]] = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": scaler.metadata.resource_version},
            {"op": "add", "path": "/status", "value": status.to_wire()},
        ]
        document = await self.client.patch_json(
            self.resource, key, operations, subresource="status", deadline=self.deadline()
        )
        self.metrics.status_writes.inc()
        written = defaulting.load(document)
        self.own_writes.note_scaler(key, written.metadata.resource_version, self.clock.monotonic())
        return written
