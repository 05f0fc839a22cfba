"""The helm binaries of this machine, and what they make of the chart."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "model-deployment-scaler"
VALUES = sorted((ROOT / "tests" / "chart" / "values").glob("*.yaml"))
RELEASE, NAMESPACE = "mds", "scaler-system"
KUBE_VERSION = "1.37.0"
MISSING = "no helm: put helm (version 3 or 4) on PATH or into the folder that KUBEBUILDER_ASSETS names"


@cache
def helms() -> dict[int, str]:
    """Major version to binary, of those called helm, helm3 and helm4."""
    folders = os.pathsep.join(filter(None, [os.environ.get("PATH"), os.environ.get("KUBEBUILDER_ASSETS")]))
    found: dict[int, str] = {}
    for name in ("helm", "helm3", "helm4"):
        binary = shutil.which(name, path=folders)
        if binary is None:
            continue
        shown = subprocess.run([binary, "version", "--short"], capture_output=True, text=True, check=False).stdout
        if version := re.match(r"v(\d+)\.", shown):
            found.setdefault(int(version[1]), binary)
    return found


def require(major: int) -> str:
    """The binary of a major version; skips without it, and fails when `CI=true` and there is none at all."""
    if not helms() and os.environ.get("CI", "").lower() == "true":
        pytest.fail(MISSING, pytrace=False)
    if major not in helms():
        pytest.skip(f"no helm {major} here" if helms() else MISSING)
    return helms()[major]


def run(binary: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One call of helm, its output kept."""
    return subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)


def template(binary: str, *arguments: str) -> list[dict[str, Any]]:
    """Every document that the chart renders to; an assertion with helm's words where it does not."""
    common = (RELEASE, str(CHART), "--namespace", NAMESPACE, "--kube-version", KUBE_VERSION)
    done = run(binary, "template", *common, *arguments)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]
