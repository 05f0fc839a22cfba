"""Creating, replacing and deleting objects."""

import asyncio

import pytest

from tests.conformance.widgets import GROUP, Server, widget


async def test_created_object_carries_system_metadata(api_server: Server) -> None:
    created = await api_server.create(widget(size=2))
    assert created.status == 201
    metadata = created.body["metadata"]
    assert metadata["generation"] == 1
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["namespace"] == api_server.namespace
    assert (await api_server.get()).body == created.body


async def test_create_ignores_status_and_foreign_system_metadata(api_server: Server) -> None:
    document = widget(size=2) | {"status": {"phase": "Ready"}}
    document["metadata"] |= {"uid": "mine", "generation": 7}
    created = await api_server.create(document)
    assert created.status == 201
    assert "status" not in created.body
    assert created.generation == 1
    assert created.body["metadata"]["uid"] != "mine"


async def test_taken_name_is_already_exists(api_server: Server) -> None:
    await api_server.create(widget())
    again = await api_server.create(widget())
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")
    assert again.body["message"] == f'widgets.{GROUP} "w" already exists'
    assert again.body["details"] == {"name": "w", "group": GROUP, "kind": "widgets"}


async def test_absent_object_is_not_found_with_its_name(api_server: Server) -> None:
    absent = await api_server.get("nobody")
    assert (absent.status, absent.body["reason"]) == (404, "NotFound")
    assert absent.body["message"] == f'widgets.{GROUP} "nobody" not found'
    assert absent.body["details"] == {"name": "nobody", "group": GROUP, "kind": "widgets"}


async def test_unserved_path_is_a_plain_page_not_found(api_server: Server) -> None:
    answer = await api_server.call("GET", f"/apis/{GROUP}/v9/widgets")
    assert (answer.status, str(answer.body).strip()) == (404, "404 page not found")


