"""`mds generate`: write every generated file of the repository anew (for its developers)."""

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup


def generate(
    context: typer.Context,
    root: Annotated[Path, typer.Option(help="The repository's root.", file_okay=False)] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 when a file is stale.")] = False,
) -> None:
    """Write the generated files, or check that they are current."""
    from scaler_cli.generated import files  # imports both processes, which no other command needs

    mds = context.find_root().command
    assert isinstance(mds, TyperGroup)
    texts = {path: render() for path, render in files(mds).items()}
    stale = [path for path, text in texts.items() if _current(root / path) != text]
    for path in stale:
        typer.echo(f"{path} is stale; run make generate" if check else f"Wrote {path}")
        if not check:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(texts[path], encoding="utf-8")
    raise typer.Exit(1 if check and stale else 0)


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
