"""Flags and environment of the controller: one frozen model, read only by `main`."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from scaler_kube.settings import ProcessSettings


class Settings(ProcessSettings):
    """Plans replica counts for ModelDeployments and commits them.

    Every flag can also be set as an environment variable: --lease-name as MDS_CONTROLLER_LEASE_NAME.
    Exit status: 0 after an orderly stop, 2 for wrong settings or no way to the cluster, 3 when leadership was lost.
    """

    model_config = SettingsConfigDict(env_prefix="MDS_CONTROLLER_", cli_prog_name="scaler-controller")

    namespace: str = ""
    """Only this namespace; empty means all."""
    workers: Annotated[int, Field(ge=1, le=64)] = 4
    """Passes that may run at the same time, each for another scaler."""
    resync_seconds: Annotated[float, Field(ge=5, le=3600)] = 60.0
    """Every scaler gets a pass at least this often, in clock seconds."""
    health_host: str = "0.0.0.0"
    """Address of the health, metrics and debug server."""
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port of the health, metrics and debug server; 0 picks a free one and logs it."""
    identity: str = ""
    """Name of this process in the lease; defaults to the host name and process ID."""
    lease_namespace: str = "default"
    """Namespace of the leader election lease."""
    lease_name: str = "model-deployment-scaler"
    """Name of the leader election lease."""
    lease_seconds: Annotated[float, Field(ge=1)] = 15.0
    """How long a lease is valid after its last renewal."""
    lease_renew_seconds: Annotated[float, Field(gt=0)] = 10.0
    """After this long without a renewal the leader stops itself; shorter than the lease."""
    lease_retry_seconds: Annotated[float, Field(gt=0)] = 2.0
    """Time between two attempts to get or renew the lease."""
    drain_seconds: Annotated[float, Field(ge=0)] = 10.0
    """How long passes in flight may take to finish after SIGTERM."""
    write_timeout_seconds: Annotated[float, Field(gt=0)] = 10.0
    """The longest that one write may take."""
    engine_ca: Path | None = None
    """CA file against which engines that serve TLS are verified; the system's by default."""
    scrape_limit: Annotated[int, Field(ge=1)] = 128
    """Engine requests in flight over all targets."""
    clock_factor: Annotated[float, Field(gt=0)] = 1.0
    """Clock seconds in one real second; for demonstrations."""
    clock_epoch: float | None = None
    """Unix time at which an accelerated clock and the real one agree."""
    pause_at: Literal["", "before-intent", "before-commit", "before-outcome"] = ""
    """For crash tests: stop this process with SIGSTOP at before-intent, before-commit or before-outcome of a commit."""

    @model_validator(mode="after")
    def _lease_times_leave_room(self) -> Self:
        if not self.lease_seconds > self.lease_renew_seconds > self.lease_retry_seconds * 1.2:
            raise ValueError(
                f"lease-seconds {self.lease_seconds}, lease-renew-seconds {self.lease_renew_seconds} and "
                f"lease-retry-seconds {self.lease_retry_seconds} must fall in this order, with renew more than "
                "1.2 times retry; for example 15, 10 and 2"
            )
        return self


Settings.__doc__ = cleandoc(Settings.__doc__ or "")  # --help shows it as it stands
