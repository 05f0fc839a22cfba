"""The fence agrees with an independent predicate on every write that hypothesis can think of."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler_core.admission import fence
from scaler_core.admission.verdict import Absent, Allowed, Found, Lookup, NeedsLookup
from tests.core.admission import fence_oracle, fence_world
from tests.core.admission.fence_world import B, D

BINDINGS = st.sampled_from([
    None, "", "junk", "[]", '{"scalerName":"llm","scalerUID":"uid-1","term":4,"extra":[]}',
    '{"scalerName":"llm","scalerUID":"uid-1","term":true}', '{"scalerName":"../x","scalerUID":"uid-1","term":4}',
    '{"scalerName":"llm","scalerUID":"uid-1","term":4,"term":5}', '{"scalerName":"llm","scalerUID":"uid-1","term":NaN}',
    *(fence_world.binding(uid=uid, term=term) for uid in ("uid-1", "uid-2") for term in (3, 4, 5)),
])  # fmt: skip
DECISIONS = st.one_of(
    st.sampled_from([None, "", "junk", '{"decisionID":"d-1","term":4,"vector":{}}']),
    st.builds(
        lambda identity, term, prefill, decode: fence_world.decision(identity, term, prefill=prefill, decode=decode),
        st.sampled_from(["d-1", "d-2"]), st.integers(3, 5), st.integers(1, 3), st.integers(1, 3),
    ),
)  # fmt: skip
ALIVE = {"uid": "uid-1", "target": "llm", "dying": False}
SCALERS = st.sampled_from(
    [ALIVE, ALIVE, ALIVE, None, ALIVE | {"uid": "uid-2"}, ALIVE | {"target": "chat"}, ALIVE | {"dying": True}]
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    annotations = {B: draw(st.none() | BINDINGS), D: draw(st.none() | DECISIONS)}
    document = fence_world.target(
        {key: text for key, text in annotations.items() if text is not None},
        image=draw(st.sampled_from(["engine:1"] * 4 + ["engine:2"])),
        terminating=draw(st.sampled_from([False, False, False, True])),
        **{
            name: draw(st.sampled_from([1, 1, 2, 3, None]))
            for name in draw(st.sampled_from([["prefill", "decode"]] * 5 + [["prefill"], ["decode", "prefill"]]))
        },
    )
    if draw(st.integers(0, 9)) == 0:
        del document["spec"]["roles"][0]["instanceType"]
    return document


EDITS = (
    "binding",
    "decision",
    "commit",
    "commit",
    "counts",
    "bind",
    "recover",
    "image",
    "untyped",
    "roles",
    "dying",
    "else",
)


@st.composite
def writes(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A document and a few edits of it: two independent documents are nearly always refused."""
    old = draw(documents())
    new: dict[str, Any] = deepcopy(old)
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=2)):
        _apply(draw, edit, new)
    return old, new


def _apply(draw: st.DrawFn, edit: str, new: dict[str, Any]) -> None:  # noqa: C901 -- one case an edit
    annotations, roles = new["metadata"]["annotations"], new["spec"]["roles"]
    match edit:
        case "binding":
            _put(annotations, B, draw(BINDINGS))
        case "bind":
            annotations.setdefault(B, fence_world.binding(term=draw(st.integers(3, 5))))
        case "decision":
            _put(annotations, D, draw(DECISIONS))
        case "commit":
            for role in roles:
                role["replicas"] = draw(st.integers(1, 3))
            vector = {role["name"]: role["replicas"] for role in roles}
            annotations[D] = fence_world.decision(
                draw(st.sampled_from(["d-2", "d-3"])), draw(st.integers(3, 5)), **vector
            )
        case "counts":
            roles[0]["replicas"] = draw(st.sampled_from([1, 2, 3, None]))
        case "recover":
            annotations.pop(B, None)
        case "image":
            roles[0]["image"] = "engine:2"
        case "untyped":
            roles[-1].pop("instanceType", None)
        case "roles":
            new["spec"]["roles"] = roles[:1]
        case "dying":
            new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        case _:
            new["metadata"]["labels"] = {"a": "b"}


def _put(annotations: dict[str, str], key: str, text: str | None) -> None:
    annotations.pop(key, None)
    annotations.update({} if text is None else {key: text})


def lookup_of(scaler: dict[str, Any] | None) -> Lookup:
    if scaler is None:
        return Absent()
    found = fence_world.scaler(scaler["uid"], scaler["target"], terminating=scaler["dying"])
    assert isinstance(found, Found)
    return found


def compare(
    write: tuple[dict[str, Any], dict[str, Any]], operator: bool, dry_run: bool, scaler: dict[str, Any] | None
) -> bool:
    old, new = write
    user = fence_world.OPERATOR if operator else fence_world.USER
    request = fence_world.update(old, new, user=user, dry_run=dry_run)
    verdict = fence.judge(request, fence_world.OPERATORS)
    if isinstance(verdict, NeedsLookup):
        verdict = fence.judge(request, fence_world.OPERATORS, lookup_of(scaler))
    expected = fence_oracle.permits(old, new, operator=operator, dry_run=dry_run, scaler=scaler)
    assert isinstance(verdict, Allowed) == expected, verdict
    return expected


@given(writes(), st.booleans(), st.booleans(), SCALERS)
@settings(max_examples=400)
def test_the_fence_equals_the_oracle(
    write: tuple[dict[str, Any], dict[str, Any]], operator: bool, dry_run: bool, scaler: dict[str, Any] | None
) -> None:
    compare(write, operator, dry_run, scaler)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(writes(), st.booleans(), st.booleans(), SCALERS)
@settings(max_examples=20_000)
def test_the_fence_equals_the_oracle_at_length(
    write: tuple[dict[str, Any], dict[str, Any]], operator: bool, dry_run: bool, scaler: dict[str, Any] | None
) -> None:
    compare(write, operator, dry_run, scaler)
