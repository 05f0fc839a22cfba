"""`mds generate`: write every generated file of the repository anew (for its developers)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import yaml

from scaler_core.api import crd

HEADER: Final = "# Generated from the models in scaler_core/api by `make generate`; do not edit.\n"


class _PlainDumper(yaml.SafeDumper):
    """Writes every value in full: no anchors."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Never refer back."""
        return True


def to_yaml(document: Mapping[str, Any]) -> str:
    """A document as block YAML in its own order."""
    return yaml.dump(document, Dumper=_PlainDumper, sort_keys=False, width=120, allow_unicode=True)


def crd_file() -> str:
    """The text of the CustomResourceDefinition's file."""
    return HEADER + to_yaml(crd.definition())


FILES: Final[Mapping[str, Callable[[], str]]] = {
    "crds/modeldeploymentscalers.worker.gpustack.ai.yaml": crd_file,
}
"""Path below the repository's root to the function that renders the file."""


def generate(
    root: Annotated[Path, typer.Option(help="The repository's root.", file_okay=False)] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 when a file is stale.")] = False,
) -> None:
    """Write the generated files, or check that they are current."""
    stale = [path for path, render in FILES.items() if _current(root / path) != render()]
    for path in stale:
        typer.echo(f"{path} is stale; run make generate" if check else f"Wrote {path}")
        if not check:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(FILES[path](), encoding="utf-8")
    raise typer.Exit(1 if check and stale else 0)


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
