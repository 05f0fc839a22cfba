"""`mds probe`: what the scaler reads from an engine, by the very code that the controller runs."""

import asyncio
import json
import math
import ssl
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from scaler_cli import solo, sources
from scaler_cli.probe_view import Finding
from scaler_cli.sources import STDIN, UnreadableError
from scaler_core.api.deployment import RoleKind

FINE: Final = 0
FOUND_A_PROBLEM: Final = 1
MOST_SECONDS: Final = 366 * 24 * 3600.0


class Output(StrEnum):
    """For people or for programs."""

    TEXT = "text"
    JSON = "json"


def probe(
    source: Annotated[str, typer.Argument(metavar="URL|FILE", help="An engine's metrics; - is standard input.")],
    second: Annotated[str | None, typer.Argument(metavar="SECOND", help="The same engine's metrics, later.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=MOST_SECONDS, help="Seconds between the two; URLs are read so far apart, one URL twice."
        ),
    ] = None,
    kind: Annotated[RoleKind, typer.Option(case_sensitive=False, help="Role that the engine plays.")] = RoleKind.SERVER,
    output: Annotated[Output, typer.Option("--output", "-o", help="text or json.")] = Output.TEXT,
    ca: Annotated[
        Path | None, typer.Option(help="Certificate authority that an https engine is verified with.")
    ] = None,
) -> None:
    """Show what the scaler reads from an engine; two texts of one engine give rates and latency.

    Exit status: 0 fine, 1 a signal that planning needs is missing or a text is unreadable, 2 wrong use.
    """
    _check_use(source, second, seconds)
    try:
        found = _find(source, second, seconds, kind, _tls(ca))
    except UnreadableError as error:
        if output is Output.JSON:
            typer.echo(json.dumps({"error": str(error)}))
        typer.echo(f"mds probe: {error}", err=True)
        raise typer.Exit(FOUND_A_PROBLEM) from None
    typer.echo(json.dumps(found.document(), indent=2) if output is Output.JSON else found.text())
    problems = found.problems()
    for name, problem in [*problems, *found.remarks()]:
        typer.echo(f"mds probe: {name}: {problem}", err=True)
    raise typer.Exit(FOUND_A_PROBLEM if problems else FINE)


def _find(
    source: str, second: str | None, seconds: float | None, kind: RoleKind, tls: ssl.SSLContext | None
) -> Finding:
    first = sources.read(source, tls)
    if seconds is None:
        return Finding(kind=kind, newest=first)
    again = second if second is not None else source
    if sources.is_url(source) and sources.is_url(again):
        asyncio.run(_wait(seconds))
    newest = sources.read(again, tls)
    if again == source:
        first = replace(first, name=f"{first.name} (first read)")
    reading = solo.read_pair(first.counters, newest.counters, seconds, kind)
    return Finding(kind=kind, newest=newest, earlier=first, reading=reading, seconds=seconds)


def _check_use(source: str, second: str | None, seconds: float | None) -> None:
    if seconds is not None and not math.isfinite(seconds):
        raise typer.BadParameter(f"{seconds} is no time; write the seconds between the two", param_hint="--seconds")
    if second is not None and seconds is None:
        raise typer.BadParameter("two texts need --seconds: the time between them", param_hint="--seconds")
    if seconds is not None and second is None and not sources.is_url(source):
        raise typer.BadParameter("a file is read once; name a second one", param_hint="SECOND")
    if second == source and not sources.is_url(source):
        what = "standard input is read once" if source == STDIN else f"{sources.shown(source)} is named twice"
        raise typer.BadParameter(f"{what}; name a text that was taken later", param_hint="SECOND")


def _tls(ca: Path | None) -> ssl.SSLContext | None:
    try:
        return ssl.create_default_context(cafile=str(ca)) if ca is not None else None
    except OSError as error:
        raise UnreadableError(f"{ca}: no certificate authority: {error.strerror or error}") from None


async def _wait(seconds: float) -> None:
    typer.echo(f"waiting {seconds:g} s for the second read", err=True)
    await asyncio.sleep(seconds)
