"""Server-side apply: what is merged, who owns what, and what happens to a field whose last owner leaves it out."""

from typing import Any

from tests.conformance.widgets import Answer, Server, owners, role, widget


def _replicas(answer: Answer) -> dict[str, int]:
    return {item["name"]: item["replicas"] for item in answer.body["spec"]["roles"]}


async def test_apply_creates_and_then_updates(api_server: Server) -> None:
    created = await api_server.apply(widget(size=2, roles=[role("a", replicas=2)]), "git")
    assert (created.status, created.generation) == (201, 1)
    updated = await api_server.apply(widget(size=4, roles=[role("a", replicas=2)]), "git")
    assert (updated.status, updated.body["spec"]["size"], updated.generation) == (200, 4, 2)


async def test_apply_records_the_applied_leaves(api_server: Server) -> None:
    created = await api_server.apply(widget(size=2, tags={"a": "b"}, roles=[role("a", replicas=2)]), "git")
    assert owners(created)["git"] == {
        "f:spec": {
            "f:size": {},
            "f:tags": {"f:a": {}},
            "f:roles": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:instanceType": {}, "f:replicas": {}}},
        }
    }


async def test_repeated_apply_changes_nothing(api_server: Server) -> None:
    first = await api_server.apply(widget(size=2), "git")
    second = await api_server.apply(widget(size=2), "git")
    assert (second.status, second.version) == (200, first.version)


