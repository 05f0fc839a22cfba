"""What keeps the house readable, as rules that a build can refuse."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("scaler_core", "scaler_kube", "scaler_controller", "scaler_webhook", "scaler_sim", "scaler_cli")
MODULE_LINES = 400
FUNCTION_LINES = 60
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "misc", "base_classes"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules(), ids=named)
def test_a_module_is_short_enough_to_read(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= MODULE_LINES, f"{named(path)} has {lines} lines; split it by subject"


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{named(path)}:{function.lineno} {function.name} has {length} lines"
        for path in modules()
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1 - docstring_lines(function)) > FUNCTION_LINES
    ]
    assert long == []


def docstring_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return (first.end_lineno or 0) - first.lineno + 1
    return 0


def test_no_room_is_named_after_nothing() -> None:
    assert [named(path) for path in modules() if path.stem in FORBIDDEN_NAMES] == []


def test_nothing_is_left_for_later() -> None:
    assert [named(path) for path in modules() if UNFINISHED.search(path.read_text())] == []


def test_every_task_has_a_name() -> None:
    nameless = [
        f"{named(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "create_task"
        and not any(keyword.arg == "name" for keyword in node.keywords)
    ]
    assert nameless == []


def test_every_package_says_what_it_is() -> None:
    silent = [
        named(path)
        for path in modules()
        if path.name == "__init__.py" and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []
