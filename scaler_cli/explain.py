"""`mds explain`: why a scaler is at its count, what would change it, and when it may next shrink."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import ValidationError
from rich.console import Console

from scaler_cli import cluster, explain_view
from scaler_cli.controllers import UnexplainedError, ask_address, ask_cluster
from scaler_cli.output import Output
from scaler_core.api.meta import Condition, ConditionStatus, ObjectKey
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.recording import Recording
from scaler_core.reporting.explained import Explained
from scaler_kube.access import default_namespace
from scaler_kube.errors import AccessError, KubeError

_RECORD: Final = "record one with mds explain NAME -o json > FILE"
_PROBLEM: Final = 1
STDIN: Final = Path("-")
_UNPLANNED: Final = frozenset({Reason.BOUNDS_CONFLICT, Reason.RATIO_CONFLICT, Reason.COMMIT_REFUSED})
_ON_PURPOSE: Final = frozenset({Reason.SUSPENDED, Reason.SHADOW_MODE})


def explain(
    name: Annotated[str | None, typer.Argument(help="The scaler.")] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Its namespace; the context's by default.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Replay what `-o json` recorded, offline; - reads stdin.")
    ] = None,
    controller: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this controller, such as http://127.0.0.1:8080.")
    ] = None,
    controller_namespace: Annotated[
        str | None, typer.Option(help="Namespace of the controller's Pods; all by default.")
    ] = None,
    kubeconfig: cluster.Kubeconfig = None,
    context: cluster.Context = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="text for people, json for programs.")] = Output.TEXT,
) -> None:
    """Explain a scaler's last pass: every stage from the readings to the counts, and what it waits for.

    The leading controller is asked through the API server, which needs the right to get pods/proxy. `-o json` holds
    everything that the pass depended on, so that its output can be replayed with --file on any machine.

    Exit status: 0 fine, 1 something keeps the scaler from planning, or nobody can explain it, 2 wrong use.
    """
    if (name is None) == (file is None):
        raise typer.BadParameter("give the scaler's NAME, or --file with a recorded explanation")
    try:
        if file is not None:
            document = _replayed(file)
        else:
            asked = _ask(name or "", namespace, controller, controller_namespace, kubeconfig, context)
            document = asyncio.run(asked)
        explained = Explained.from_wire(document)
    except (UnexplainedError, AccessError, KubeError) as error:
        typer.echo(f"mds explain: {error}", err=True)
        raise typer.Exit(_PROBLEM) from None
    except ValidationError as error:
        typer.echo(f"mds explain: no explanation that this release can read: {_first(error)}", err=True)
        raise typer.Exit(_PROBLEM) from None
    if output is Output.JSON:
        typer.echo(json.dumps(document, indent=2))
    else:
        Console(highlight=False).print(explain_view.render(explained))
    raise typer.Exit(_PROBLEM if has_problem(explained) else 0)


def has_problem(explained: Explained) -> bool:
    """Whether something that nobody asked for keeps the scaler from planning."""
    return any(_is_problem(condition) for condition in explained.conditions)


def _is_problem(condition: Condition) -> bool:
    if condition.type == ConditionType.BLOCKED:
        return condition.status is ConditionStatus.TRUE and condition.reason in _UNPLANNED
    is_false = condition.status is ConditionStatus.FALSE
    return condition.type != ConditionType.ACTIVE and is_false and condition.reason not in _ON_PURPOSE


async def _ask(
    name: str,
    namespace: str | None,
    controller: str | None,
    controller_namespace: str | None,
    kubeconfig: Path | None,
    context: str | None,
) -> dict[str, Any]:
    if controller is not None:
        return await ask_address(controller, ObjectKey(namespace or "default", name))
    way = cluster.way(kubeconfig, context)
    async with await cluster.open_client(kubeconfig, context) as client:
        return await ask_cluster(
            client, ObjectKey(namespace or await default_namespace(way), name), controller_namespace
        )


def _replayed(file: Path) -> dict[str, Any]:
    """What the recorded pass comes to today; what was recorded then, where this release cannot replay it."""
    try:
        document = json.loads(sys.stdin.read() if file == STDIN else file.read_text("utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{file}: cannot be read: {error.strerror or error}; give a readable file") from None
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{file}: cannot be read as JSON: {error}; {_RECORD}") from None
    if not isinstance(document, dict) or "roles" not in document:
        raise typer.BadParameter(f"{file}: no explanation; {_RECORD}")
    if document.get("recording") is None:
        typer.echo(f"mds explain: {file} has no recording: shown as it was, not replayed", err=True)
        return document
    try:
        replayed = Recording.from_json(document["recording"]).explain().to_wire()
    except ValidationError as error:
        typer.echo(f"mds explain: {file} is of another release ({_first(error)}): shown as it was", err=True)
        return document
    replayed["recording"] = document["recording"]
    if replayed != document:
        typer.echo(f"mds explain: {file}: this release explains the pass otherwise than it was recorded", err=True)
    return replayed


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}"
