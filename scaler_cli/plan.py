"""`mds plan`: one planning pass on given counts and recommendations, windows taken as satisfied."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from scaler_cli import plan_view
from scaler_cli.output import Output
from scaler_cli.scaler_file import read_scaler
from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import ScaledRole, ScalerSpec
from scaler_core.model.plan import PlanInput, RoleInput
from scaler_core.model.recommendation import Recommendation
from scaler_core.planning.planner import plan as make_plan

_PROBLEM: Final = 1
_MOST_DIGITS: Final = 9
"""Of a count; a target has at most 1024 replicas of a role, so more is a slip of the hand."""
_COUNT: Final = re.compile(r"[0-9]+")


def plan(
    file: Annotated[Path, typer.Option("--file", "-f", help="A file with one ModelDeploymentScaler; - reads stdin.")],
    current: Annotated[str, typer.Option(help="Counts now, as role=count,role=count.")],
    recommend: Annotated[
        str, typer.Option(help="What the load asks for, as role=count,...; a role left out asks for what it has.")
    ] = "",
    kind: Annotated[
        list[str] | None, typer.Option(help="Kind of a role, as decode=Decode; else taken from its name. Repeatable.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="text for people, json for programs.")] = Output.TEXT,
) -> None:
    """Show what the planner makes of given recommendations, and which limit changed them.

    Signals count as complete and windows as satisfied. Exit status 1 when the current counts violate the policy, so
    that nothing can be planned from them.
    """
    spec = read_scaler(file).spec
    names = tuple(role.name for role in spec.roles)
    counts = _counts("--current", current, names)
    missing = [name for name in names if name not in counts]
    if missing:
        raise typer.BadParameter(f"--current leaves out {', '.join(missing)}; give a count for every scaled role")
    wishes = {**counts, **_counts("--recommend", recommend, names)}
    kinds = _kinds(kind or [], names)
    result = make_plan(plan_input(spec, counts, wishes, kinds))
    if output is Output.JSON:
        typer.echo(json.dumps(plan_view.document(result), indent=2))
    else:
        Console().print(plan_view.render(result))
    if result.blocked is not None and result.blocked.stops_planning:
        raise typer.Exit(_PROBLEM)


def plan_input(
    spec: ScalerSpec, current: Mapping[str, int], wishes: Mapping[str, int], kinds: Mapping[str, RoleKind]
) -> PlanInput:
    """The pass that the command runs: every replica ready, every signal there, every window satisfied."""
    reason = RoleReason(spec.algorithm.type.value)
    roles = tuple(_role(role, current[role.name], wishes[role.name], kinds[role.name], reason) for role in spec.roles)
    return PlanInput(now=0.0, roles=roles, ratios=spec.ratios, behavior=spec.behavior)


def _role(bounds: ScaledRole, current: int, wish: int, kind: RoleKind, reason: RoleReason) -> RoleInput:
    return RoleInput(
        name=bounds.name,
        kind=kind,
        current=current,
        ready=max(1, current),
        minimum=bounds.min_replicas,
        maximum=bounds.max_replicas,
        recommendation=Recommendation(replicas=wish, reason=reason, message=f"{wish} was given as the recommendation"),
        is_complete=True,
        stabilized_up=wish,
        stabilized_down=wish,
    )


def _counts(option: str, text: str, names: tuple[str, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, value = _pair(option, part, names, example="2")
        if not _COUNT.fullmatch(value):
            raise typer.BadParameter(f"{option}: {part!r} has no whole count of replicas; write {name}=3")
        if len(value.lstrip("0")) > _MOST_DIGITS:
            most = "9" * _MOST_DIGITS
            raise typer.BadParameter(
                f"{option}: {name} has a count of {len(value)} digits; write at most {name}={most}"
            )
        if name in counts:
            raise typer.BadParameter(f"{option} names {name} twice; give one count")
        counts[name] = int(value)
    return counts


def _kinds(texts: list[str], names: tuple[str, ...]) -> dict[str, RoleKind]:
    kinds = {name: _kind_by_name(name) for name in names}
    for part in (part for text in texts for part in text.split(",")):
        name, value = _pair("--kind", part, names, example=_kind_by_name(names[0]))
        if value.capitalize() not in set(RoleKind):
            raise typer.BadParameter(f"--kind: {part!r} has no kind; write one of {', '.join(RoleKind)}")
        kinds[name] = RoleKind(value.capitalize())
    return kinds


def _kind_by_name(name: str) -> RoleKind:
    return next((kind for kind in RoleKind if kind.lower() in name.lower()), RoleKind.SERVER)


def _pair(option: str, part: str, names: tuple[str, ...], *, example: str) -> tuple[str, str]:
    name, equals, value = part.strip().partition("=")
    if not equals:
        raise typer.BadParameter(f"{option}: {part!r} is no pair; write role=value, for example {names[0]}={example}")
    if name not in names:
        raise typer.BadParameter(f"{option} names {name!r}, which spec.roles does not; it has {', '.join(names)}")
    return name, value
