"""The documentation holds together: links lead somewhere, every page is found, its scalers are admitted."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from scaler_cli.main import app
from scaler_cli.reference.meanings import CONDITIONS, EVENTS, REASONS, REBALANCE_REASONS, ROLE_REASONS
from scaler_core.admission import offline, registry
from scaler_core.api.reasons import ConditionType, EventReason, Reason, RebalanceReason, RoleReason

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = tuple(sorted(path.relative_to(ROOT) for path in [ROOT / "README.md", *DOCS.rglob("*.md")]))
_LINK: Final = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCED: Final = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)


def text_of(page: Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def prose(page: Path) -> str:
    return _FENCED.sub("", text_of(page))


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    found = _HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Links within the repository: file and anchor."""
    for target in _LINK.findall(prose(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield ((ROOT / page).parent / path).resolve() if path else ROOT / page, anchor


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), f"{page} links to {path}, which does not exist"
        assert path.is_relative_to(ROOT), f"{page} links out of the repository"
        if anchor:
            assert anchor in anchors(path.relative_to(ROOT)), f"{page} links to #{anchor}, which {path.name} has not"


def test_every_page_is_found_from_the_index() -> None:
    seen: set[Path] = set()
    ahead = [DOCS / "index.md"]
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        ahead += [path for path, _ in links(page.relative_to(ROOT)) if path.is_file()]
    assert set(DOCS.rglob("*.md")) <= seen


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for number, (_, found, body) in enumerate(_FENCED.findall(text_of(page)), start=1):
            if found == language:
                yield f"{page} {number}", body


SCALERS: Final[Mapping[str, Any]] = {
    name: document
    for name, body in blocks("yaml")
    for document in yaml.safe_load_all(body)
    if isinstance(document, dict) and document.get("kind") == "ModelDeploymentScaler"
}


def test_there_are_scalers_to_check() -> None:
    assert len(SCALERS) >= 6


@pytest.mark.parametrize("name", SCALERS)
def test_every_scaler_of_the_documentation_is_admitted(name: str) -> None:
    (finding,) = offline.judge_all([SCALERS[name]])
    assert finding.is_allowed, finding.violations


def test_every_command_that_is_typed_exists() -> None:
    known = {info.name for info in app.registered_commands}
    for name, body in blocks("console"):
        for command in re.findall(r"^\$ (?:\S*/)?mds (\w+)", body, re.MULTILINE):
            assert command in known, f"{name}: mds {command}"


COMMANDS: Final = tuple(
    command
    for page in PAGES
    for command in re.findall(r"(?:^\$ (?:\S*/)?|`)mds ((?:plan|validate|probe) [^`\n]+)", text_of(page), re.MULTILINE)
    if "URL" not in command and "http" not in command
)
"""What can be typed without a cluster and without an engine."""


def test_there_are_commands_to_run() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"plan", "validate", "probe"}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_can_be_typed_anywhere_works_as_written(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the scaler of the README, and two texts of one engine, under the names that the page gives them."""
    monkeypatch.chdir(tmp_path)
    (spec,) = (body for name, body in blocks("yaml") if name.startswith("README.md"))
    for name in ("SCALER", "FILE", "chat.yaml", "DIR/scaler.yaml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(spec)
    for name in ("first", "second"):
        Path(f"{name}.prom").write_text((ROOT / f"tests/data/metrics/vllm_{name}.prom").read_text(encoding="utf-8"))
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output


def test_every_benchmark_is_called_as_the_module_that_it_is() -> None:
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
    for name, text in [*scripts.items(), *((str(page), text_of(page)) for page in PAGES)]:
        assert not re.search(r"`benchmarks/|python benchmarks/", text), f"{name}: write python -m benchmarks.NAME"
        assert set(re.findall(r"python -m benchmarks\.(\w+)", text)) <= set(scripts), name


def test_every_refusal_that_is_explained_exists() -> None:
    for page in PAGES:
        for rule in re.findall(r"`\(([a-z-]+)\)`", text_of(page)):
            assert rule in registry.BY_ID, f"{page}: ({rule})"


@pytest.mark.parametrize(
    ("meanings", "words"),
    [
        (CONDITIONS, ConditionType),
        (REASONS, Reason),
        (ROLE_REASONS, RoleReason),
        (REBALANCE_REASONS, RebalanceReason),
        (EVENTS, EventReason),
    ],
)
def test_every_word_has_a_meaning(meanings: Mapping[Any, Any], words: Any) -> None:
    assert set(meanings) == set(words)
