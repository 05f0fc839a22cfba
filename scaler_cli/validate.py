"""`mds validate`: every admission check on files, before they reach a cluster."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from scaler_cli import manifests
from scaler_cli.manifests import Manifest, ManifestError
from scaler_core.admission import offline
from scaler_core.admission.verdict import Violation


class Format(StrEnum):
    """The value of `-o`."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One document, or one file that could not be read, with what was found."""

    path: Path
    line: int
    kind: str
    namespace: str
    name: str
    finding: offline.Finding
    lines: dict[str, int]
    """Line of each field that a violation names."""


def validate(
    paths: Annotated[list[Path] | None, typer.Argument(help="Files or folders, as -f.", show_default=False)] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--filename", "-f", help="A file, a folder of manifests, or - for standard input; repeatable."),
    ] = None,
    output: Annotated[
        Format, typer.Option("--output", "-o", help="text, json, or github for annotations.")
    ] = Format.TEXT,
) -> None:
    """Check ModelDeploymentScalers and ModelDeployments in files as admission would.

    All files are taken together, so that a scaler is checked against its deployment. Other kinds are skipped.
    Exit status 0: all would be admitted; 1: some would be refused; 2: wrong use.
    """
    given = [*(file or []), *(paths or [])]
    if not given:
        raise typer.BadParameter("no files; give -f FILE, -f FOLDER or -f - for standard input")
    missing = [path for path in given if path != manifests.STDIN and not path.exists()]
    if missing:
        raise typer.BadParameter(f"{missing[0]} does not exist; give files or folders that do")
    results = check([found for path in given for found in manifests.files(path)])
    for line in _render(results, output):
        typer.echo(line)
    if not results:
        typer.echo("No ModelDeploymentScaler or ModelDeployment found.", err=True)
    raise typer.Exit(0 if all(result.finding.is_allowed for result in results) else 1)


def check(files: Sequence[Path]) -> list[Result]:
    """Judge the documents of all files together."""
    broken: list[Result] = []
    found: list[Manifest] = []
    for path in files:
        try:
            found += [manifest for manifest in manifests.read(path) if offline.is_ours(manifest.document)]
        except (OSError, UnicodeDecodeError) as error:
            broken.append(_unreadable(path, manifests.why_unreadable(error), 1))
        except ManifestError as error:
            broken.append(_unreadable(path, str(error), error.line))
    findings = offline.judge_all([manifest.document for manifest in found])
    return [*broken, *(_result(manifest, finding) for manifest, finding in zip(found, findings, strict=True))]


def _result(manifest: Manifest, finding: offline.Finding) -> Result:
    namespace, name = offline.identity(manifest.document)
    return Result(
        path=manifest.path,
        line=manifest.line,
        kind=str(manifest.document["kind"]),
        namespace=namespace,
        name=name,
        finding=finding,
        lines={one.field: manifest.line_of(one.field) for one in finding.violations},
    )


def _unreadable(path: Path, why: str, line: int) -> Result:
    violation = Violation(field="file", value=str(path), rule="file", message=f"{why}; correct the file (file)")
    finding = offline.Finding(violations=(violation,))
    return Result(path=path, line=line, kind="", namespace="", name="", finding=finding, lines={"file": line})


def _render(results: Sequence[Result], output: Format) -> Iterator[str]:
    match output:
        case Format.JSON:
            yield json.dumps({"documents": [_as_json(result) for result in results]}, indent=2)
        case Format.GITHUB:
            for result in results:
                yield from _as_annotations(result)
        case Format.TEXT:
            for result in results:
                yield from _as_text(result)


def _as_json(result: Result) -> dict[str, Any]:
    return {
        "kind": result.kind,
        "namespace": result.namespace,
        "name": result.name,
        "file": str(result.path),
        "line": result.line,
        "allowed": result.finding.is_allowed,
        "violations": [
            {
                "field": one.field,
                "value": one.value,
                "rule": one.rule,
                "message": one.message,
                "line": result.lines[one.field],
            }
            for one in result.finding.violations
        ],
        "warnings": list(result.finding.warnings),
    }


def _as_annotations(result: Result) -> Iterator[str]:
    for one in result.finding.violations:
        place = f"file={_property(str(result.path))},line={result.lines[one.field]}"
        yield f"::error {place},title={_property(one.rule)}::{_data(one.message)}"
    for warning in result.finding.warnings:
        field = warning.partition(": ")[0]
        place = f"file={_property(str(result.path))},line={result.lines.get(field, result.line)}"
        yield f"::warning {place}::{_data(warning)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _as_text(result: Result) -> Iterator[str]:
    if result.kind:
        verdict = "would be admitted" if result.finding.is_allowed else "would be refused"
        yield f"{result.path}:{result.line}: {result.kind} {result.namespace}/{result.name} {verdict}"
    for one in result.finding.violations:
        indent = "  " if result.kind else ""
        yield f"{indent}{result.path}:{result.lines[one.field]}: {one.message}"
    for warning in result.finding.warnings:
        yield f"  warning: {warning}"
