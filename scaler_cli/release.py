"""`mds release`: suspend scalers and wait until they have let go; what an uninstall does first."""

import asyncio
from typing import Annotated

import typer

from scaler_cli import cluster
from scaler_cli.releasing import Outcome, Releasing
from scaler_core.api.ownership import BINDING
from scaler_kube import resources
from scaler_kube.clock import SteadyClock
from scaler_kube.errors import AccessError, KubeError


def release(
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the scalers.")] = "default",
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Every scaler of the cluster.")
    ] = False,
    for_good: Annotated[
        bool, typer.Option("--for-good", help="Also drop their finalizers, so that no controller is needed any more.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait at most.")] = 120.0,
    kubeconfig: cluster.Kubeconfig = None,
    context: cluster.Context = None,
    scaler_version: cluster.ScalerVersion = cluster.DEFAULT_VERSION,
    target_version: cluster.TargetVersion = cluster.DEFAULT_VERSION,
) -> None:
    """Suspend every scaler and wait until each has released its ModelDeployment; counts stay as they are.

    Exit status 0: none holds a ModelDeployment any more; 1: some do, and are named; 2: wrong use or no cluster.
    """

    async def run() -> Outcome:
        async with await cluster.open_client(kubeconfig, context) as client:
            releasing = Releasing(
                client=client,
                clock=SteadyClock(),
                scalers=resources.scalers(scaler_version),
                targets=resources.deployments(target_version),
                namespace=None if all_namespaces else namespace,
                say=lambda line: typer.echo(f"mds release: {line}", err=True),
            )
            outcome = await releasing.run(timeout)
            if for_good:
                await releasing.drop_finalizers(outcome.released)
            return outcome

    try:
        outcome = asyncio.run(run())
    except (KubeError, AccessError) as error:
        typer.echo(f"mds release: {error}", err=True)
        raise typer.Exit(2) from None
    for line in render(outcome):
        typer.echo(line)
    raise typer.Exit(1 if outcome.left else 0)


def render(outcome: Outcome) -> list[str]:
    """What came of it, one line for each that needs a person."""
    lines = [f"{len(outcome.released)} scalers are suspended and hold nothing"]
    lines += [f"left: ModelDeploymentScaler {one.key}: {one.why}" for one in outcome.left]
    lines += [
        f"orphan: ModelDeployment {key} has a binding of a scaler that is gone; kubectl annotate -n {key.namespace} "
        f"modeldeployment {key.name} {BINDING}- removes it"
        for key in outcome.orphans
    ]
    if outcome.left:
        lines.append("Look at kubectl describe mds for those that are left, and run this again.")
    return lines
