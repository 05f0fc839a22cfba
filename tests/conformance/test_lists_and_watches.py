"""Lists by selector and page, and watches from now, from a version, and from too far back."""

import asyncio

import pytest

from tests.conformance.widgets import Server, widget


async def _create(api_server: Server, *names: str, **labels: str) -> None:
    for name in names:
        document = widget(name)
        document["metadata"]["labels"] = labels
        assert (await api_server.create(document)).status == 201


async def _listed(api_server: Server, **params: str) -> list[str]:
    answer = await api_server.call("GET", api_server.path(), params=params)
    assert answer.status == 200
    return [item["metadata"]["name"] for item in answer.body["items"]]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        pytest.param("colour=red", ["a", "b"], id="equals"),
        pytest.param("colour==red,size=big", ["a"], id="and"),
        pytest.param("colour!=red", ["c", "d"], id="differs or is absent"),
        pytest.param("colour in (red, blue)", ["a", "b", "c"], id="in a set"),
        pytest.param("colour notin (red),size", ["c"], id="not in a set, and present"),
        pytest.param("!colour", ["d"], id="absent"),
        pytest.param("size", ["a", "c"], id="present"),
    ],
)
async def test_label_selectors(api_server: Server, selector: str, names: list[str]) -> None:
    await _create(api_server, "a", colour="red", size="big")
    await _create(api_server, "b", colour="red")
    await _create(api_server, "c", colour="blue", size="small")
    await _create(api_server, "d")
    assert await _listed(api_server, labelSelector=selector) == names


async def test_field_selectors_of_a_custom_resource(api_server: Server) -> None:
    await _create(api_server, "a", "b")
    assert await _listed(api_server, fieldSelector="metadata.name=b") == ["b"]
    assert await _listed(api_server, fieldSelector=f"metadata.namespace={api_server.namespace}") == ["a", "b"]
    refused = await api_server.call("GET", api_server.path(), params={"fieldSelector": "spec.size=3"})
    assert refused.status == 400


async def test_unreadable_selector_is_a_bad_request(api_server: Server) -> None:
    refused = await api_server.call("GET", api_server.path(), params={"labelSelector": "a in b"})
    assert refused.status == 400


async def test_list_names_its_kind_and_version(api_server: Server) -> None:
    created = await api_server.create(widget())
    answer = await api_server.call("GET", api_server.path())
    assert answer.body["kind"] == "WidgetList"
    assert answer.body["apiVersion"] == created.body["apiVersion"]
    assert int(answer.version) >= int(created.version)


async def test_pages_show_the_moment_of_the_first(api_server: Server) -> None:
    await _create(api_server, "a", "b", "c", "d", "e")
    first = await api_server.call("GET", api_server.path(), params={"limit": "2"})
    assert first.body["metadata"]["remainingItemCount"] == 3
    await api_server.delete("c")
    await _create(api_server, "cc")
    names, token = [item["metadata"]["name"] for item in first.body["items"]], first.body["metadata"]["continue"]
    while token:
        page = await api_server.call("GET", api_server.path(), params={"limit": "2", "continue": token})
        assert page.version == first.version
        names += [item["metadata"]["name"] for item in page.body["items"]]
        token = page.body["metadata"].get("continue", "")
    assert names == ["a", "b", "c", "d", "e"]


async def test_unreadable_continue_token_is_a_bad_request(api_server: Server) -> None:
    assert (await api_server.call("GET", api_server.path(), params={"continue": "junk", "limit": "1"})).status == 400


async def test_watch_from_a_version_replays_what_came_after(api_server: Server) -> None:
    await _create(api_server, "before")
    version = (await api_server.call("GET", api_server.path())).version
    await _create(api_server, "a")
    await api_server.merge_patch({"spec": {"size": 2}}, name="a")
    await api_server.delete("before")
    async with api_server.watch(resourceVersion=version) as watch:
        assert await watch.names(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "before")]
        await _create(api_server, "live")
        assert await watch.names(1) == [("ADDED", "live")]


async def test_watch_without_a_version_begins_with_what_is_there(api_server: Server) -> None:
    await _create(api_server, "a", "b")
    async with api_server.watch() as watch:
        assert sorted(await watch.names(2)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_deleted_event_carries_a_newer_version(api_server: Server) -> None:
    created = await api_server.create(widget("a", size=2))
    async with api_server.watch(resourceVersion=created.version) as watch:
        await api_server.delete("a")
        event = await watch.next()
    assert event["type"] == "DELETED"
    assert event["object"]["spec"]["size"] == 2
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(created.version)


async def test_watch_with_a_selector_sees_objects_come_and_go(api_server: Server) -> None:
    version = (await api_server.call("GET", api_server.path())).version
    async with api_server.watch(resourceVersion=version, labelSelector="colour=red") as watch:
        await _create(api_server, "other", colour="blue")
        await _create(api_server, "a", colour="red")
        await api_server.merge_patch({"metadata": {"labels": {"colour": "blue"}}}, name="a")
        await api_server.merge_patch({"metadata": {"labels": {"colour": "red"}}}, name="other")
        assert await watch.names(3) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "other")]


async def test_watch_of_one_name(api_server: Server) -> None:
    version = (await api_server.call("GET", api_server.path())).version
    async with api_server.watch(resourceVersion=version, fieldSelector="metadata.name=b") as watch:
        await _create(api_server, "a", "b")
        assert await watch.names(1) == [("ADDED", "b")]


async def test_no_event_for_a_write_that_changed_nothing(api_server: Server) -> None:
    created = await api_server.create(widget("a", size=1))
    async with api_server.watch(resourceVersion=created.version) as watch:
        await api_server.merge_patch({"spec": {"size": 1}}, name="a")
        await api_server.merge_patch({"spec": {"size": 2}}, name="a")
        event = await watch.next()
    assert event["object"]["spec"]["size"] == 2


async def test_watch_ends_after_its_timeout_and_sends_a_bookmark_before(api_server: Server) -> None:
    created = await api_server.create(widget("a"))
    options = {"allowWatchBookmarks": "true", "timeoutSeconds": "4"}
    async with api_server.watch(resourceVersion=created.version, **options) as watch:
        event = await watch.next()
        assert event["type"] == "BOOKMARK"
        assert event["object"]["kind"] == "Widget"
        assert int(event["object"]["metadata"]["resourceVersion"]) >= int(created.version)
        assert await watch.is_over(passing="BOOKMARK")


async def test_watch_without_bookmarks_just_ends(api_server: Server) -> None:
    created = await api_server.create(widget("a"))
    async with asyncio.timeout(8), api_server.watch(resourceVersion=created.version, timeoutSeconds="1") as watch:
        assert await watch.is_over()


async def test_watch_from_forgotten_history_is_gone(api_server: Server) -> None:
    await _create(api_server, "a")
    api_server.compact()
    async with api_server.watch(resourceVersion="1") as watch:
        assert watch.status == 200
        event = await watch.next()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_watch_of_an_unreadable_version_is_refused(api_server: Server) -> None:
    async with api_server.watch(resourceVersion="junk") as watch:
        assert watch.status >= 400


async def test_status_watch_of_another_version_speaks_it(api_server: Server) -> None:
    created = await api_server.create(widget("a"))
    path = api_server.path(version="v1alpha1")
    await api_server.merge_patch({"spec": {"size": 2}}, name="a")
    params = {"watch": "1", "resourceVersion": created.version}
    async with api_server.session.get(path, params=params) as response:
        line = await response.content.readline()
    assert b'"apiVersion":"conformance.gpustack.ai/v1alpha1"' in line
