"""Tables for narrow terminals: columns stand closer, then whole ones are left out, the least important first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

UNBOUNDED: Final = 100_000
"""Characters: wider than any table, and than a pipe cares for."""
_WIDE_GAP: Final = 2
_NARROW_GAP: Final = 1
"""Characters between columns: all of them are worth more than air."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    heading: str
    justify: JustifyMethod = "left"
    spare: int = 0
    """The column with the highest number is left out first, one with 0 never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable:
    """Rows, of which as many columns are shown as there is room for; what is left wraps, so that no text is cut."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Text]]
    """Each as long as the columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table, and a line about what it lacks."""
        shown = list(range(len(self.columns)))
        table = self._table(shown, gap=_WIDE_GAP)
        if not _fits(table, console, options):
            table = self._table(shown, gap=_NARROW_GAP)
        for place in sorted(shown, key=lambda place: -self.columns[place].spare):
            if not self.columns[place].spare or _fits(table, console, options):
                break
            shown.remove(place)
            table = self._table(shown, gap=_NARROW_GAP)
        yield table
        hidden = [column.heading for place, column in enumerate(self.columns) if place not in shown]
        if hidden:
            yield Text(f"no room for: {', '.join(hidden)}", style="dim")

    def _table(self, shown: Sequence[int], *, gap: int) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
        for place in shown:
            table.add_column(self.columns[place].heading, justify=self.columns[place].justify, overflow="fold")
        for row in self.rows:
            table.add_row(*(row[place] for place in shown))
        return table


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    unbounded = options.update(max_width=UNBOUNDED)
    return console.measure(table, options=unbounded).maximum <= options.max_width
