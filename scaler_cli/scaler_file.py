"""Read the one scaler that a command works on from a YAML or JSON file, defaults filled in."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import yaml
from pydantic import ValidationError

from scaler_core.api import defaulting
from scaler_core.api.scaler import KIND, ModelDeploymentScaler

STDIN = Path("-")


def read_scaler(path: Path) -> ModelDeploymentScaler:
    """The single `ModelDeploymentScaler` among the documents of a file; `-` reads standard input.

    Raises:
        typer.BadParameter: the file cannot be read, holds no scaler or several, or the scaler is malformed.
    """
    scalers = [document for document in _documents(path) if isinstance(document, dict) and document.get("kind") == KIND]
    if len(scalers) != 1:
        raise typer.BadParameter(f"{path}: {len(scalers)} documents of kind {KIND}; give a file with exactly one")
    try:
        return defaulting.load(scalers[0])
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        found = str(first["input"])[:60]
        message = f"{path}: {field}: {found!r}: {first['msg']}; correct it (mds validate -f shows every violation)"
        raise typer.BadParameter(message) from None


def _documents(path: Path) -> Iterator[Any]:
    try:
        text = sys.stdin.read() if path == STDIN else path.read_text("utf-8")
        yield from yaml.safe_load_all(text)
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise typer.BadParameter(f"{path}: no YAML: {' '.join(str(error).split())}") from None
