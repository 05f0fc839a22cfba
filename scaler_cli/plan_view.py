"""A plan for people and for programs: which limit changed what was asked for."""

from collections.abc import Collection, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from scaler_cli.fitted import Column, FittedTable
from scaler_core.api.meta import ConditionStatus
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.model.plan import Plan, RolePlan, Stage
from scaler_core.reporting.conditions import NOT_BLOCKED


def document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON: `vector`, `roles` with every stage, `conditions`; names are stable."""
    return {
        "vector": dict(plan.vector),
        "roles": {name: _role_document(role) for name, role in plan.roles.items()},
        "conditions": [_blocked_document(plan)],
    }


def _role_document(role: RolePlan) -> dict[str, Any]:
    stages = [
        {"stage": stage.stage, "replicas": stage.replicas, "reason": stage.reason or "", "message": stage.message}
        for stage in role.stages
    ]
    return {
        "current": role.current,
        "recommended": role.recommended,
        "stages": stages,
        "replicas": role.replicas,
        "reason": role.reason,
        "message": role.message,
    }


def _blocked_document(plan: Plan) -> dict[str, Any]:
    blocked = plan.blocked
    return {
        "type": ConditionType.BLOCKED,
        "status": ConditionStatus.FALSE if blocked is None else ConditionStatus.TRUE,
        "reason": Reason.READY if blocked is None else blocked.reason,
        "message": NOT_BLOCKED if blocked is None else blocked.message,
    }


def render(plan: Plan) -> RenderableType:
    """A table with one row a role and one column a stage, the stage that changed a count marked, then the sentences."""
    rows: list[tuple[str | Text, ...]] = [
        (
            role.role,
            str(role.current),
            str(role.recommended),
            *_stage_cells(role),
            result_cell(role.replicas, role.current),
        )
        for role in plan.roles.values()
    ]
    changing = {stage.stage for role in plan.roles.values() for stage in role.stages if stage.reason is not None}
    return Group(FittedTable(columns=pipeline_columns(("now", "asked"), changing), rows=rows), *_sentences(plan))


def pipeline_columns(counts: Sequence[str], changing: Collection[Stage]) -> tuple[Column, ...]:
    """Role, the given counts, every stage, and the result; stages that change nothing are the first to be spared."""
    stages = [
        Column(heading=stage, justify="right", spare=1 if stage in changing else 3 + place)
        for place, stage in enumerate(Stage)
    ]
    known = [Column(heading=heading, justify="right", spare=2 if heading == "ready" else 0) for heading in counts]
    return Column(heading="role"), *known, *stages, Column(heading="result", justify="right")


def _stage_cells(role: RolePlan) -> list[Text]:
    if not role.stages:
        return [Text("-", style="dim") for _ in Stage]
    return [stage_cell(stage.replicas, stage.reason) for stage in role.stages]


def stage_cell(replicas: int, reason: str | None) -> Text:
    """The count after a stage, marked where the stage changed it."""
    return Text(f"*{replicas}", style="bold yellow") if reason else Text(str(replicas), style="dim")


def result_cell(replicas: int, current: int) -> Text:
    """The count after all stages, with its change."""
    change = replicas - current
    if change == 0:
        return Text(f"{replicas}", style="bold")
    return Text(f"{replicas} ({change:+d})", style="bold green" if change > 0 else "bold cyan")


def _sentences(plan: Plan) -> list[Text]:
    changes = [
        Text(f"* {role.role}, {stage.stage}: {stage.message} ({stage.reason})")
        for role in plan.roles.values()
        for stage in role.stages
        if stage.reason is not None
    ]
    if plan.blocked is None:
        return changes
    blocked = Text(f"Blocked, {plan.blocked.reason}: {plan.blocked.message}", style="bold red")
    return [*changes, blocked]
