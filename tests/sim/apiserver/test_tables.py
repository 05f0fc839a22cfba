"""Printer columns: paths into objects, and ages as people read them."""

from typing import Any

import pytest

from scaler_sim.apiserver.tables import age, json_path

OBJECT = {
    "metadata": {"name": "x", "labels": {"a.b/c": "d"}},
    "spec": {"roles": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "zero": 0, "null": None},
    "status": {"conditions": [{"type": "Active", "status": "False"}, {"type": "Bound", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".metadata.name", ["x"], id="member"),
        pytest.param(".spec.roles[1].name", ["b"], id="index"),
        pytest.param(".spec.roles[-1].name", ["b"], id="index from the end"),
        pytest.param(".spec.roles[*].n", [1, 2], id="all items"),
        pytest.param('.status.conditions[?(@.type=="Bound")].status', ["True"], id="item by a member"),
        pytest.param(".status.conditions[?(@.type=='Blocked')].status", [], id="no such item"),
        pytest.param(".metadata.labels['a.b/c']", ["d"], id="quoted member"),
        pytest.param(".spec.absent.deeper", [], id="absent"),
        pytest.param(".spec.zero", [0], id="zero is a value"),
        pytest.param(".spec.null", [], id="null is none"),
    ],
)
def test_json_path(path: str, found: list[Any]) -> None:
    assert json_path(OBJECT, path) == found


def test_unknown_construct_is_named() -> None:
    with pytest.raises(ValueError, match=r"'\.\.name'"):
        json_path(OBJECT, ".metadata..name")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 90, "3h1m"),
        (8 * 3600, "8h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
    ],
)
def test_age(seconds: float, text: str) -> None:
    assert age(seconds) == text
