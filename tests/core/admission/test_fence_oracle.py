"""The fence agrees with an independent predicate on every write that hypothesis can think of."""

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
SCALERS = st.none() | st.builds(
    lambda uid, target, dying: {"uid": uid, "target": target, "dying": dying},
    st.sampled_from(["uid-1", "uid-2"]), st.sampled_from(["llm", "chat"]), st.booleans(),
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    annotations = {B: draw(BINDINGS), D: draw(DECISIONS)}
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


@st.composite
def writes(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Often one small step apart: independent documents are nearly always refused."""
    old = draw(documents())
    new = draw(documents())
    kept = draw(st.sets(st.sampled_from(["binding", "decision", "spec", "counts"])))
    before = old["metadata"]["annotations"]
    for name, key in (("binding", B), ("decision", D)):
        if name in kept:
            new["metadata"]["annotations"].pop(key, None)
            new["metadata"]["annotations"] |= {key: before[key]} if key in before else {}
    if "spec" in kept:
        counts = {role["name"]: role["replicas"] for role in new["spec"]["roles"]}
        roles = [role | {"replicas": counts.get(role["name"], 1)} for role in old["spec"]["roles"]]
        new["spec"] = {**old["spec"], "roles": roles}
    if "counts" in kept:
        was = {role["name"]: role["replicas"] for role in old["spec"]["roles"]}
        for role in new["spec"]["roles"]:
            role["replicas"] = was.get(role["name"], 1)
    return old, new


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
@settings(max_examples=150)
def test_the_fence_equals_the_oracle(
    write: tuple[dict[str, Any], dict[str, Any]], operator: bool, dry_run: bool, scaler: dict[str, Any] | None
) -> None:
    compare(write, operator, dry_run, scaler)


@pytest.mark.long
@given(writes(), st.booleans(), st.booleans(), SCALERS)
@settings(max_examples=20_000)
def test_the_fence_equals_the_oracle_at_length(
    write: tuple[dict[str, Any], dict[str, Any]], operator: bool, dry_run: bool, scaler: dict[str, Any] | None
) -> None:
    compare(write, operator, dry_run, scaler)