async def test_plain_write_records_what_it_changed(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", replicas=2), role("b")]), "git")
    patched = await api_server.json_patch(
        [{"op": "replace", "path": "/spec/roles/0/replicas", "value": 5}], params={"fieldManager": "scaler"}
    )
    assert owners(patched)["scaler"] == {"f:spec": {"f:roles": {'k:{"name":"a"}': {"f:replicas": {}}}}}
    assert "f:replicas" not in owners(patched)["git"]["f:spec"]["f:roles"]['k:{"name":"a"}']


async def test_create_owns_its_fields_and_defaults(api_server: Server) -> None:
    created = await api_server.create(widget(roles=[role("a")]), params={"fieldManager": "maker"})
    fields = owners(created)["maker"]["f:spec"]
    assert fields["f:size"] == {}
    assert fields["f:roles"]['k:{"name":"a"}']["f:replicas"] == {}


async def test_other_value_of_anothers_field_conflicts(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", replicas=2)]), "git")
    refused = await api_server.apply(widget(roles=[role("a", replicas=3)]), "other")
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert refused.body["message"].startswith('Apply failed with 1 conflict: conflict with "git"')
    cause = refused.body["details"]["causes"][0]
    assert cause["reason"] == "FieldManagerConflict"
    assert cause["field"] == '.spec.roles[name="a"].replicas'


async def test_conflict_names_a_plain_writer(api_server: Server) -> None:
    await api_server.create(widget(size=2), params={"fieldManager": "kubectl-edit"})
    refused = await api_server.apply(widget(size=3), "git")
    assert refused.status == 409
    assert 'conflict with "kubectl-edit" using conformance.gpustack.ai/v1' in refused.body["message"]
    assert refused.body["message"].endswith(": .spec.size")


async def test_force_takes_the_field_over(api_server: Server) -> None:
    await api_server.apply(widget(size=2, tags={"a": "b"}), "git")
    taken = await api_server.apply(widget(size=3), "other", force=True)
    assert (taken.status, taken.body["spec"]["size"]) == (200, 3)
    assert "f:size" in owners(taken)["other"]["f:spec"]
    assert owners(taken)["git"] == {"f:spec": {"f:tags": {"f:a": {}}}}


async def test_same_value_is_owned_by_both(api_server: Server) -> None:
    await api_server.apply(widget(size=2), "git")
    shared = await api_server.apply(widget(size=2), "other")
    assert (shared.status, shared.generation) == (200, 1)
    assert owners(shared)["git"] == owners(shared)["other"] == {"f:spec": {"f:size": {}}}


async def test_field_left_out_by_its_last_owner_goes(api_server: Server) -> None:
    await api_server.apply(widget(size=2, mode="Fast", tags={"a": "b", "c": "d"}), "git")
    applied = await api_server.apply(widget(size=2, tags={"a": "b"}), "git")
    assert "mode" not in applied.body["spec"]
    assert applied.body["spec"]["tags"] == {"a": "b"}


async def test_field_left_out_by_its_last_owner_falls_to_its_default(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", replicas=4)]), "git")
    applied = await api_server.apply(widget(roles=[role("a")]), "git")
    assert _replicas(applied) == {"a": 1}


async def test_field_left_out_stays_while_another_owns_it(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", replicas=4), role("b", replicas=2)]), "git")
    await api_server.apply(widget(roles=[{"name": "a", "replicas": 4}, {"name": "b", "replicas": 2}]), "scaler")
    applied = await api_server.apply(widget(roles=[role("a"), role("b")]), "git")
    assert (applied.status, _replicas(applied)) == (200, {"a": 4, "b": 2})


async def test_only_the_counts_that_a_patch_changed_survive_leaving_them_out(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", replicas=2), role("b", replicas=3)]), "git")
    operation = {"op": "replace", "path": "/spec/roles/0/replicas", "value": 5}
    await api_server.json_patch([operation], params={"fieldManager": "scaler"})
    applied = await api_server.apply(widget(roles=[role("a"), role("b")]), "git")
    assert _replicas(applied) == {"a": 5, "b": 1}


async def test_applying_less_gives_fields_up(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a"), role("b")]), "git")
    both: list[Any] = [{"name": "a", "replicas": 4}, {"name": "b", "replicas": 2}]
    await api_server.apply(widget(roles=both), "scaler", force=True)
    applied = await api_server.apply(widget(roles=both[:1]), "scaler")
    assert _replicas(applied) == {"a": 4, "b": 1}


async def test_item_left_out_by_its_last_owner_goes_with_everything_below(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a"), role("b")]), "git")
    operation = {"op": "replace", "path": "/spec/roles/1/replicas", "value": 5}
    await api_server.json_patch([operation], params={"fieldManager": "scaler"})
    applied = await api_server.apply(widget(roles=[role("a")]), "git")
    assert _replicas(applied) == {"a": 1}


async def test_item_left_out_stays_stripped_while_another_applied_it(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a"), role("b", image="x")]), "git")
    counts: list[Any] = [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 3}]
    await api_server.apply(widget(roles=counts), "scaler", force=True)
    refused = await api_server.apply(widget(roles=[role("a")]), "git")
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert "instanceType" in refused.body["message"]


async def test_keyed_items_merge_by_name(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", image="x"), role("b", image="x")]), "git")
    applied = await api_server.apply(widget(roles=[{"name": "b", "image": "y"}]), "other", force=True)
    images = {item["name"]: item["image"] for item in applied.body["spec"]["roles"]}
    assert images == {"a": "x", "b": "y"}


async def test_atomic_list_is_owned_as_a_whole(api_server: Server) -> None:
    await api_server.apply(widget(plain=["a"]), "git")
    refused = await api_server.apply(widget(plain=["a", "b"]), "other")
    assert refused.status == 409
    assert refused.body["details"]["causes"][0]["field"] == ".spec.plain"
    taken = await api_server.apply(widget(plain=["b"]), "other", force=True)
    assert taken.body["spec"]["plain"] == ["b"]


async def test_metadata_is_owned_by_entry(api_server: Server) -> None:
    document = widget(size=2)
    document["metadata"] |= {"labels": {"a": "1"}, "annotations": {"x.example/y": "z"}, "finalizers": ["x.example/f"]}
    created = await api_server.apply(document, "git")
    assert owners(created)["git"]["f:metadata"]["f:labels"] == {"f:a": {}}
    await api_server.merge_patch({"metadata": {"labels": {"b": "2"}}})
    document["metadata"].pop("labels")
    document["metadata"].pop("finalizers")
    applied = await api_server.apply(document, "git")
    assert applied.body["metadata"]["labels"] == {"b": "2"}
    assert "finalizers" not in applied.body["metadata"]
    assert applied.body["metadata"]["annotations"] == {"x.example/y": "z"}


async def test_apply_needs_a_field_manager(api_server: Server) -> None:
    content = "application/apply-patch+yaml"
    refused = await api_server.call("PATCH", api_server.path("w"), widget(size=2), content=content)
    assert refused.status in (400, 422)
    assert "fieldManager" in refused.body["message"]


async def test_apply_refuses_undeclared_fields(api_server: Server) -> None:
    refused = await api_server.apply(widget(unknown=1), "git")
    assert refused.status >= 400
    assert ".spec.unknown: field not declared in schema" in refused.body["message"]


async def test_apply_dry_run_tells_the_result(api_server: Server) -> None:
    await api_server.apply(widget(roles=[role("a", replicas=4)]), "git")
    tried = await api_server.apply(widget(roles=[role("a")]), "git", params={"dryRun": "All"})
    assert _replicas(tried) == {"a": 1}
    assert _replicas(await api_server.get()) == {"a": 4}


async def test_apply_with_a_stale_version_conflicts(api_server: Server) -> None:
    created = await api_server.apply(widget(size=2), "git")
    await api_server.merge_patch({"metadata": {"labels": {"a": "b"}}})
    document = widget(size=3)
    document["metadata"]["resourceVersion"] = created.version
    assert (await api_server.apply(document, "git")).status == 409


async def test_empty_managed_fields_forget_the_owners_until_the_next_apply(api_server: Server) -> None:
    await api_server.apply(widget(size=2), "git")
    reset = await api_server.merge_patch({"metadata": {"managedFields": [{}]}})
    assert owners(reset) == {}
    edited = await api_server.merge_patch({"spec": {"mode": "Fast"}})
    assert owners(edited) == {}
    refused = await api_server.apply(widget(size=3), "other")
    assert refused.status == 409
    assert 'conflict with "before-first-apply"' in refused.body["message"]