async def test_generated_names_are_unique(api_server: Server) -> None:
    document = widget()
    document["metadata"] = {"generateName": "made-"}
    names = {(await api_server.create(document)).body["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("made-") and len(name) == len("made-") + 5 for name in names)


async def test_namespace_must_exist(api_server: Server) -> None:
    path = api_server.path().replace(api_server.namespace, "no-such-namespace")
    answer = await api_server.call("POST", path, widget())
    assert (answer.status, answer.body["details"]["kind"]) == (404, "namespaces")


async def test_body_of_another_name_or_namespace_is_a_bad_request(api_server: Server) -> None:
    created = (await api_server.create(widget())).body
    renamed = created | {"metadata": created["metadata"] | {"name": "other"}}
    assert (await api_server.call("PUT", api_server.path("w"), renamed)).status == 400
    moved = widget("x")
    moved["metadata"]["namespace"] = "default"
    assert (await api_server.create(moved)).status == 400


async def test_name_must_be_a_dns_subdomain(api_server: Server) -> None:
    refused = await api_server.create(widget("Not_A_Name"))
    assert (refused.status, refused.fields) == (422, ["metadata.name"])


async def test_versions_rise_with_every_write(api_server: Server) -> None:
    first = await api_server.create(widget("a"))
    second = await api_server.create(widget("b"))
    third = await api_server.merge_patch({"spec": {"size": 4}}, name="a")
    assert int(first.version) < int(second.version) < int(third.version)


async def test_stale_version_is_a_conflict(api_server: Server) -> None:
    created = (await api_server.create(widget(size=1))).body
    await api_server.merge_patch({"spec": {"size": 2}})
    stale = await api_server.replace(created | {"spec": {"size": 3}})
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")
    assert stale.body["message"].startswith(f'Operation cannot be fulfilled on widgets.{GROUP} "w": ')
    assert (await api_server.get()).body["spec"]["size"] == 2


async def test_replacement_of_a_custom_resource_needs_a_version(api_server: Server) -> None:
    await api_server.create(widget())
    refused = await api_server.replace(widget(size=5))
    assert (refused.status, refused.fields) == (422, ["metadata.resourceVersion"])


async def test_replacement_with_another_uid_is_a_conflict(api_server: Server) -> None:
    created = (await api_server.create(widget())).body
    created["metadata"]["uid"] = "another"
    assert (await api_server.replace(created)).status == 409


async def test_replacing_an_absent_object_is_not_found(api_server: Server) -> None:
    document = widget("ghost")
    document["metadata"]["resourceVersion"] = "1"
    assert (await api_server.replace(document)).status == 404


async def test_generation_rises_with_spec_only(api_server: Server) -> None:
    await api_server.create(widget(size=1))
    assert (await api_server.merge_patch({"metadata": {"labels": {"a": "b"}}})).generation == 1
    assert (await api_server.merge_patch({"status": {"phase": "x"}}, subresource="status")).generation == 1
    assert (await api_server.merge_patch({"spec": {"size": 1}})).generation == 1
    assert (await api_server.merge_patch({"spec": {"size": 2}})).generation == 2
    both = {"spec": {"size": 3}, "metadata": {"annotations": {"a": "b"}}}
    assert (await api_server.merge_patch(both)).generation == 3


async def test_main_resource_keeps_the_status(api_server: Server) -> None:
    await api_server.create(widget(size=1))
    await api_server.merge_patch({"status": {"phase": "Ready"}}, subresource="status")
    stored = (await api_server.get()).body
    written = await api_server.replace(stored | {"spec": {"size": 2}, "status": {"phase": "Forged"}})
    assert (written.status, written.body["status"], written.body["spec"]["size"]) == (200, {"phase": "Ready"}, 2)


async def test_main_resource_cannot_begin_a_status(api_server: Server) -> None:
    await api_server.create(widget(size=1))
    written = await api_server.merge_patch({"spec": {"size": 2}, "status": {"phase": "Forged"}})
    assert (written.status, "status" in written.body) == (200, False)


async def test_status_writes_change_nothing_else(api_server: Server) -> None:
    await api_server.create(widget(size=1))
    stored = (await api_server.get()).body
    forged = stored | {"spec": {"size": 9}, "status": {"phase": "Ready"}}
    forged["metadata"] = stored["metadata"] | {"labels": {"a": "b"}, "finalizers": ["x.example/y"]}
    written = await api_server.replace(forged, "status")
    assert written.status == 200
    assert (written.body["spec"]["size"], written.body["status"]) == (1, {"phase": "Ready"})
    assert "labels" not in written.body["metadata"]
    assert "finalizers" not in written.body["metadata"]
    assert (await api_server.call("GET", api_server.path("w", "status"))).body["status"] == {"phase": "Ready"}


@pytest.mark.parametrize("subresource", ["", "status"])
async def test_write_that_changes_nothing_keeps_the_version(api_server: Server, subresource: str) -> None:
    await api_server.create(widget(size=1))
    before = await api_server.merge_patch({"status": {"phase": "Ready"}}, subresource="status")
    same = {"status": {"phase": "Ready"}} if subresource else {"spec": {"size": 1}}
    after = await api_server.merge_patch(same, subresource=subresource)
    assert (after.status, after.version) == (200, before.version)
    assert (await api_server.replace(before.body, subresource)).version == before.version


async def test_finalizer_holds_a_deleted_object(api_server: Server) -> None:
    document = widget(size=1)
    document["metadata"]["finalizers"] = ["x.example/hold"]
    await api_server.create(document)
    deleted = await api_server.delete()
    assert deleted.status == 200
    held = await api_server.get()
    assert held.body["metadata"]["deletionTimestamp"]
    assert held.generation == 2
    added = await api_server.merge_patch({"metadata": {"finalizers": ["x.example/hold", "x.example/more"]}})
    assert (added.status, set(added.fields)) == (422, {"metadata.finalizers"})
    edited = await api_server.merge_patch({"metadata": {"labels": {"a": "b"}}})
    assert edited.status == 200
    freed = await api_server.merge_patch({"metadata": {"finalizers": None}})
    assert freed.status == 200
    assert (await api_server.get()).status == 404


async def test_deleting_twice_keeps_the_first_time(api_server: Server) -> None:
    document = widget()
    document["metadata"]["finalizers"] = ["x.example/hold"]
    await api_server.create(document)
    await api_server.delete()
    first = await api_server.get()
    await api_server.delete()
    again = await api_server.get()
    assert again.body["metadata"]["deletionTimestamp"] == first.body["metadata"]["deletionTimestamp"]
    assert again.version == first.version
    await api_server.merge_patch({"metadata": {"finalizers": None}})


async def test_deletion_answers_success_with_the_uid(api_server: Server) -> None:
    uid = (await api_server.create(widget())).body["metadata"]["uid"]
    deleted = await api_server.delete()
    assert (deleted.status, deleted.body["kind"], deleted.body["status"]) == (200, "Status", "Success")
    assert deleted.body["details"] == {"name": "w", "group": GROUP, "kind": "widgets", "uid": uid}
    assert (await api_server.delete()).status == 404


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
async def test_deletion_keeps_to_its_preconditions(api_server: Server, field: str) -> None:
    created = (await api_server.create(widget())).body
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {field: "99999999"}}
    refused = await api_server.delete(body=options)
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    options["preconditions"] = {field: created["metadata"][field]}
    assert (await api_server.delete(body=options)).status == 200


async def test_deletion_of_a_collection_honours_the_selector(api_server: Server) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        document = widget(name)
        document["metadata"]["labels"] = {"colour": colour}
        await api_server.create(document)
    deleted = await api_server.call("DELETE", api_server.path(), params={"labelSelector": "colour=red"})
    assert deleted.status == 200
    left = await api_server.call("GET", api_server.path())
    assert [item["metadata"]["name"] for item in left.body["items"]] == ["b"]


async def test_both_versions_show_one_object(api_server: Server) -> None:
    created = await api_server.create(widget(version="v1alpha1", size=2))
    assert created.body["apiVersion"] == f"{GROUP}/v1alpha1"
    stored = await api_server.get()
    assert stored.body["apiVersion"] == f"{GROUP}/v1"
    assert stored.body["metadata"]["uid"] == created.body["metadata"]["uid"]
    assert stored.version == created.version


async def test_dry_run_stores_nothing(api_server: Server) -> None:
    tried = await api_server.create(widget(size=2), params={"dryRun": "All"})
    assert (tried.status, tried.body["spec"]["size"]) == (201, 2)
    assert (await api_server.get()).status == 404
    before = await api_server.create(widget(size=2))
    patched = await api_server.merge_patch({"spec": {"size": 5}}, params={"dryRun": "All"})
    assert (patched.status, patched.body["spec"]["size"]) == (200, 5)
    assert (await api_server.delete(params={"dryRun": "All"})).status == 200
    assert (await api_server.get()).body == before.body


async def test_unsupported_dry_run_is_refused(api_server: Server) -> None:
    refused = await api_server.create(widget(), params={"dryRun": "Some"})
    assert refused.status == 422


async def test_writes_of_one_object_at_once_are_all_applied_or_refused(api_server: Server) -> None:
    await api_server.create(widget(tags={}))
    answers = await asyncio.gather(
        *(api_server.merge_patch({"spec": {"tags": {f"k{index}": "v"}}}) for index in range(4))
    )
    applied = sum(answer.status == 200 for answer in answers)
    assert all(answer.status in (200, 409) for answer in answers)
    assert len((await api_server.get()).body["spec"]["tags"]) == applied
