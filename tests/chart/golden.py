"""What the chart renders to, one file for each set of values; `python -m tests.chart.golden` writes them anew.

The CustomResourceDefinition's own body is left out: it is generated from the models and checked with them.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from tests.chart import helm

FOLDER = helm.ROOT / "tests" / "chart" / "golden"


def path_of(values: Path) -> Path:
    """The golden file of a file of values."""
    return FOLDER / values.name


def text_of(documents: list[dict[str, Any]]) -> str:
    """Documents in one order, whatever the order of a helm version."""
    ordered = sorted(documents, key=lambda one: (one["kind"], one["metadata"]["name"]))
    return yaml.safe_dump_all([_short(one) for one in ordered], sort_keys=True, width=120)


def documents_of(name: str) -> list[dict[str, Any]]:
    """The documents of a golden file, by the name of its values."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def _short(document: dict[str, Any]) -> dict[str, Any]:
    if document["kind"] != "CustomResourceDefinition":
        return document
    return {key: value for key, value in document.items() if key != "spec"}


def main() -> None:
    """Write every golden file, where there is a helm to render with."""
    if not helm.helms():
        sys.stdout.write(f"Golden files of the chart are left as they are: {helm.MISSING}\n")
        return
    binary = helm.helms()[max(helm.helms())]
    for values in helm.VALUES:
        path_of(values).write_text(text_of(helm.template(binary, "--values", str(values))), encoding="utf-8")


if __name__ == "__main__":
    main()
