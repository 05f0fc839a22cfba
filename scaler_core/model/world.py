"""What a pass sees of the cluster: a snapshot holds everything that a decision depends on, the time included."""

from dataclasses import dataclass

from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.pod import Pod
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.workload import Workload
from scaler_core.model.scrape import TargetScrape


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The cluster around one scaler.

    `pods` are the target's own engine Pods (owner UID verified by `target_pods`), of every ordinal. `workloads` is
    None where the cluster serves no Workload API; then scheduling gates tell admission.
    """

    now: float
    scaler: ModelDeploymentScaler
    target: ModelDeployment | None
    pods: tuple[Pod, ...] = ()
    workloads: tuple[Workload, ...] | None = None
    target_read_at: float | None = None
    """When the target was read past every cache; None is a cached view, which may lag behind our own writes."""

    @property
    def key(self) -> ObjectKey:
        """The scaler's key."""
        return self.scaler.metadata.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The input of `decide`."""

    world: World
    scrape: TargetScrape | None = None
    """The newest sample of the target, consumed or not."""
