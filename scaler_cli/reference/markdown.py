"""The little Markdown that the reference pages need."""

from collections.abc import Iterable, Iterator, Sequence


def note(source: str) -> str:
    """The first line of a generated page."""
    return f"<!-- Generated from {source} by `make generate`; do not edit. -->"


def cell(text: object) -> str:
    """A text that cannot end its cell."""
    return " ".join(str(text).split()).replace("|", "\\|")


def code(text: object) -> str:
    """A text in code type, or nothing."""
    return f"`{cell(text)}`" if str(text) else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table, followed by an empty line."""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def page(*parts: str | Iterable[str]) -> str:
    """Parts as one text: paragraphs, each followed by an empty line, and lines as they are."""
    lines: list[str] = []
    for part in parts:
        lines += [part, ""] if isinstance(part, str) else part
    return "\n".join(lines).rstrip() + "\n"
