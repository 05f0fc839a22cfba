"""JSON patch and merge patch."""

from typing import Any

import pytest

from tests.conformance.widgets import Server, role, widget

TEST_FAILURE = "the server rejected our request due to an error in our request"


async def test_json_patch_applies_all_operations(api_server: Server) -> None:
    await api_server.create(widget(size=1, roles=[role("a"), role("b")]))
    patched = await api_server.json_patch(
        [
            {"op": "test", "path": "/spec/roles/1/name", "value": "b"},
            {"op": "replace", "path": "/spec/roles/1/replicas", "value": 7},
            {"op": "add", "path": "/metadata/annotations", "value": {"x.example/y": "z"}},
            {"op": "add", "path": "/metadata/annotations/a~1b", "value": "c"},
            {"op": "remove", "path": "/spec/size"},
        ]
    )
    assert patched.status == 200
    assert [item["replicas"] for item in patched.body["spec"]["roles"]] == [1, 7]
    assert patched.body["metadata"]["annotations"] == {"x.example/y": "z", "a/b": "c"}
    assert patched.body["spec"]["size"] == 3


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/spec/size", "value": 9}, id="other value"),
        pytest.param({"op": "test", "path": "/metadata/resourceVersion", "value": "1"}, id="other version"),
        pytest.param({"op": "test", "path": "/metadata/annotations/a", "value": "b"}, id="absent parent"),
        pytest.param({"op": "replace", "path": "/spec/nowhere/deep", "value": 1}, id="replace without a parent"),
        pytest.param({"op": "remove", "path": "/spec/mode"}, id="remove what is absent"),
        pytest.param({"op": "add", "path": "/spec/roles/9", "value": {}}, id="index beyond the list"),
    ],
)
async def test_json_patch_that_does_not_fit_is_unprocessable(api_server: Server, operation: Any) -> None:
    await api_server.create(widget(size=1, roles=[role("a")]))
    refused = await api_server.json_patch([operation, {"op": "replace", "path": "/spec/size", "value": 5}])
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert refused.body["message"] == TEST_FAILURE
    assert refused.body["details"] == {}
    assert (await api_server.get()).body["spec"]["size"] == 1


async def test_json_patch_test_compares_structures_and_null(api_server: Server) -> None:
    await api_server.create(widget(size=1, free={"a": [1, {"b": None}]}))
    passed = await api_server.json_patch(
        [
            {"op": "test", "path": "/spec/free", "value": {"a": [1, {"b": None}]}},
            {"op": "replace", "path": "/spec/size", "value": 2},
        ]
    )
    assert passed.status == 200


async def test_json_patch_test_of_null_means_absent(api_server: Server) -> None:
    document = widget(size=1)
    document["metadata"]["annotations"] = {"there": "x"}
    await api_server.create(document)
    grow = {"op": "replace", "path": "/spec/size", "value": 2}
    absent = {"op": "test", "path": "/metadata/annotations/absent", "value": None}
    assert (await api_server.json_patch([absent, grow])).status == 200
    there = {"op": "test", "path": "/metadata/annotations/there", "value": None}
    assert (await api_server.json_patch([there, grow])).status == 422
    unheld = {"op": "test", "path": "/metadata/labels/absent", "value": None}
    assert (await api_server.json_patch([unheld, grow])).status == 422


async def test_json_patch_replacing_the_version_with_a_stale_one_is_a_conflict(api_server: Server) -> None:
    created = await api_server.create(widget(size=1))
    await api_server.merge_patch({"spec": {"size": 2}})
    stale = {"op": "replace", "path": "/metadata/resourceVersion", "value": created.version}
    refused = await api_server.json_patch([stale, {"op": "replace", "path": "/spec/size", "value": 5}])
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")


async def test_patch_of_another_uid_is_invalid(api_server: Server) -> None:
    await api_server.create(widget(size=1))
    refused = await api_server.json_patch([{"op": "replace", "path": "/metadata/uid", "value": "other"}])
    assert (refused.status, set(refused.fields)) == (422, {"metadata.uid"})


async def test_unreadable_json_patch_is_a_bad_request(api_server: Server) -> None:
    await api_server.create(widget())
    assert (await api_server.json_patch({"op": "add"})).status == 400


async def test_merge_patch_merges_objects_and_replaces_lists(api_server: Server) -> None:
    await api_server.create(widget(size=2, tags={"a": "1", "b": "2"}, roles=[role("a"), role("b")]))
    patched = await api_server.merge_patch({"spec": {"tags": {"a": None, "c": "3"}, "roles": [role("b", replicas=4)]}})
    assert patched.body["spec"]["tags"] == {"b": "2", "c": "3"}
    assert patched.body["spec"]["roles"] == [role("b", replicas=4)]
    assert patched.body["spec"]["size"] == 2


async def test_merge_patch_with_a_stale_version_is_a_conflict(api_server: Server) -> None:
    created = await api_server.create(widget(size=1))
    await api_server.merge_patch({"spec": {"size": 2}})
    patch = {"metadata": {"resourceVersion": created.version}, "spec": {"size": 3}}
    assert (await api_server.merge_patch(patch)).status == 409


async def test_patch_of_an_absent_object_is_not_found(api_server: Server) -> None:
    assert (await api_server.merge_patch({"spec": {"size": 3}}, name="ghost")).status == 404
    assert (await api_server.json_patch([], name="ghost")).status == 404


async def test_custom_resources_take_no_strategic_merge_patch(api_server: Server) -> None:
    await api_server.create(widget())
    content = "application/strategic-merge-patch+json"
    refused = await api_server.call("PATCH", api_server.path("w"), {"spec": {"size": 2}}, content=content)
    assert refused.status == 415


async def test_built_in_kinds_merge_strategically(api_server: Server) -> None:
    path = f"/api/v1/namespaces/{api_server.namespace}/pods"
    containers = [{"name": "main", "image": "a"}, {"name": "side", "image": "b"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    assert (await api_server.call("POST", path, pod)).status == 201
    patch = {"spec": {"containers": [{"name": "main", "image": "c"}]}}
    content = "application/strategic-merge-patch+json"
    patched = await api_server.call("PATCH", f"{path}/p", patch, content=content)
    assert patched.status == 200
    images = {item["name"]: item["image"] for item in patched.body["spec"]["containers"]}
    assert images == {"main": "c", "side": "b"}


async def test_repeated_patch_is_a_quiet_success(api_server: Server) -> None:
    await api_server.create(widget(size=1))
    first = await api_server.json_patch([{"op": "replace", "path": "/spec/size", "value": 4}])
    second = await api_server.json_patch([{"op": "replace", "path": "/spec/size", "value": 4}])
    assert (second.status, second.version, second.generation) == (200, first.version, 2)
