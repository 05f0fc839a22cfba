"""Read the one scaler that a command works on from a YAML or JSON file, defaults filled in."""

from pathlib import Path
from typing import Any

import typer

from scaler_cli import manifests
from scaler_cli.manifests import ManifestError
from scaler_core.admission import offline
from scaler_core.api import defaulting
from scaler_core.api.scaler import KIND, ModelDeploymentScaler


def read_scaler(path: Path) -> ModelDeploymentScaler:
    """The single `ModelDeploymentScaler` among the documents of a file; `-` reads standard input.

    Deployments in the same file count, as `mds validate` takes them.

    Raises:
        typer.BadParameter: the file cannot be read, holds no scaler or several, or admission would refuse the scaler.
    """
    documents = _documents(path)
    scalers = [position for position, one in enumerate(documents) if one.get("kind") == KIND]
    if len(scalers) != 1:
        raise typer.BadParameter(f"{path}: {len(scalers)} documents of kind {KIND}; give a file with exactly one")
    violations = offline.judge_all(documents)[scalers[0]].violations
    if violations:
        more = f" ({len(violations)} violations; mds validate -f shows all)" if len(violations) > 1 else ""
        raise typer.BadParameter(f"{path}: {violations[0].message}{more}")
    return defaulting.load(documents[scalers[0]])


def _documents(path: Path) -> list[dict[str, Any]]:
    try:
        return [one.document for one in manifests.read(path) if offline.is_ours(one.document)]
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path}: {manifests.why_unreadable(error)}") from None
    except ManifestError as error:
        raise typer.BadParameter(f"{path}:{error.line}: {error}; correct the file") from None
