"""Tables that leave out whole columns where the terminal is narrow, the least important first, and say which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

UNBOUNDED: Final = 100_000
"""Characters: wider than any table, and than a pipe cares for."""


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
        table = self._table(shown)
        for place in sorted(shown, key=lambda place: -self.columns[place].spare):
            wide = options.update(max_width=UNBOUNDED)
            if not self.columns[place].spare or console.measure(table, options=wide).maximum <= options.max_width:
                break
            shown.remove(place)
            table = self._table(shown)
        yield table
        hidden = [column.heading for place, column in enumerate(self.columns) if place not in shown]
        if hidden:
            yield Text(f"no room for: {', '.join(hidden)}", style="dim")

    def _table(self, shown: Sequence[int]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for place in shown:
            table.add_column(self.columns[place].heading, justify=self.columns[place].justify, overflow="fold")
        for row in self.rows:
            table.add_row(*(row[place] for place in shown))
        return table
