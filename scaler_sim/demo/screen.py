"""What a person sees: a live table in a terminal, plain lines elsewhere."""

from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from scaler_core.api.meta import Condition
from scaler_sim.demo.live import LiveRole

KEPT_LINES: Final = 14
PLAIN_PERIOD_SECONDS: Final = 30.0  # clock seconds between two lines about the roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One moment of the demo."""

    at: float
    """Clock seconds since the load began; negative before it."""
    phase: str
    phase_seconds: float
    """Since the phase began."""
    phase_length: float | None
    """None for a phase whose end depends on what happens."""
    streams: int
    roles: tuple[LiveRole, ...]
    conditions: tuple[Condition, ...]

    def heading(self) -> str:
        """The phase in words."""
        length = "" if self.phase_length is None else f" of {self.phase_length:.0f}"
        streams = "no load" if not self.streams else f"{self.streams} concurrent streams"
        return f"{self.phase}, {self.phase_seconds:.0f}{length} s, {streams}"


class Screen(Protocol):
    """Shows moments and says sentences."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, frame: Frame) -> None:
        """Show a moment."""
        ...

    def say(self, sentence: str) -> None:
        """Say something that stays."""
        ...


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def condition_words(condition: Condition) -> str:
    """A condition in two or three words."""
    reason = "" if condition.reason == condition.type else f" ({condition.reason})"
    return f"{condition.type}={condition.status.value}{reason}"


class PlainScreen:
    """Lines for logs and pipes: sentences as they come, roles every few seconds and whenever a count moves."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown_at = float("-inf")
        self._counts: tuple[tuple[int, int], ...] = ()
        self._conditions: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, frame: Frame) -> None:
        """Write lines about what is new."""
        self._show_conditions(frame)
        counts = tuple((role.current, role.ready) for role in frame.roles)
        if counts == self._counts and frame.at - self._shown_at < PLAIN_PERIOD_SECONDS:
            return
        self._counts, self._shown_at = counts, frame.at
        rows = "; ".join(
            f"{role.name} {role.ready} ready of {role.current}, demand {_number(role.demand)}, "
            f"requests {role.requests}, p95 {_number(role.latency_milliseconds)} ms, "
            f"recommended {_number(role.recommended)}, planned {_number(role.planned)} ({role.reason or '-'})"
            for role in frame.roles
        )
        self.say(f"[{frame.heading()}] {rows}")

    def say(self, sentence: str) -> None:
        """Write a line."""
        self._console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def _show_conditions(self, frame: Frame) -> None:
        for condition in frame.conditions:
            words = condition_words(condition)
            if self._conditions.get(condition.type) != words:
                self._conditions[condition.type] = words
                self.say(f"  condition {words}: {condition.message}")


class LiveScreen:
    """A table that changes in place, with the last sentences below it."""

    def __init__(self, console: Console, title: str) -> None:
        self._title = title
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._frame: Frame | None = None
        self._live = Live(console=console, refresh_per_second=8, transient=True, get_renderable=self._render)
        self._console = console
        self._said: list[str] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        for sentence in self._said:  # the table goes, what was said stays
            self._console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def show(self, frame: Frame) -> None:
        """Change the table."""
        self._frame = frame

    def say(self, sentence: str) -> None:
        """Add a sentence below the table."""
        self._said.append(sentence)
        self._lines.append(sentence)

    def _render(self) -> Group:
        parts: list[Panel | Text] = []
        if self._frame is not None:
            frame = self._frame
            conditions = Text("  ".join(condition_words(condition) for condition in frame.conditions))
            reasons = [Text(f"{role.name}: {role.message}", style="dim") for role in frame.roles if role.message]
            body = Group(_table(frame), *reasons, conditions)
            parts.append(Panel(body, title=self._title, subtitle=frame.heading()))
        parts += [Text(line, overflow="fold") for line in self._lines]
        return Group(*parts)


def _table(frame: Frame) -> Table:
    table = Table(box=None, expand=True)
    table.add_column("role")
    for heading in ("current", "ready", "demand", "requests", "p95 ms", "recommended", "planned"):
        table.add_column(heading, justify="right")
    table.add_column("reason")
    for role in frame.roles:
        table.add_row(
            role.name,
            Text("■" * role.current + f" {role.current}", style="bold"),
            Text(str(role.ready), style="green" if role.ready >= role.current else "yellow"),
            _number(role.demand),
            role.requests,
            _number(role.latency_milliseconds),
            _number(role.recommended),
            _number(role.planned),
            role.reason,
        )
    return table


def screen_for(console: Console, title: str) -> LiveScreen | PlainScreen:
    """The screen that fits where the output goes."""
    return LiveScreen(console, title) if console.is_terminal else PlainScreen(console)
