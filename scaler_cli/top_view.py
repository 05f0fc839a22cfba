"""Scalers as rows: what their statuses say, in one word and a few numbers."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from scaler_cli.fitted import Column, FittedTable
from scaler_cli.moments import span
from scaler_core.api.base import Time, Wire
from scaler_core.api.meta import Condition, ConditionStatus
from scaler_core.api.reasons import ConditionType, Reason
from scaler_core.api.scaler import ModelDeploymentScaler
from scaler_core.api.scaler_status import RoleObservation, ScalerStatus
from scaler_core.transactions.retirement import RetirementState, state_of

_STATE_STYLES = {"Steady": "green", "Growing": "cyan", "Shrinking": "cyan", "Shadow": "blue", "Suspended": "dim"}


class RoleRow(Wire):
    """One role of a scaler."""

    name: str
    current: int
    ready: int
    raw: int | None = None
    """What the load asks for."""
    constrained: int | None = None
    """What the plan makes of it."""
    reason: str = ""


class Row(Wire):
    """One scaler."""

    namespace: str
    name: str
    target: str
    mode: str
    algorithm: str
    state: str
    """Steady, Growing, Shrinking, Exhausted, Held, Unmeasured, Binding, or the reason why it is not active."""
    blocked: str = ""
    """Reason of the Blocked condition, where it is True."""
    message: str = ""
    last_change: Time | None = None
    roles: tuple[RoleRow, ...] = ()


def rows(scalers: Sequence[ModelDeploymentScaler]) -> list[Row]:
    """One row each, by namespace and name."""
    return [_row(scaler) for scaler in sorted(scalers, key=lambda scaler: scaler.metadata.key)]


def _row(scaler: ModelDeploymentScaler) -> Row:
    spec, status = scaler.spec, scaler.status
    blocked = _condition(status, ConditionType.BLOCKED, ConditionStatus.TRUE)
    return Row(
        namespace=scaler.metadata.namespace,
        name=scaler.metadata.name,
        target=spec.target_ref.name,
        mode=spec.mode,
        algorithm=spec.algorithm.type,
        state=state(status),
        blocked="" if blocked is None else blocked.reason,
        message="" if blocked is None else blocked.message,
        last_change=None if status.last_commit is None else status.last_commit.timestamp,
        roles=tuple(_role(role) for role in status.roles),
    )


def _role(role: RoleObservation) -> RoleRow:
    return RoleRow(
        name=role.name,
        current=role.current_replicas,
        ready=role.ready_replicas,
        raw=role.raw_recommended_replicas,
        constrained=role.constrained_replicas,
        reason=role.reason,
    )


def state(status: ScalerStatus) -> str:
    """What a scaler is about, in one word: why it is not active, else what runs, else what it lacks."""
    active = status.condition(ConditionType.ACTIVE)
    if active is None or active.status is ConditionStatus.UNKNOWN:
        return "Binding"
    if active.status is ConditionStatus.FALSE:
        return "Shadow" if active.reason == Reason.SHADOW_MODE else active.reason
    return _business(status)


def _business(status: ScalerStatus) -> str:
    """What an active scaler is about."""
    if status.pending_cohort is not None:
        return "Growing"
    if state_of(status.last_scale_down) is RetirementState.RUNNING:
        return "Shrinking"
    if status.exhaustion is not None:
        return "Exhausted"
    if _condition(status, ConditionType.METRICS_READY, ConditionStatus.FALSE) is not None:
        return "Unmeasured"
    return "Steady" if _condition(status, ConditionType.BLOCKED, ConditionStatus.TRUE) is None else "Held"


def _condition(status: ScalerStatus, type_: ConditionType, wanted: ConditionStatus) -> Condition | None:
    condition = status.condition(type_)
    return condition if condition is not None and condition.status is wanted else None


_COLUMNS: Final = (
    Column(heading="namespace", spare=3),
    Column(heading="name"),
    Column(heading="target", spare=8),
    Column(heading="mode", spare=5),
    Column(heading="algorithm", spare=7),
    Column(heading="state"),
    Column(heading="role"),
    Column(heading="now", justify="right"),
    Column(heading="ready", justify="right", spare=2),
    Column(heading="asked", justify="right", spare=1),
    Column(heading="planned", justify="right"),
    Column(heading="blocked", spare=4),
    Column(heading="changed", spare=6),
)


def render(found: Sequence[Row], now: float) -> RenderableType:
    """The table, a line for each role."""
    if not found:
        return Text("no ModelDeploymentScaler here")
    return FittedTable(columns=_COLUMNS, rows=[line for row in found for line in _lines(row, now)])


def _lines(row: Row, now: float) -> Iterator[tuple[str | Text, ...]]:
    style = _STATE_STYLES.get(row.state, "yellow")
    changed = "-" if row.last_change is None else f"{span(now - row.last_change)} ago"
    head = (row.namespace, row.name, row.target, row.mode, row.algorithm, Text(row.state, style=style))
    first, *rest = row.roles or (None,)
    yield (*head, *_cells(first), row.blocked or "-", changed)
    for role in rest:
        yield (*[""] * len(head), *_cells(role), "", "")


def _cells(role: RoleRow | None) -> tuple[str | Text, ...]:
    if role is None:
        return ("-",) * 5
    ready = Text(str(role.ready), style="green" if role.ready >= role.current else "yellow")
    planned = "-" if role.constrained is None else str(role.constrained)
    moves = role.constrained is not None and role.constrained != role.current
    asked = "-" if role.raw is None else str(role.raw)
    return role.name, str(role.current), ready, asked, Text(planned, style="bold" if moves else "")
