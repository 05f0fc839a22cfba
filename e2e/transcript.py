"""What people saw, written down and held against a file of the repository.

`MDS_GOLDEN=write` writes the files anew instead; read what changed before you commit it. Names of temporary files,
identifiers and times are replaced by words, so that a run says the same as the last one. Other versions of the tools
choose other words around ours, so then only what the product said is compared.
"""

import difflib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "golden"
WRITE: Final = "MDS_GOLDEN"
_WORDS: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})"), "TIME"),
    (re.compile(r"/\S*/((?:LIVE|MERGED)-)\d+"), r"/TMP/\1N"),
    (re.compile(r"/\S*/(kubectl-edit-)\d+"), r"/TMP/\1N"),
    (re.compile(r'(resourceVersion"?: ?\\*"?)\d+'), r"\1N"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "https://ADDRESS"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
)
_OURS: Final = re.compile(r"(?:denied the request: |Warning: ).*")


@dataclass(slots=True, kw_only=True)
class Transcript:
    """Headings, and under each what was done and what was answered."""

    name: str
    """Of the file, without its ending."""
    versions: str
    """Of the tools that spoke, for the first line."""
    _lines: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a chapter."""
        self._lines += ["", f"## {text}"]

    def say(self, *lines: str) -> None:
        """Add lines; normalised, without blanks at their ends."""
        for text in lines:
            self._lines += [line.rstrip() for line in normalised(text).rstrip("\n").split("\n")]

    def compare(self) -> None:
        """Hold everything said against the file, or write the file.

        Raises:
            AssertionError: they differ; the text is the difference.
        """
        path, said = FOLDER / f"{self.name}.txt", [self.versions, *self._lines]
        if os.environ.get(WRITE) == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(said) + "\n")
            return
        kept = path.read_text().splitlines() if path.exists() else []
        if kept[:1] != said[:1]:
            kept, said = _ours(kept), _ours(said)
        found = difflib.unified_diff(kept, said, f"golden/{path.name}", "this run", lineterm="", n=1)
        difference = "\n".join(found)
        assert not difference, f"{difference}\nIf this is as it should be: {WRITE}=write, run again, read the diff."


def normalised(text: str) -> str:
    """The same text on every machine and in every run."""
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text


def _ours(lines: list[str]) -> list[str]:
    """What the product said, without the words of the tools around it."""
    return [found[0] for line in lines if (found := _OURS.search(line))]
