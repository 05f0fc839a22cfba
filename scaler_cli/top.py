"""`mds top`: every scaler at a glance, from the statuses that the cluster holds."""

import asyncio
import json
import os
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.live import Live

from scaler_cli import cluster, top_view
from scaler_cli.controllers import UnexplainedError, scaler_resource
from scaler_cli.fitted import UNBOUNDED
from scaler_cli.output import Output
from scaler_core.api import defaulting
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_kube.client import KubeClient
from scaler_kube.clock import SteadyClock
from scaler_kube.errors import AccessError, KubeError
from scaler_kube.resources import Resource

_PROBLEM: Final = 1


def top(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="One namespace; all of them by default.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print the table and end, for scripts.")] = False,
    seconds: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 2.0,
    kubeconfig: cluster.Kubeconfig = None,
    context: cluster.Context = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="text for people, json for programs.")] = Output.TEXT,
) -> None:
    """Show all scalers: mode, state, counts of every role, what holds them, and when they last changed anything.

    Without a terminal, and with -o json, it looks once. Numbers are those of the status, which is written when
    something moves, so no controller is asked; `mds explain` asks one for those of now. A narrow terminal gets fewer
    columns. Exit status: 0 fine, 1 the cluster cannot be read, 2 wrong use.
    """
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNBOUNDED  # a pipe has no edge
    live = console.is_terminal and not once and output is Output.TEXT
    try:
        asyncio.run(_show(console, output, namespace, kubeconfig, context, seconds if live else None))
    except (UnexplainedError, AccessError, KubeError) as error:
        typer.echo(f"mds top: {error}", err=True)
        raise typer.Exit(_PROBLEM) from None
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


async def _show(
    console: Console,
    output: Output,
    namespace: str | None,
    kubeconfig: Path | None,
    context: str | None,
    seconds: float | None,
) -> None:
    clock = SteadyClock()
    async with await cluster.open_client(kubeconfig, context) as client:
        resource = await scaler_resource(client)
        if seconds is None:
            rows = top_view.rows(await _scalers(client, resource, namespace))
            if output is Output.JSON:
                typer.echo(json.dumps({"scalers": [row.to_wire() for row in rows]}, indent=2))
            else:
                console.print(top_view.render(rows, clock.now()))
            return
        with Live(console=console, screen=True, auto_refresh=False) as screen:
            while True:
                rows = top_view.rows(await _scalers(client, resource, namespace))
                screen.update(top_view.render(rows, clock.now()), refresh=True)
                await asyncio.sleep(seconds)


async def _scalers(client: KubeClient, resource: Resource, namespace: str | None) -> list[ModelDeploymentScaler]:
    """All that can be read; one that cannot is told on stderr and left out."""
    found = []
    for item in (await client.list_all(resource, namespace=namespace)).items:
        try:
            found.append(defaulting.load(item))
        except ValidationError as error:
            meta = item.get("metadata") or {}
            problem = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(map(str, problem["loc"]))
            name = f"{meta.get('namespace')}/{meta.get('name')}"
            typer.echo(f"mds top: {name} is left out: {where}: {problem['msg']}", err=True)
    return found
