"""The way to a cluster, for every command that needs one: found as kubectl finds it."""

import os
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from scaler_core.api.scaler import VERSION, VERSIONS
from scaler_kube.access import Access, InCluster, KubeConfig
from scaler_kube.client import KubeClient, connect

FIELD_MANAGER: Final = "mds"
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"

Kubeconfig: TypeAlias = Annotated[
    Path | None, typer.Option("--kubeconfig", help="Kubeconfig file; KUBECONFIG, ~/.kube/config or the Pod's account.")
]
Context: TypeAlias = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig.")]


def way(kubeconfig: Path | None, context: str | None) -> Access:
    """The file that was named, else KUBECONFIG, else ~/.kube/config, else the service account of this Pod.

    Raises:
        typer.BadParameter: there is none of them.
    """
    if kubeconfig is not None:
        return KubeConfig(path=str(kubeconfig), context=context)
    if named := os.environ.get("KUBECONFIG"):
        return KubeConfig(path=named, context=context)
    home = Path.home() / ".kube" / "config"
    if home.is_file():
        return KubeConfig(path=str(home), context=context)
    if os.environ.get(_IN_CLUSTER):
        return InCluster()
    raise typer.BadParameter(f"no cluster: {home} does not exist; give --kubeconfig FILE or set KUBECONFIG")


async def open_client(kubeconfig: Path | None, context: str | None) -> KubeClient:
    """A client; use it as an async context manager.

    Raises:
        typer.BadParameter: there is no way to a cluster.
        AccessError: the credentials cannot be used.
    """
    return await connect(way(kubeconfig, context), field_manager=FIELD_MANAGER, user_agent=FIELD_MANAGER)


def known_version(value: str) -> str:
    """A version of our kinds, for typer.

    Raises:
        typer.BadParameter: it is none.
    """
    if value not in VERSIONS:
        raise typer.BadParameter(f"{value}: choose one of {', '.join(VERSIONS)}")
    return value


ScalerVersion: TypeAlias = Annotated[
    str, typer.Option("--scaler-version", help="Version of ModelDeploymentScaler.", callback=known_version)
]
TargetVersion: TypeAlias = Annotated[
    str, typer.Option("--target-version", help="Version of ModelDeployment.", callback=known_version)
]
DEFAULT_VERSION: Final = VERSION
