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
KEYS = st.sampled_from([B, D])
BORROWED = fence_world.binding("a", "uid-1", 9)
NAMES = st.sampled_from(["a", "b"])


class FenceLife(RuleBasedStateMachine):
    """One deployment, two scaler names, one operator account, users."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = fence_world.target(prefill=2, decode=2)
        self.scalers: dict[str, dict[str, Any]] = {}
        self.late: list[dict[str, Any]] = []
        self.uids = 0
        self.highest_term = 0

    @initialize(term=st.integers(0, 3), commits=st.booleans())
    def begin(self, term: int, commits: bool) -> None:
        self.create_scaler("a", "llm")
        if term:
            self.bind_as("a", "uid-1", term)
        if commits:
            self.commit_exactly({"prefill": 3, "decode": 1})

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
        if user == OPERATOR and before.binding != after.binding:
            assert (before.counts, before.decision) == (after.counts, after.decision)
        binding, decision = target.readable_binding(after.binding), target.readable_decision(after.decision)
        if binding is not None and before.binding is None:
            assert binding.term > self.highest_term
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

    @rule(name=NAMES, aims_at=st.sampled_from(["llm", "chat"]))
    def replace_scaler(self, name: str, aims_at: str) -> None:
        self.scalers.pop(name, None)
        self.create_scaler(name, aims_at)

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

    @property
    def facts(self) -> target.TargetFacts:
        return target.read(self.stored)

    def last_term(self) -> int:
        decision = target.readable_decision(self.facts.decision)
        return decision.term if decision is not None else 0

    @precondition(lambda self: self.scalers and self.facts.binding is None)
    @rule(data=st.data(), above=st.integers(0, 2))
    def bind(self, data: st.DataObject, above: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.scalers)))
        self.bind_as(name, self.scalers[name]["uid"], self.last_term() + above)

    @rule(name=NAMES, uid=st.sampled_from(["uid-1", "uid-2", "uid-3"]), term=st.integers(1, 4))
    def bind_at_odds(self, name: str, uid: str, term: int) -> None:
        self.bind_as(name, uid, term)

    def bind_as(self, name: str, uid: str, term: int) -> None:
        new = self.changed({B: fence_world.binding(name, uid, max(term, 1))})
        self.late.append(new)
        changes = new["metadata"]["annotations"][B] != self.facts.binding
        if self.write(new, OPERATOR) and changes:
            assert self.scalers[name] == {"uid": uid, "target": "llm", "dying": False}

    @precondition(lambda self: self.facts.binding is not None)
    @rule(counts=COUNTS)
    def commit_exactly(self, counts: dict[str, int]) -> None:
        self.commit(counts, 0, 0)

    @precondition(lambda self: self.facts.binding is not None)
    @rule(counts=COUNTS, skewed=st.sampled_from([0, 0, 0, 1]), aged=st.sampled_from([0, 0, 0, 1]))
    def commit(self, counts: dict[str, int], skewed: int, aged: int) -> None:
        held = target.readable_binding(self.facts.binding)
        term = max(1, (held.term if held is not None else 1) - aged)
        vector = {role["name"]: counts.get(role["name"], 1) for role in self.stored["spec"]["roles"]}
        self.uids += 1
        text = fence_world.decision(f"d-{self.uids}", term, **{name: n + skewed for name, n in vector.items()})
        new = self.changed({D: text}, vector)
        self.late.append(new)
        self.write(new, OPERATOR)

    @rule(counts=COUNTS, keys=st.sets(KEYS), name=NAMES)
    def an_operator_does_two_things_at_once(self, counts: dict[str, int], keys: set[str], name: str) -> None:
        uid = self.scalers.get(name, {"uid": "uid-0"})["uid"]
        bind = {B: fence_world.binding(name, uid, self.last_term() + 1)} if self.facts.binding is None else {}
        self.write(self.changed(dict.fromkeys(keys) | bind, counts), OPERATOR)

    @precondition(lambda self: self.facts.binding is not None)
    @rule()
    def release(self) -> None:
        self.write(self.changed({B: None}), OPERATOR)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def a_late_write_arrives(self, data: st.DataObject) -> None:
        self.write(data.draw(st.sampled_from(self.late[-6:])), OPERATOR)

    # -- users ---------------------------------------------------------------------------------------------------

    @rule(counts=COUNTS)
    def a_user_moves_counts(self, counts: dict[str, int]) -> None:
        self.write(self.changed({}, counts), USER)

    @rule(keys=st.sets(st.sampled_from([B, D]), min_size=1), counts=st.none() | COUNTS)
    def a_user_removes_annotations(self, keys: set[str], counts: dict[str, int] | None) -> None:
        self.write(self.changed(dict.fromkeys(keys), counts), USER)

    @rule(step=st.sampled_from(["text", "role", "outage"]), text=st.sampled_from(["junk", BORROWED]), key=KEYS)
    def somebody_meddles(self, step: str, text: str, key: str) -> None:
        """A user writes an annotation or drops a role; or junk gets in while the fence is down."""
        if step == "text":
            before = self.stored["metadata"].get("annotations", {}).get(key)
            assert self.write(self.changed({key: text}), USER) == (text == before)
        elif step == "role":
            whole, fewer = self.stored, deepcopy(self.stored)
            fewer["spec"]["roles"] = fewer["spec"]["roles"][:1]
            assert self.write(fewer, USER) == (target.readable_binding(self.facts.binding) is None)
            self.stored = whole
        elif self.facts.binding is None:
            self.stored = self.changed({B: "junk"})

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
        if self.facts.binding is None:
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
@pytest.mark.timeout(3600)
def test_the_fence_holds_through_long_lives() -> None:
    run_state_machine_as_test(FenceLife, settings=settings(max_examples=800, stateful_step_count=60, deadline=None))
