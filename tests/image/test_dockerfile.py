"""The image's recipe, as far as it can be checked without an engine that builds it."""

import re
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.chart import golden, helm

DOCKERFILE = helm.ROOT / "Dockerfile"
HADOLINT = Path(sysconfig.get_path("scripts")) / "hadolint"


def hadolint(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HADOLINT, "--failure-threshold=style", path], capture_output=True, text=True, check=False)


def instructions() -> list[str]:
    """Instructions in order, continued lines joined, comments dropped."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]


def test_the_linter_has_nothing_to_say() -> None:
    done = hadolint(DOCKERFILE)
    assert done.returncode == 0, done.stdout


def test_the_linter_would_have_something_to_say(tmp_path: Path) -> None:
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM python:latest\nRUN sudo pip install aiohttp\n")
    assert hadolint(bad).returncode == 1


def test_what_runs_is_nobody_and_has_no_installer() -> None:
    final = instructions()[[line.startswith("FROM") for line in instructions()].index(True, 2) :]
    assert "USER 65532:65532" in final
    assert any(line.startswith("RUN python -m pip uninstall") and line.endswith(" pip") for line in final)
    assert not any(line.startswith(("ADD", "EXPOSE")) for line in instructions())


def test_every_package_of_an_index_is_checked_against_its_hash() -> None:
    installs = [
        part for line in instructions() if line.startswith("RUN") for part in line.split("&&") if " install " in part
    ]
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or "--no-index" in install


@pytest.mark.parametrize("name", ["build", "runtime", "dev"])
def test_every_locked_package_has_a_hash_and_no_index(name: str) -> None:
    text = (helm.ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"^--|https?:", text, flags=re.MULTILINE)
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in entry, entry


def test_the_chart_runs_commands_that_the_image_has() -> None:
    project = tomllib.loads((helm.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = set()
    for document in golden.documents_of("default"):
        spec = document.get("spec", {})
        for container in spec.get("containers", ()) or spec.get("template", {}).get("spec", {}).get("containers", ()):
            run.add(container["command"][0])
    assert run == {"scaler-controller", "scaler-webhook", "mds"} <= set(project["scripts"])


def test_the_context_is_what_the_image_copies() -> None:
    packages = tomllib.loads((helm.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    wanted = set(packages["targets"]["wheel"]["packages"])
    copied = {line.split()[1] for line in instructions() if line.startswith("COPY scaler_")}
    assert copied == wanted


def test_the_chart_has_the_version_of_the_package() -> None:
    project = tomllib.loads((helm.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chart = (helm.CHART / "Chart.yaml").read_text(encoding="utf-8")
    assert f"appVersion: {project['version']}\n" in chart
