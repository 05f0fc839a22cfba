"""The fence over time: whatever users, operators, late writes and scalers do, in any order."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from scaler_core.admission import fence, target
from scaler_core.admission.verdict import Absent, Allowed, Lookup, NeedsLookup, Verdict
from tests.core.admission import fence_world
from tests.core.admission.fence_world import OPERATOR, OPERATORS, USER, B, D

COUNTS = st.dictionaries(st.sampled_from(["prefill", "decode"]), st.integers(1, 4), min_size=2)
NAMES = st.sampled_from(["a", "b"])
TEXTS = st.sampled_from([None, "junk", "{}"])
STEPS = st.sampled_from(["counts", "role", "image", "binding", "decision", "both", "junk"])


class FenceLife(RuleBasedStateMachine):
    """One deployment, two scaler names, one operator account, users."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = fence_world.target(prefill=2, decode=2)
        self.scalers: dict[str, dict[str, Any]] = {}
        self.late: list[dict[str, Any]] = []
        self.uids = 0
        self.highest_term = 0

    @initialize()
    def begin(self) -> None:
        self.create_scaler("a", "llm")

    # -- the API server ------------------------------------------------------------------------------------------

    def judge(self, new: dict[str, Any], user: str, *, dry_run: bool = False) -> Verdict:
        request = fence_world.update(self.stored, new, user=user, dry_run=dry_run)
        verdict = fence.judge(request, OPERATORS)
        if isinstance(verdict, NeedsLookup):
            verdict = fence.judge(request, OPERATORS, self.read(verdict.name))
        return verdict

    def read(self, name: str) -> Lookup:
        found = self.scalers.get(name)
        if found is None:
            return Absent()
        return fence_world.scaler(found["uid"], found["target"], terminating=found["dying"])

    def write(self, new: dict[str, Any], user: str) -> bool:
        old = self.stored
        is_stored = isinstance(self.judge(new, user), Allowed)
        if is_stored:
            self.stored = new
            self.check_transition(old, new, user)
        return is_stored

    def check_transition(self, old: dict[str, Any], new: dict[str, Any], user: str) -> None:
        before, after = target.read(old), target.read(new)
        if user == USER and target.readable_binding(before.binding) is not None:
            assert before.counts == after.counts
        decision = target.readable_decision(after.decision)
        if after.decision is None:
            self.highest_term = 0  # terms are remembered as long as the annotation is kept
        elif decision is not None:
            assert decision.term >= self.highest_term
            self.highest_term = decision.term

    # -- scalers -------------------------------------------------------------------------------------------------

    @rule(name=NAMES, aims_at=st.sampled_from(["llm", "llm", "chat"]))
    def create_scaler(self, name: str, aims_at: str) -> None:
        if name not in self.scalers:
            self.uids += 1
            self.scalers[name] = {"uid": f"uid-{self.uids}", "target": aims_at, "dying": False}

    @rule(name=NAMES)
    def delete_scaler(self, name: str) -> None:
        if name in self.scalers:
            self.scalers[name]["dying"] = True

    @rule(name=NAMES)
    def drop_finalizer(self, name: str) -> None:
        if self.scalers.get(name, {}).get("dying"):
            del self.scalers[name]

    # -- operators -----------------------------------------------------------------------------------------------

    def changed(self, annotations: dict[str, str | None], counts: dict[str, int] | None = None) -> dict[str, Any]:
        new = deepcopy(self.stored)
        kept = new["metadata"].setdefault("annotations", {})
        for key, text in annotations.items():
            kept.pop(key, None)
            kept.update({} if text is None else {key: text})
        for role in new["spec"]["roles"]:
            role["replicas"] = (counts or {}).get(role["name"], role["replicas"])
        return new

    @rule(name=NAMES, term=st.integers(1, 6))
    def bind(self, name: str, term: int) -> None:
        uid = self.scalers.get(name, {"uid": "uid-0"})["uid"]
        new = self.changed({B: fence_world.binding(name, uid, term)})
        self.late.append(new)
        if self.write(new, OPERATOR):
            assert self.scalers[name] == {"uid": uid, "target": "llm", "dying": False}

    @rule(counts=COUNTS, term=st.integers(1, 6), identity=st.integers(0, 10**6))
    def commit(self, counts: dict[str, int], term: int, identity: int) -> None:
        held = target.readable_binding(target.read(self.stored).binding)
        vector = {role["name"]: counts.get(role["name"], role["replicas"]) for role in self.stored["spec"]["roles"]}
        new = self.changed({D: fence_world.decision(f"d-{identity}", held.term if held else term, **vector)}, vector)
        self.late.append(new)
        self.write(new, OPERATOR)

    @rule()
    def release(self) -> None:
        self.write(self.changed({B: None}), OPERATOR)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def a_late_write_arrives(self, data: st.DataObject) -> None:
        self.write(data.draw(st.sampled_from(self.late)), OPERATOR)

    # -- users ---------------------------------------------------------------------------------------------------

    @rule(counts=COUNTS, steps=st.sets(STEPS, min_size=1, max_size=2), text=TEXTS, term=st.integers(1, 9))
    def user_writes(self, counts: dict[str, int], steps: set[str], text: str | None, term: int) -> None:
        new = self.changed({}, counts if "counts" in steps else None)
        kept = new["metadata"]["annotations"]
        if "role" in steps:
            new["spec"]["roles"] = new["spec"]["roles"][:1]
        if "image" in steps:
            new["spec"]["roles"][0]["image"] = "engine:2"
        for key, step in ((B, "binding"), (D, "decision"), (B, "both"), (D, "both")):
            if step in steps:
                kept.pop(key, None)
        if "junk" in steps and text is not None:
            kept[B] = text if term % 2 else fence_world.binding(term=term)
        self.write(new, USER)

    # -- what always holds ---------------------------------------------------------------------------------------

    @invariant()
    def a_vector_never_differs_from_its_decision(self) -> None:
        facts = target.read(self.stored)
        binding, decision = target.readable_binding(facts.binding), target.readable_decision(facts.decision)
        if binding is not None and decision is not None and decision.term == binding.term:
            assert dict(decision.vector) == facts.counts

    @invariant()
    def the_binding_is_never_below_the_decision(self) -> None:
        facts = target.read(self.stored)
        binding, decision = target.readable_binding(facts.binding), target.readable_decision(facts.decision)
        if binding is not None and decision is not None:
            assert binding.term >= decision.term

    @invariant()
    def there_is_always_a_way_out(self) -> None:
        released = self.changed({B: None})
        if B not in released["metadata"].get("annotations", {}) and target.read(self.stored).binding is None:
            return
        assert isinstance(self.judge(released, OPERATOR), Allowed)
        binding = target.readable_binding(target.read(self.stored).binding)
        owner = self.scalers.get(binding.scaler_name) if binding is not None else None
        if binding is None or owner is None or owner["uid"] != binding.scaler_uid or owner["target"] != "llm":
            assert isinstance(self.judge(released, USER), Allowed)
            assert isinstance(self.judge(self.changed({B: None, D: None}), USER), Allowed)
        else:
            assert not isinstance(self.judge(released, USER), Allowed)


def test_the_fence_holds_through_any_life() -> None:
    run_state_machine_as_test(FenceLife, settings=settings(max_examples=60, stateful_step_count=40, deadline=None))


@pytest.mark.long
def test_the_fence_holds_through_long_lives() -> None:
    run_state_machine_as_test(FenceLife, settings=settings(max_examples=3000, stateful_step_count=60, deadline=None))
