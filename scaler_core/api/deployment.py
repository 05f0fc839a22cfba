"""The part of a `ModelDeployment` that a scaler reads."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from scaler_core.api.base import Time, Wire
from scaler_core.api.meta import ObjectMeta


class RoleKind(StrEnum):
    """What a role does; released targets spelled kinds in lower case, and empty means Server."""

    SERVER = "Server"
    PREFILL = "Prefill"
    DECODE = "Decode"
    ENCODE = "Encode"


def _normal_kind(value: object) -> object:
    return str(value).capitalize() if value else RoleKind.SERVER


class Role(Wire):
    """One role of the target's spec."""

    name: str
    kind: Annotated[RoleKind, BeforeValidator(_normal_kind)] = RoleKind.SERVER
    replicas: int = 1
    size: int = 1
    """Pods per replica."""
    instance_type: str = ""
    command: tuple[str, ...] = ()
    elastic_ep: Mapping[str, Any] | None = None


class EngineReference(Wire):
    """Which engine serves."""

    name: str = ""


class DeploymentSpec(Wire):
    """The target's spec as far as a scaler reads it."""

    engine: EngineReference = EngineReference()
    roles: tuple[Role, ...] = ()


class Parallelism(Wire):
    """How a role spreads one replica over Pods."""

    load_balance: str = ""


class RoleStatus(Wire):
    """The target's own report of one role."""

    name: str
    desired: int = 0
    ready: int = 0
    parallelism: Parallelism | None = None


class Retirement(Wire):
    """The one retirement operation of a target."""

    role_name: str
    replica_ordinal: int = 0
    observed_generation: int = 0
    state: str = ""
    reason: str = ""
    started_at: Time | None = None


class DeploymentStatus(Wire):
    """The target's status as far as a scaler reads it."""

    phase: str = ""
    roles: tuple[RoleStatus, ...] = ()
    retirement: Retirement | None = None


class ModelDeployment(Wire):
    """A deployment of one served model."""

    metadata: ObjectMeta
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = Field(default_factory=DeploymentStatus)

    @property
    def vector(self) -> dict[str, int]:
        """Role name to replicas in the spec, in the spec's order."""
        return {role.name: role.replicas for role in self.spec.roles}

    def role(self, name: str) -> Role | None:
        """The role of that name."""
        return next((role for role in self.spec.roles if role.name == name), None)
