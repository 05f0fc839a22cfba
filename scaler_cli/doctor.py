"""`mds doctor`: does admission work? Asked by dry runs, so that nothing is stored."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from scaler_cli import cluster
from scaler_core.admission.registration import RULES_NAME
from scaler_core.api.scaler import GROUP, KIND
from scaler_kube import errors, resources
from scaler_kube.client import DryRun, KubeClient
from scaler_kube.errors import AccessError, KubeError

NAME: Final = "mds-doctor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer to one question."""

    is_fine: bool
    text: str


def doctor(
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where the dry runs are tried.")] = "default",
    kubeconfig: cluster.Kubeconfig = None,
    context: cluster.Context = None,
    scaler_version: cluster.ScalerVersion = cluster.DEFAULT_VERSION,
) -> None:
    """Check an installation: an invalid scaler must be refused by the webhook, a valid one admitted; both dry runs.

    Exit status 0: both are; 1: one is not; 2: wrong use or no cluster.
    """

    async def run() -> list[Finding]:
        async with await cluster.open_client(kubeconfig, context) as client:
            return [await refuses(client, namespace, scaler_version), await admits(client, namespace, scaler_version)]

    try:
        findings = asyncio.run(run())
    except (KubeError, AccessError) as error:
        typer.echo(f"mds doctor: {error}", err=True)
        raise typer.Exit(2) from None
    for finding in findings:
        typer.echo(f"{'ok' if finding.is_fine else 'PROBLEM'}: {finding.text}")
    raise typer.Exit(0 if all(finding.is_fine for finding in findings) else 1)


async def refuses(client: KubeClient, namespace: str, version: str) -> Finding:
    """Whether the webhook refuses a scaler whose minimum is above its maximum.

    Raises:
        UnauthorizedError: we are nobody to this API server.
    """
    try:
        await _try(client, namespace, version, least=2, most=1)
    except errors.ForbiddenError as error:
        if error.is_admission_refusal and RULES_NAME in error.message:
            return Finding(is_fine=True, text=f"an invalid scaler is refused: {error.message}")
        return _problem("an invalid scaler was not refused by the webhook", error)
    except errors.UnauthorizedError:
        raise
    except errors.KubeError as error:
        return _problem("an invalid scaler was not refused by the webhook", error)
    text = "an invalid scaler was admitted: no webhook was asked; look at the webhook configurations"
    return Finding(is_fine=False, text=text)


async def admits(client: KubeClient, namespace: str, version: str) -> Finding:
    """Whether a valid scaler gets through.

    Raises:
        UnauthorizedError: we are nobody to this API server.
    """
    try:
        await _try(client, namespace, version, least=1, most=2)
    except errors.UnauthorizedError:
        raise
    except errors.KubeError as error:
        return _problem("a valid scaler was not admitted", error)
    return Finding(is_fine=True, text="a valid scaler is admitted")


def _problem(what: str, error: KubeError) -> Finding:
    return Finding(is_fine=False, text=f"{what}: {error}")


async def _try(client: KubeClient, namespace: str, version: str, *, least: int, most: int) -> None:
    resource = resources.scalers(version)
    await client.create(resource, namespace, _scaler(version, namespace, least, most), dry_run=DryRun.ALL)


def _scaler(version: str, namespace: str, least: int, most: int) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": KIND,
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "targetRef": {"name": NAME},
            "roles": [{"name": "server", "minReplicas": least, "maxReplicas": most}],
            "algorithm": {
                "type": "Proportional",
                "proportional": {"metric": "QueueDepth", "roleTargets": [{"name": "server", "target": "4"}]},
            },
        },
    }
