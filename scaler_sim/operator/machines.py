"""What the operator asks of the machines that engines run on."""

from typing import Protocol

from scaler_core.api.deployment import RoleKind
from scaler_core.api.meta import ObjectKey
from scaler_sim.engines.fleet import ReplicaKey
from scaler_sim.engines.host import Placement


class Machines(Protocol):
    """Machines of one target; `EngineHost` is the usual one."""

    async def place(self, key: ReplicaKey, kind: RoleKind) -> Placement:
        """Start the engine of a replica; it gets no requests yet."""
        ...

    def admit(self, key: ReplicaKey) -> None:
        """Let it have requests."""
        ...

    def withdraw(self, key: ReplicaKey) -> None:
        """Give it no new requests."""
        ...

    async def remove(self, key: ReplicaKey) -> None:
        """End it."""
        ...

    def restart(self, key: ReplicaKey) -> Placement:
        """Let it crash and start anew."""
        ...

    async def close(self) -> None:
        """End all of them."""
        ...


class MachinePark(Protocol):
    """Machines of every target."""

    def of(self, target: ObjectKey, engine: str) -> Machines:
        """The machines of a target.

        Args:
            target: namespace and name.
            engine: the engine's name as the target's spec says it.
        """
        ...
