import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest
from aiohttp import web

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.access import Endpoint, KubeConfig
from scaler_kube.client import DryRun, FieldConflicts, KubeClient, connect
from scaler_kube.resources import LEASES, NAMESPACES, PODS, deployments
from scaler_kube.transport import Timeouts
from scaler_kube.watch import EventType

KEY = ObjectKey("ns", "llm")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(handler: Handler, timeouts: Timeouts | None = None) -> AsyncIterator[KubeClient]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    endpoint = Endpoint(url=f"http://{host}:{port}", token="secret")
    try:
        async with await connect(endpoint, field_manager="scaler", user_agent="mds-test", timeouts=timeouts) as client:
            yield client
    finally:
        await runner.cleanup()


def answering(code: int, body: object, headers: dict[str, str] | None = None) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=code, text=text, headers=headers)

    return handler


class Recorder:
    """Answers every request with an empty object and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], str, str, str]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(
            (
                request.method,
                request.path,
                dict(request.query),
                request.headers["Content-Type"],
                await request.text(),
                f"{request.headers['User-Agent']} {request.headers['Authorization']}",
            )
        )
        return web.json_response({})


def status(code: int, message: str, **more: object) -> dict[str, object]:
    return {"kind": "Status", "status": "Failure", "code": code, "message": message, **more}


WRITE = {"fieldManager": "scaler", "timeout": "15s"}
TARGET = "/apis/worker.gpustack.ai/v1/namespaces/ns/modeldeployments/llm"


async def test_writes_name_their_manager_and_content_type() -> None:
    recorder = Recorder()
    async with served(recorder.answer) as client:
        await client.patch_json(deployments(), KEY, [{"op": "test", "path": "/a", "value": 1}], dry_run=DryRun.ALL)
        await client.patch_merge(deployments(), KEY, {"a": None}, subresource="status")
        await client.apply(deployments(), KEY, {"a": 1}, field_manager="counts", conflicts=FieldConflicts.FORCE)
        await client.create(NAMESPACES, "", {"b": 1})
        await client.replace_status(LEASES, KEY, {})
        await client.delete(PODS, KEY, uid="u1")
    credentials = "mds-test Bearer secret"
    delete = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u1"}}
    assert recorder.asked == [
        (
            "PATCH",
            TARGET,
            WRITE | {"dryRun": "All"},
            "application/json-patch+json",
            '[{"op": "test", "path": "/a", "value": 1}]',
            credentials,
        ),
        ("PATCH", f"{TARGET}/status", WRITE, "application/merge-patch+json", '{"a": null}', credentials),
        (
            "PATCH",
            TARGET,
            WRITE | {"fieldManager": "counts", "force": "true"},
            "application/apply-patch+yaml",
            '{"a": 1}',
            credentials,
        ),
        ("POST", "/api/v1/namespaces", WRITE, "application/json", '{"b": 1}', credentials),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases/llm/status",
            WRITE,
            "application/json",
            "{}",
            credentials,
        ),
        ("DELETE", "/api/v1/namespaces/ns/pods/llm", {}, "application/json", json.dumps(delete), credentials),
    ]


FAILED_TEST = status(422, errors.FAILED_TEST_MESSAGE, reason="Invalid", details={})
SCHEMA = status(422, "x is invalid", reason="Invalid", details={"causes": [{"field": "x"}]})
ABSENT = status(404, 'pods "llm" not found', reason="NotFound", details={"name": "llm", "kind": "pods"})


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        pytest.param(401, status(401, "Unauthorized"), errors.UnauthorizedError, id="credentials"),
        pytest.param(403, status(403, "no"), errors.ForbiddenError, id="permission"),
        pytest.param(404, ABSENT, errors.NotFoundError, id="absent"),
        pytest.param(409, status(409, "changed", reason="Conflict"), errors.ConflictError, id="conflict"),
        pytest.param(410, status(410, "too old", reason="Expired"), errors.GoneError, id="expired"),
        pytest.param(422, SCHEMA, errors.InvalidError, id="schema"),
        pytest.param(429, status(429, "slow down"), errors.TooManyRequestsError, id="throttled"),
        pytest.param(503, "oops", errors.UnavailableError, id="no-status-body"),
        pytest.param(415, status(415, "type"), errors.RejectedError, id="any-other"),
    ],
)
async def test_answers_become_errors_by_kind(code: int, body: object, kind: type[errors.KubeError]) -> None:
    async with served(answering(code, body)) as client:
        with pytest.raises(errors.KubeError) as caught:
            await client.get(PODS, KEY)
    assert type(caught.value) is kind
    assert caught.value.code == code
    assert str(caught.value).startswith(f"GET /api/v1/namespaces/ns/pods/llm: {code} ")


async def test_only_text_of_a_status_is_shown() -> None:
    async with served(answering(500, '{"password": "hunter2"}')) as client:
        with pytest.raises(errors.UnavailableError) as caught:
            await client.get(PODS, KEY)
    assert caught.value.message == "HTTP 500 without a Status body"


@pytest.mark.parametrize(
    ("body", "absent"),
    [
        pytest.param(ABSENT, True, id="details-name-the-object"),
        pytest.param("404 page not found", False, id="an-unserved-version-proves-nothing"),
        pytest.param(status(404, "no", details={"name": "other"}), False, id="details-name-another"),
    ],
)
async def test_absence(body: object, absent: bool) -> None:
    async with served(answering(404, body)) as client:
        with pytest.raises(errors.NotFoundError) as caught:
            await client.get(PODS, KEY)
    assert caught.value.is_absent("llm") is absent


@pytest.mark.parametrize(("body", "failed"), [(FAILED_TEST, True), (SCHEMA, False)])
async def test_a_failed_test_is_told_from_a_refusal(body: object, failed: bool) -> None:
    async with served(answering(422, body)) as client:
        with pytest.raises(errors.InvalidError) as caught:
            await client.patch_json(PODS, KEY, [])
    assert caught.value.is_failed_test is failed


async def test_throttling_tells_how_long() -> None:
    async with served(answering(429, status(429, "x"), {"Retry-After": "7"})) as client:
        with pytest.raises(errors.TooManyRequestsError) as caught:
            await client.get(PODS, KEY)
    assert caught.value.retry_after_seconds == 7


@pytest.mark.parametrize("text", ["1" * 5000, "9999999999", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_wait_that_nobody_means_is_not_understood(text: str) -> None:
    assert errors.parse_retry_after(text) is None
    body = {"kind": "Status", "details": {"retryAfterSeconds": 10**400}}
    assert errors.read_status(body).retry_after_seconds is None


@pytest.mark.parametrize(
    ("message", "unknown"),
    [
        pytest.param("etcdserver: request timed out", True, id="storage"),
        pytest.param('Internal error: failed calling webhook "x"', False, id="webhook-is-down"),
        pytest.param('admission webhook "x" denied the request: later', False, id="webhook-cannot-judge"),
    ],
)
async def test_a_server_error_before_storage_had_no_effect(message: str, unknown: bool) -> None:
    async with served(answering(500, status(500, message))) as client:
        with pytest.raises(errors.UnavailableError) as caught:
            await client.patch_merge(PODS, KEY, {})
        assert caught.value.may_have_happened is unknown
        with pytest.raises(errors.UnavailableError) as caught:
            await client.get(PODS, KEY)
        assert not caught.value.may_have_happened


async def hang(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    raise AssertionError


async def test_no_answer_within_the_read_timeout_leaves_a_write_unknown() -> None:
    async with served(hang, Timeouts(read=0.05)) as client:
        with pytest.raises(errors.UnavailableError, match="no answer in time") as caught:
            await client.patch_merge(PODS, KEY, {})
    assert caught.value.may_have_happened


async def test_a_write_is_not_awaited_beyond_its_deadline() -> None:
    async with served(hang) as client:
        deadline = asyncio.get_running_loop().time() + 0.05
        with pytest.raises(errors.UnavailableError, match="no answer in time"):
            await client.patch_merge(PODS, KEY, {}, deadline=deadline)


async def test_nothing_is_sent_after_the_deadline() -> None:
    recorder = Recorder()
    async with served(recorder.answer) as client:
        with pytest.raises(errors.UnavailableError, match="not sent") as caught:
            await client.patch_merge(PODS, KEY, {}, deadline=asyncio.get_running_loop().time())
    assert not caught.value.may_have_happened
    assert recorder.asked == []


async def test_a_refused_connection_had_no_effect() -> None:
    client = await connect(Endpoint(url="http://127.0.0.1:1", token="x"), field_manager="m", user_agent="u")
    async with client:
        with pytest.raises(errors.UnavailableError, match="no connection") as caught:
            await client.patch_merge(PODS, KEY, {})
    assert not caught.value.may_have_happened


async def test_an_environment_proxy_is_not_asked_for_a_loopback_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with served(answering(200, {"kind": "Pod"})) as client:
        assert await client.get(PODS, KEY) == {"kind": "Pod"}


async def test_a_listing_is_read_in_pages() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.query["limit"] == "2"
        assert request.query["labelSelector"] == "a=b"
        if "continue" not in request.query:
            page = {"items": [{"n": 1}, {"n": 2}], "metadata": {"resourceVersion": "9", "continue": "t"}}
        else:
            assert request.query["continue"] == "t"
            page = {"items": [{"n": 3}], "metadata": {"resourceVersion": "9"}}
        return web.json_response(page)

    async with served(handler) as client:
        listing = await client.list_all(PODS, namespace="ns", labels="a=b", limit=2)
    assert [item["n"] for item in listing.items] == [1, 2, 3]
    assert listing.items[0]["kind"] == "Pod"
    assert listing.resource_version == "9"


def line(kind: str, document: object) -> bytes:
    return json.dumps({"type": kind, "object": document}).encode() + b"\n"


async def test_a_watch_yields_events_of_any_size_until_the_server_ends_it() -> None:
    big = {"metadata": {"resourceVersion": "2"}, "data": "x" * 5_000_000}

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.query["resourceVersion"] == "1"
        assert request.query["timeoutSeconds"] == "30"
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", big) + line("BOOKMARK", {"metadata": {"resourceVersion": "3"}})[:20])
        await response.write(line("BOOKMARK", {"metadata": {"resourceVersion": "3"}})[20:] + b'{"half')
        return response

    async with served(handler) as client:
        events = [event async for event in client.watch(PODS, resource_version="1", timeout_seconds=30)]
    assert [(event.type, event.resource_version) for event in events] == [
        (EventType.ADDED, "2"),
        (EventType.BOOKMARK, "3"),
    ]


async def test_a_forgotten_moment_is_gone_whether_by_status_or_by_event() -> None:
    gone = status(410, "too old resource version", reason="Expired")

    async def handler(request: web.Request) -> web.StreamResponse:
        if request.query["resourceVersion"] == "1":
            return web.Response(body=line("ERROR", gone))
        return web.json_response(gone, status=410)

    async with served(handler) as client:
        for version in ("1", "2"):
            with pytest.raises(errors.GoneError):
                _ = [event async for event in client.watch(PODS, resource_version=version)]


async def test_a_silent_watch_counts_as_dead() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", {}))
        await asyncio.sleep(30)
        return response

    async with (
        served(handler) as client,
        aclosing(client.watch(PODS, resource_version="1", silence_seconds=0.05)) as events,
    ):
        assert (await anext(events)).type is EventType.ADDED
        with pytest.raises(errors.UnavailableError, match="no answer in time"):
            await anext(events)


async def test_discovery_lists_kinds_without_subresources() -> None:
    served_kinds = {"resources": [{"name": "pods", "kind": "Pod"}, {"name": "pods/status", "kind": "Pod"}]}
    async with served(answering(200, served_kinds)) as client:
        assert await client.discover("", "v1") == {"pods": "Pod"}
        assert await client.serves(PODS)
        assert not await client.serves(NAMESPACES)


async def test_an_unserved_group_has_no_kinds() -> None:
    async with served(answering(404, "404 page not found")) as client:
        assert not await client.serves(deployments())


async def test_a_missing_kubeconfig_says_what_to_set() -> None:
    with pytest.raises(errors.AccessError, match="kubeconfig '/nowhere' does not exist; set KUBECONFIG"):
        await connect(KubeConfig(path="/nowhere"), field_manager="m", user_agent="u")


@pytest.mark.parametrize("name", ["..", ".", "", "a/status", "a%2Fstatus", "a?x=1"])
async def test_a_name_cannot_reach_another_address(name: str) -> None:
    recorder = Recorder()
    async with served(recorder.answer) as client:
        with pytest.raises(ValueError, match="cannot stand in an address"):
            await client.get(PODS, ObjectKey("ns", name))
    assert recorder.asked == []
