"""Identity of objects, and conditions."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from scaler_core.api.base import Time, Wire


class ObjectKey(NamedTuple):
    """Namespace and name: the key of the work queue, of stores and of memories."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class OwnerReference(Wire):
    """The owner of an object, as far as we look at it."""

    api_version: str = ""
    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(Wire):
    """The part of metadata that a scaler reads."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def is_terminating(self) -> bool:
        """Whether deletion has begun."""
        return self.deletion_timestamp is not None


class ConditionStatus(StrEnum):
    """The three values of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Wire):
    """One condition; the transition time moves only when the status does."""

    type: str
    """Bound, Active, MetricsReady or Blocked."""
    status: ConditionStatus
    """True, False or Unknown."""
    reason: str
    """One CamelCase word, part of the API."""
    message: str = ""
    """What was measured or found, in words and numbers."""
    observed_generation: int = 0
    """Generation of the scaler's spec that the condition speaks of."""
    last_transition_time: Time
    """When the status last changed."""
