"""Pruning, defaulting and validation by the schema of a definition."""

from typing import Any

import pytest

from tests.conformance.widgets import Server, role, widget


async def test_absent_fields_get_their_defaults(api_server: Server) -> None:
    created = await api_server.create(widget(roles=[role("a")]))
    assert created.body["spec"]["size"] == 3
    assert created.body["spec"]["roles"] == [role("a", replicas=1)]


async def test_null_of_a_defaulted_field_gets_the_default(api_server: Server) -> None:
    created = await api_server.create(widget(size=None, roles=[role("a", replicas=None)]))
    assert created.status == 201
    assert created.body["spec"]["size"] == 3
    assert created.body["spec"]["roles"][0]["replicas"] == 1


async def test_unknown_fields_are_pruned(api_server: Server) -> None:
    created = await api_server.create(widget(size=1, unknown={"a": 1}, roles=[role("a", colour="red")]))
    assert created.status == 201
    assert created.body["spec"] == {"size": 1, "roles": [role("a", replicas=1)]}


async def test_unknown_fields_stay_where_the_schema_preserves_them(api_server: Server) -> None:
    free = {"anything": {"deep": [1, "two", None]}, "number": 1.5}
    created = await api_server.create(widget(free=free, tags={"any": "key"}))
    assert created.body["spec"]["free"] == free
    assert created.body["spec"]["tags"] == {"any": "key"}


async def test_fraction_that_is_whole_is_an_integer(api_server: Server) -> None:
    created = await api_server.create(widget(size=4.0))
    assert (created.status, created.body["spec"]["size"]) == (201, 4)
    again = await api_server.merge_patch({"spec": {"size": 4}})
    assert again.generation == 1


async def test_nullable_field_may_be_null(api_server: Server) -> None:
    created = await api_server.create(widget(note=None))
    assert created.status == 201


@pytest.mark.parametrize(("value", "status"), [(5, 201), ("50%", 201), (True, 422), (1.5, 422)])
async def test_integer_or_string_takes_both_and_nothing_else(api_server: Server, value: Any, status: int) -> None:
    gadget = widget(limit=value) | {"kind": "Gadget"}
    created = await api_server.call("POST", api_server.path().replace("widgets", "gadgets"), gadget)
    assert created.status == status
    assert status != 201 or created.body["spec"]["limit"] == value


@pytest.mark.parametrize(
    ("spec", "field", "reason", "words"),
    [
        pytest.param({"size": 0}, "spec.size", "FieldValueInvalid", "greater than or equal to 1", id="below minimum"),
        pytest.param({"size": 11}, "spec.size", "FieldValueInvalid", "less than or equal to 10", id="above maximum"),
        pytest.param({"size": "two"}, "spec.size", "FieldValueInvalid", "must be of type integer", id="wrong type"),
        pytest.param({"size": 1.5}, "spec.size", "FieldValueInvalid", "must be of type integer", id="fraction"),
        pytest.param(
            {"mode": "Odd"}, "spec.mode", "FieldValueNotSupported", 'supported values: "Fast", "Slow"', id="not listed"
        ),
        pytest.param(
            {"roles": [{"name": "a"}]}, "spec.roles.instanceType", "FieldValueRequired", "Required value", id="missing"
        ),
        pytest.param(
            {"roles": [role("a", instanceType="")]},
            "spec.roles.instanceType",
            "FieldValueInvalid",
            "in body",
            id="short",
        ),
        pytest.param(
            {"roles": [role("a"), role("a")]}, "spec.roles[1]", "FieldValueDuplicate", "Duplicate", id="twice"
        ),
        pytest.param({"tags": {"a": 1}}, "spec.tags.a", "FieldValueInvalid", "must be of type string", id="map value"),
    ],
)
async def test_broken_rule_is_refused_with_its_field(
    api_server: Server, spec: dict[str, Any], field: str, reason: str, words: str
) -> None:
    refused = await api_server.create(widget(**spec))
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    cause = refused.body["details"]["causes"][0]
    assert _without_indices(cause["field"], field) == field
    assert words in cause["message"]
    if api_server.is_embedded:
        assert cause["reason"] == reason
    assert refused.body["message"].startswith('Widget.conformance.gpustack.ai "w" is invalid: ')


def _without_indices(found: str, wanted: str) -> str:
    """Older servers leave the index out of some fields."""
    return found if "[" in wanted else found.replace("[0]", "")


async def test_missing_spec_is_refused(api_server: Server) -> None:
    document = widget()
    del document["spec"]
    refused = await api_server.create(document)
    assert (refused.status, refused.fields) == (422, ["spec"])


async def test_all_broken_rules_are_named(api_server: Server) -> None:
    refused = await api_server.create(widget(size=0, mode="Odd"))
    assert sorted(refused.fields) == ["spec.mode", "spec.size"]


async def test_status_is_validated_and_pruned_too(api_server: Server) -> None:
    await api_server.create(widget())
    refused = await api_server.merge_patch({"status": {"phase": 5}}, subresource="status")
    assert refused.status == 422
    written = await api_server.merge_patch({"status": {"phase": "a", "odd": 1}}, subresource="status")
    assert written.body["status"] == {"phase": "a"}
