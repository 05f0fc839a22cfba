"""Where the facts are that are read and never copied: `<repository>/../shared`, or the variable MDS_SHARED."""

import os
from pathlib import Path

import pytest


def root() -> Path:
    """The folder of the shared data, whether it is there or not."""
    return Path(os.environ.get("MDS_SHARED") or Path(__file__).resolve().parents[2] / "shared")


def shared(*parts: str) -> Path:
    """A file of the shared data; the test is skipped where it is absent."""
    path = root().joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not there; set MDS_SHARED to the folder of the shared data")
    return path
