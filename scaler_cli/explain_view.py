"""An explanation for people: the pipeline as a table, then what it waits for, what is open, and the conditions."""

from collections.abc import Iterable, Iterator, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scaler_cli.fitted import FittedTable
from scaler_cli.moments import relative, span
from scaler_cli.plan_view import pipeline_columns, result_cell, stage_cell
from scaler_core.api.meta import Condition, ConditionStatus
from scaler_core.api.reasons import ConditionType
from scaler_core.model.action import render_vector
from scaler_core.model.plan import Stage
from scaler_core.reporting.explained import Explained, ExplainedReading, Hold, Outlook

_GOOD = {ConditionType.BLOCKED: ConditionStatus.FALSE}
_NOTHING = Text("-", style="dim")


def render(explained: Explained) -> RenderableType:
    """The whole page."""
    parts: list[RenderableType] = [*_heading(explained)]
    if explained.roles:
        parts += ["", _pipeline(explained), *_sentences(explained), "", Text("What the engines say", style="bold")]
        parts += [_indented(_readings(explained)), "", Text("When may it move next", style="bold")]
        parts += [_indented(_outlooks(explained))]
    if explained.transactions:
        parts += ["", Text("Open transactions", style="bold"), _indented(_transactions(explained))]
    parts += ["", Text("Conditions", style="bold"), _indented(_conditions(explained.conditions))]
    return Group(*parts, *_last_commit(explained))


def _heading(explained: Explained) -> Iterator[Text]:
    term = "" if explained.term is None else f", term {explained.term}"
    yield Text.assemble(
        (explained.scaler, "bold"),
        f" of ModelDeployment {explained.target}: {explained.mode}, {explained.algorithm}{term}",
    )
    sampled = explained.sampled_at
    age = "no sample yet" if sampled is None else f"its sample {span(explained.time - sampled)} before"
    yield Text(f"pass of {relative(explained.time, explained.time).split()[0]} UTC, {age}", style="dim")
    if explained.vector and explained.vector != explained.current:
        yield Text(f"{render_vector(explained.current)} -> {render_vector(explained.vector)}", style="bold")
    elif explained.current:
        yield Text(f"{render_vector(explained.current)}: nothing is to be changed", style="bold")
    if explained.why:
        yield Text(f"Nothing is written: {explained.why}", style="yellow")


def _pipeline(explained: Explained) -> FittedTable:
    rows: list[tuple[str | Text, ...]] = []
    changing: set[Stage] = set()
    for name, role in explained.roles.items():
        stages = {stage.stage: stage for stage in role.stages}
        changing |= {Stage(stage.stage) for stage in role.stages if stage.reason}
        cells = [
            stage_cell(stages[stage].replicas, stages[stage].reason) if stage in stages else _NOTHING for stage in Stage
        ]
        counts = (str(role.current), str(role.reading.ready_replicas), str(role.recommendation.replicas))
        rows.append((name, *counts, *cells, result_cell(role.replicas, role.current)))
    return FittedTable(columns=pipeline_columns(("now", "ready", "asked"), changing), rows=rows)


def _sentences(explained: Explained) -> Iterator[Text]:
    """Why each role asks for what it does, then every stage that changed it."""
    for name, role in explained.roles.items():
        yield Text(f"  {name} asks: {role.recommendation.message} ({role.recommendation.reason})")
        for stage in role.stages:
            if stage.reason:
                yield Text(f"* {name}, {stage.stage}: {stage.message} ({stage.reason})", style="yellow")
    if explained.blocked is not None:
        yield Text(f"Blocked, {explained.blocked.reason}: {explained.blocked.message}", style="bold red")


def _readings(explained: Explained) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, role in explained.roles.items():
        reading = role.reading
        coverage = "complete" if reading.complete else "incomplete"
        table.add_row(name, f"{reading.state}, {coverage}: {', '.join(_loads(reading)) or 'nothing was read'}")
        for problem in reading.problems:
            table.add_row("", Text(problem, style="yellow"))
    return table


def _loads(reading: ExplainedReading) -> Iterator[str]:
    if reading.running is not None:
        yield f"{reading.running:.0f} running and {reading.waiting or 0:.0f} waiting requests"
    for value, unit in (
        (reading.prompt_tokens_per_second, "prompt tokens/s"),
        (reading.generation_tokens_per_second, "generated tokens/s"),
    ):
        if value is not None:
            yield f"{value:.0f} {unit}"
    if reading.kv_cache_usage is not None:
        yield f"KV cache {reading.kv_cache_usage:.0%} full"
    for value, name in ((reading.ttft_milliseconds, "TTFT"), (reading.itl_milliseconds, "ITL")):
        if value is not None:
            yield f"p95 {name} {value:.0f} ms"


def _outlooks(explained: Explained) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, role in explained.roles.items():
        for verb, outlook in (("grow", role.growth), ("shrink", role.shrink)):
            if outlook is not None:
                table.add_row(name, verb, _outlook(outlook, explained.time))
    return table


def _outlook(outlook: Outlook, now: float) -> Text:
    if not outlook.holds:
        return Text("may move with the next sample", style="green")
    text = Text()
    if outlook.earliest is not None and outlook.earliest > now:
        text.append(f"not before {relative(outlook.earliest, now)}", style="bold")
    for hold in outlook.holds:
        text.append(f"{chr(10) if text else ''}{_hold(hold, now)}")
    return text


def _hold(hold: Hold, now: float) -> str:
    until = "" if hold.until is None or hold.until <= now else f", until {relative(hold.until, now)}"
    return f"{hold.stage}: {hold.message}{until} ({hold.reason})"


def _transactions(explained: Explained) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for open_ in explained.transactions:
        since = "" if open_.since is None else f", since {relative(open_.since, explained.time)}"
        until = "" if open_.until is None else f", until {relative(open_.until, explained.time)}"
        table.add_row(open_.name, f"{open_.message}{since}{until}")
    return table


def _conditions(conditions: Iterable[Condition]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for condition in conditions:
        is_good = condition.status is _GOOD.get(ConditionType(condition.type), ConditionStatus.TRUE)
        style = "green" if is_good else "yellow"
        table.add_row(condition.type, Text(condition.status, style=style), condition.reason, condition.message)
    return table


def _last_commit(explained: Explained) -> Iterator[RenderableType]:
    commit = explained.last_commit
    if commit is None:
        return
    yield ""
    yield Text("Last commit", style="bold")
    step = f"{_vector(commit.baseline_vector, explained)} -> {_vector(commit.vector, explained)}"
    when = relative(commit.timestamp, explained.time)
    yield _indented(Text(f"{when} {commit.cause}: {step}, decision {commit.decision_id}, term {commit.term}"))


def _vector(vector: Mapping[str, int], explained: Explained) -> str:
    """In the order of the target's roles, which the API server does not keep."""
    order = [*(role for role in explained.current if role in vector), *vector]
    return render_vector({role: vector[role] for role in order})


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)
