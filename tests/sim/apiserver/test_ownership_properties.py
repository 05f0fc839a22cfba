"""Invariants of field ownership and of schemas, over made-up documents."""

import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scaler_sim.apiserver import fieldsets, ownership, structural, typed
from scaler_sim.apiserver.ownership import Manager

SCHEMA = {
    "properties": {
        "spec": {
            "properties": {
                "size": {"type": "integer", "default": 3},
                "tags": {"additionalProperties": {"type": "string"}},
                "plain": {"type": "array"},
                "roles": {
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"properties": {"name": {}, "replicas": {"default": 1}, "image": {}}},
                },
            }
        }
    }
}
words = st.sampled_from(["a", "b", "c"])
roles = st.dictionaries(
    words, st.fixed_dictionaries({}, optional={"replicas": st.integers(1, 4), "image": words}), max_size=3
).map(lambda found: [{"name": name, **fields} for name, fields in found.items()])
specs = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(1, 4),
        "tags": st.dictionaries(words, words, max_size=2),
        "plain": st.lists(words, max_size=2),
        "roles": roles,
    },
)
git, other = (Manager(name, "Apply", "v1") for name in ("git", "other"))


def _document(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def _apply(live: dict[str, Any] | None, spec: Any, manager: Manager) -> dict[str, Any]:
    return ownership.apply(live, _document(spec), SCHEMA, manager, now="now", force=True)


def _shown(value: Any) -> Any:
    """The value with keyed lists as mappings and without empty containers, which owners do not hold."""
    if isinstance(value, dict):
        return {name: _shown(part) for name, part in value.items() if part not in ({}, [])}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {item["name"]: _shown(item) for item in value}
    return value


@given(specs)
def test_field_sets_survive_their_wire_form(spec: Any) -> None:
    fields = typed.field_set({"spec": spec}, SCHEMA)
    assert fieldsets.from_wire(fieldsets.to_wire(fields)) == fields


@given(specs, specs)
@settings(max_examples=60)
def test_sole_owner_gets_exactly_what_it_applied_last(first: Any, second: Any) -> None:
    live = _apply(_apply(None, first, git), second, git)
    assert _shown(live.get("spec", {})) == _shown(second)


@given(specs, specs)
@settings(max_examples=60)
def test_forced_apply_wins_and_is_repeatable(first: Any, second: Any) -> None:
    live = _apply(_apply(None, first, git), second, other)
    assert ownership.apply(live, _document(second), SCHEMA, other, now="now", force=False) == live
    mine = typed.field_set({"spec": second}, SCHEMA)
    held = ownership.read(live)
    assert all(
        not (owner.fields & mine) or name == other or _same(first, second, owner.fields & mine)
        for name, owner in held.items()
    )


def _same(first: Any, second: Any, fields: fieldsets.FieldSet) -> bool:
    """Shared fields have one value in both configurations."""
    changed = typed.compare({"spec": first}, {"spec": second}, SCHEMA)
    return not fields & (changed.modified | changed.added)


@given(specs, specs)
@settings(max_examples=60)
def test_comparison_with_itself_is_empty_and_swaps_added_with_removed(first: Any, second: Any) -> None:
    same = typed.compare(first, first, SCHEMA["properties"]["spec"])
    assert not same.added | same.modified | same.removed
    forth = typed.compare(first, second, SCHEMA["properties"]["spec"])
    back = typed.compare(second, first, SCHEMA["properties"]["spec"])
    assert (forth.added, forth.modified, forth.removed) == (back.removed, back.modified, back.added)


values = st.recursive(
    st.none() | st.integers() | st.text(string.ascii_letters, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.just("spec"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["spec", "odd", "metadata"]), values, max_size=3))
def test_pruning_and_defaulting_are_idempotent(document: dict[str, Any]) -> None:
    once = structural.default(structural.prune(document, SCHEMA), SCHEMA)
    assert structural.default(structural.prune(once, SCHEMA), SCHEMA) == once
    assert "odd" not in once
