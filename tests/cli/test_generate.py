"""Generated files are current, and the command that writes them says so."""

from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from scaler_cli.generated import files
from scaler_cli.main import app

ROOT = Path(__file__).parents[2]
MDS = get_command(app)
assert isinstance(MDS, TyperGroup)
FILES = files(MDS)


@pytest.mark.parametrize("path", FILES)
def test_the_committed_file_is_what_the_models_give(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == FILES[path](), "run make generate"


def test_generate_writes_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    runner = CliRunner()
    stale = runner.invoke(app, ["generate", "--check", "--root", str(tmp_path)])
    assert stale.exit_code == 1
    assert "is stale; run make generate" in stale.output
    written = runner.invoke(app, ["generate", "--root", str(tmp_path)])
    assert written.exit_code == 0
    assert "Wrote crds/" in written.output
    assert runner.invoke(app, ["generate", "--check", "--root", str(tmp_path)]).exit_code == 0
