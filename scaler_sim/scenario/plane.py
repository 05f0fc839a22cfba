"""The API server of a scenario, and who talks to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from scaler_kube.access import Access, Endpoint, KubeConfig
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster

MASTERS: Final = "system:masters"


class Identity(StrEnum):
    """Who acts."""

    ADMIN = "kubernetes-admin"
    USER = "jane@example.org"
    OPERATOR = "system:serviceaccount:gpustack-system:gpustack-operator"
    CONTROLLER = "system:serviceaccount:scaler-system:scaler-controller"
    WEBHOOK = "system:serviceaccount:scaler-system:scaler-webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """How somebody reaches the API server."""

    username: str
    """As admission reviews name it."""
    access: Access
    flags: tuple[str, ...]
    """The same as command line flags of the product's processes, but for what is secret."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """What is secret, by the names of flags: for the environment, since everybody may read command lines."""


class ControlPlane(Protocol):
    """An API server that runs."""

    def credentials(self, identity: Identity) -> Credentials:
        """How somebody reaches it."""
        ...


class EmbeddedPlane:
    """The embedded API server, on the scenario's clock."""

    def __init__(self, *, now: Callable[[], float], definitions: tuple[dict[str, Any], ...]) -> None:
        """Make one; it listens within `async with`.

        Args:
            now: Unix seconds of the clock.
            definitions: CustomResourceDefinitions to serve.
        """
        settings = ClusterSettings(anonymous=None, definitions=definitions, clock=Clock(now))
        self.cluster = EmbeddedCluster(settings)
        self._tokens = {identity: self.cluster.token(identity.value, *_groups(identity)) for identity in Identity}

    async def __aenter__(self) -> Self:
        await self.cluster.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cluster.stop()

    def credentials(self, identity: Identity) -> Credentials:
        """How somebody reaches it."""
        token = self._tokens[identity]
        return Credentials(
            username=identity.value,
            access=Endpoint(url=self.cluster.url, token=token),
            flags=("--kube-url", self.cluster.url),
            secrets={"kube-token": token},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalPlane:
    """An API server that somebody else runs."""

    kubeconfigs: Mapping[Identity, Path]
    """Absolute paths; `Identity.ADMIN` stands in for those that are not named."""
    usernames: Mapping[Identity, str] = field(default_factory=dict)
    """Users of the kubeconfigs, where they are not named like the identities."""

    def credentials(self, identity: Identity) -> Credentials:
        """How somebody reaches it."""
        path = self.kubeconfigs.get(identity, self.kubeconfigs[Identity.ADMIN])
        return Credentials(
            username=self.usernames.get(identity, identity.value),
            access=KubeConfig(path=str(path)),
            flags=("--kubeconfig", str(path)),
        )


def _groups(identity: Identity) -> tuple[str, ...]:
    if identity in (Identity.ADMIN, Identity.USER):
        return (MASTERS, "system:authenticated")
    return ("system:serviceaccounts", "system:authenticated")
