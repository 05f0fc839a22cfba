"""YAML and JSON manifests with the lines of their fields, for findings that point into a file."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

STDIN: Final = Path("-")
SUFFIXES: Final = (".yaml", ".yml", ".json")
MOST_VALUES: Final = 100_000
"""So many values may one document hold, aliases written out: a few lines of aliases of aliases make billions."""
_MERGE: Final = "tag:yaml.org,2002:merge"
_LONGEST_KEY: Final = 63
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


class ManifestError(Exception):
    """A file that cannot be read as manifests; one line, with the place."""

    def __init__(self, message: str, line: int = 1) -> None:
        self.line = line
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One document of a file."""

    path: Path
    document: dict[str, Any]
    node: yaml.MappingNode

    @property
    def line(self) -> int:
        """The document's first line, from 1."""
        return int(self.node.start_mark.line) + 1

    def line_of(self, field: str) -> int:
        """The line of a field as messages name it (`spec.roles[decode].maxReplicas`), or of its nearest parent."""
        node: yaml.Node = self.node
        line = self.line
        for name, entry in _STEP.findall(field):
            found = _member(node, name) if name else _entry(node, entry)
            if found is None:
                break
            line, node = found
        return line


def files(path: Path) -> list[Path]:
    """The path itself, or the manifests below a folder, sorted."""
    if path == STDIN or not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())


def read(path: Path) -> Iterator[Manifest]:
    """The documents of a file that are objects, items of a List one by one; `-` is standard input.

    Raises:
        OSError: the file cannot be read.
        ManifestError: it is no YAML, or holds what JSON cannot.
    """
    text = sys.stdin.read() if path == STDIN else path.read_text("utf-8")
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            for one in _objects(node):
                _check(one)
                yield Manifest(path=path, document=_plain(loader.construct_document(one)), node=one)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ManifestError(f"no YAML: {error.problem or error.context}", mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise ManifestError(f"no manifest: {_why(error)}") from error
    finally:
        loader.dispose()


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """A few words on a file that gives no text."""
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return f"cannot be read: byte {error.start} is no UTF-8"


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return " ".join(str(error).split())[:200]


def _check(node: yaml.Node) -> None:
    """Refuse what an API server refuses too: a key twice in one object, and aliases that outgrow all reason."""
    pending, seen = [node], 0
    while pending:
        seen += 1
        if seen > MOST_VALUES:
            raise ManifestError(
                f"no manifest: over {MOST_VALUES} values, aliases written out", node.start_mark.line + 1
            )
        one = pending.pop()
        if isinstance(one, yaml.MappingNode):
            _check_keys(one)
            pending += (value for _, value in one.value)
        elif isinstance(one, yaml.SequenceNode):
            pending += one.value


def _check_keys(node: yaml.MappingNode) -> None:
    first: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
            continue
        line = key.start_mark.line + 1
        if key.value in first:
            raise ManifestError(
                f"key {key.value[:_LONGEST_KEY]!r} is given twice, first in line {first[key.value]}", line
            )
        first[key.value] = line


def _objects(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    if not isinstance(node, yaml.MappingNode):
        return
    kind, items = _member(node, "kind"), _member(node, "items")
    is_list = kind is not None and str(kind[1].value).endswith("List")
    if is_list and items is not None and isinstance(items[1], yaml.SequenceNode):
        for item in items[1].value:
            yield from _objects(item)
    else:
        yield node


def _plain(document: Any) -> dict[str, Any]:
    """The document as JSON would carry it: keys are texts, dates are their text."""
    plain: dict[str, Any] = json.loads(json.dumps(document, default=str))
    return plain


def _member(node: yaml.Node, name: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                return key.start_mark.line + 1, value
    return None


def _entry(node: yaml.Node, name: str) -> tuple[int, yaml.Node] | None:
    """An entry of a list by name or position, or a member whose name has dots (`annotations[a.b/c]`)."""
    if isinstance(node, yaml.MappingNode):
        return _member(node, name)
    if not isinstance(node, yaml.SequenceNode):
        return None
    for position, entry in enumerate(node.value):
        if name in {
            _text(entry, "name"),
            f"{_text(entry, 'numeratorRole')}/{_text(entry, 'denominatorRole')}",
            str(position),
        }:
            return entry.start_mark.line + 1, entry
    return None


def _text(node: yaml.Node, name: str) -> str:
    found = _member(node, name)
    return str(found[1].value) if found is not None else ""
