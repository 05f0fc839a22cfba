"""Admission webhooks over TLS: what they are sent, and what becomes of their answers."""

import asyncio
import base64
import copy
import json
import ssl
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trustme
from aiohttp import web

from e2e.controlplane import webhook_configuration
from tests.conformance.widgets import GROUP, Document, Server, widget

Response = Document
Judge = Callable[[Document], Response]


@dataclass
class Webhook:
    """A webhook on loopback that keeps what it was sent; `judge` may be replaced."""

    authority: trustme.CA
    reviews: list[Document] = field(default_factory=list)
    judge: Judge = field(default=lambda request: {"allowed": True})
    url: str = ""
    queries: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a review."""
        review = await request.json()
        self.reviews.append(review)
        self.queries.append(request.query_string)
        response = {"uid": review["request"]["uid"], **self.judge(review["request"])}
        return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})

    @property
    def requests(self) -> list[Document]:
        """The requests in order."""
        return [review["request"] for review in self.reviews]


@pytest.fixture
async def webhook(api_server: Server) -> AsyncIterator[Webhook]:
    if api_server.webhook_host is None:
        pytest.skip("the cluster cannot reach this machine: set MDS_E2E_WEBHOOK_HOST")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(api_server.webhook_host).configure_cert(context)
    hook = Webhook(authority)
    application = web.Application()
    application.router.add_post("/{path:.*}", hook.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, api_server.webhook_host, 0, ssl_context=context)
    await site.start()
    hook.url = f"https://{api_server.webhook_host}:{runner.addresses[0][1]}"
    yield hook
    await runner.cleanup()


RULE = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["widgets"]}


@asynccontextmanager
async def _registered(
    server: Server, webhook: Webhook, kind: str = "Validating", *, url: str = "", **entry: Any
) -> AsyncIterator[None]:
    """The webhook asked for this test's Widgets; waits until the server has noticed."""
    marker = f"probe-{uuid.uuid4().hex[:8]}"
    full = {"name": "judge.gpustack.ai", "rules": [RULE], **entry}
    probe_rule = RULE | {"operations": ["CREATE"]}
    probe = {**full, "name": "probe.gpustack.ai", "rules": [probe_rule], "failurePolicy": "Fail"}
    seen: list[bool] = []
    original = webhook.judge

    def judge(request: Document) -> Response:
        if (request["object"] or {}).get("metadata", {}).get("labels", {}).get("probe") == marker:
            seen.append(True)
            return {"allowed": False, "status": {"message": "noticed"}}
        return original(request)

    webhook.judge = judge
    selector = {"objectSelector": {"matchLabels": {"probe": marker}}}
    base = url or webhook.url
    del probe["rules"]
    hooks = [full, {**probe, "rules": [probe_rule], **selector}]
    if url:
        hooks = [full]
    async with webhook_configuration(
        server.session, f"{kind}WebhookConfiguration", f"test-{marker}", hooks, url=base, authority=_pem(webhook)
    ):
        await _until_noticed(server, marker, seen, unreachable=bool(url))
        webhook.judge = original
        webhook.reviews.clear()
        webhook.queries.clear()
        yield


def _pem(webhook: Webhook) -> bytes:
    return webhook.authority.cert_pem.bytes()


async def _until_noticed(server: Server, marker: str, seen: list[bool], *, unreachable: bool) -> None:
    document = widget("probe", size=1)
    document["metadata"]["labels"] = {"probe": marker}
    async with asyncio.timeout(10):
        while True:
            answer = await server.create(document, params={"dryRun": "All"})
            if seen or (unreachable and answer.status != 201):
                return
            await asyncio.sleep(0.05)


def _patching(*operations: Document) -> Judge:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def _refusing(code: int | None = None, message: str = "no", **status: Any) -> Judge:
    body = {"message": message, **({"code": code} if code else {}), **status}
    return lambda request: {"allowed": False, "status": body}


async def test_review_of_a_create(api_server: Server, webhook: Webhook) -> None:
    async with _registered(api_server, webhook):
        created = await api_server.create(widget(size=2), params={"fieldManager": "tester"})
    assert webhook.reviews[0]["apiVersion"] == "admission.k8s.io/v1"
    assert webhook.queries[0] == "timeout=10s"
    request = webhook.requests[0]
    kind = {"group": GROUP, "version": "v1", "kind": "Widget"}
    resource = {"group": GROUP, "version": "v1", "resource": "widgets"}
    assert (request["kind"], request["requestKind"]) == (kind, kind)
    assert (request["resource"], request["requestResource"]) == (resource, resource)
    assert (request["name"], request["namespace"]) == ("w", api_server.namespace)
    assert (request["operation"], request["dryRun"], request["oldObject"]) == ("CREATE", False, None)
    assert request["options"]["kind"] == "CreateOptions"
    assert request["options"]["fieldManager"] == "tester"
    assert "system:authenticated" in request["userInfo"]["groups"]
    assert request["object"]["spec"] == created.body["spec"]
    assert request["object"]["metadata"]["uid"] == created.body["metadata"]["uid"]


@pytest.mark.parametrize("method", ["json_patch", "merge_patch", "apply", "replace"])
async def test_every_change_is_an_update_with_the_old_object(api_server: Server, webhook: Webhook, method: str) -> None:
    before = (await api_server.create(widget(size=2))).body
    async with _registered(api_server, webhook):
        await _change_size(api_server, method, before)
    request = webhook.requests[-1]
    assert (request["operation"], request["options"]["kind"]) == ("UPDATE", "UpdateOptions")
    assert (request["oldObject"]["spec"]["size"], request["object"]["spec"]["size"]) == (2, 5)
    assert request["oldObject"]["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def _change_size(server: Server, method: str, before: Document) -> None:
    after = copy.deepcopy(before)
    after["spec"]["size"] = 5
    if method == "json_patch":
        answer = await server.json_patch([{"op": "replace", "path": "/spec/size", "value": 5}])
    elif method == "merge_patch":
        answer = await server.merge_patch({"spec": {"size": 5}})
    elif method == "apply":
        answer = await server.apply(widget(size=5), "git", force=True)
    else:
        answer = await server.replace(after)
    assert answer.status == 200


async def test_status_and_delete_are_not_sent_unless_asked_for(api_server: Server, webhook: Webhook) -> None:
    await api_server.create(widget(size=2))
    async with _registered(api_server, webhook):
        await api_server.merge_patch({"status": {"phase": "a"}}, subresource="status")
        await api_server.delete()
    assert webhook.requests == []


async def test_delete_is_sent_with_the_old_object_when_asked_for(api_server: Server, webhook: Webhook) -> None:
    await api_server.create(widget(size=2))
    async with _registered(api_server, webhook, rules=[RULE | {"operations": ["*"]}]):
        await api_server.delete()
    request = webhook.requests[-1]
    assert (request["operation"], request["object"]) == ("DELETE", None)
    assert request["oldObject"]["spec"]["size"] == 2


async def test_write_in_another_version_arrives_in_the_version_of_the_rule(
    api_server: Server, webhook: Webhook
) -> None:
    async with _registered(api_server, webhook, rules=[RULE | {"apiVersions": ["v1"]}]):
        await api_server.create(widget(version="v1alpha1", size=2))
    request = webhook.requests[0]
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v1alpha1")
    assert request["object"]["apiVersion"] == f"{GROUP}/v1"


async def test_exact_rule_of_another_version_does_not_fire(api_server: Server, webhook: Webhook) -> None:
    rules = [RULE | {"apiVersions": ["v1"]}]
    async with _registered(api_server, webhook, rules=rules, matchPolicy="Exact"):
        created = await api_server.create(widget(version="v1alpha1", size=2))
    assert created.status == 201
    assert webhook.requests == []


async def test_impersonated_user_is_who_asks(api_server: Server, webhook: Webhook) -> None:
    headers = {"Impersonate-User": "alice", "Impersonate-Group": "system:masters"}
    async with _registered(api_server, webhook):
        await api_server.create(widget(size=2), headers=headers)
    user = webhook.requests[0]["userInfo"]
    assert user["username"] == "alice"
    assert set(user["groups"]) == {"system:masters", "system:authenticated"}


async def test_writes_that_meet_in_a_webhook_are_all_applied(api_server: Server, webhook: Webhook) -> None:
    await api_server.create(widget(tags={}))
    async with _registered(api_server, webhook):
        patches = (api_server.merge_patch({"spec": {"tags": {f"k{index}": "v"}}}) for index in range(3))
        answers = await asyncio.gather(*patches)
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert set((await api_server.get()).body["spec"]["tags"]) == {"k0", "k1", "k2"}


async def test_refusal_reaches_the_client_with_code_reason_and_causes(api_server: Server, webhook: Webhook) -> None:
    causes = [{"reason": "bound-counts", "field": "spec.size", "message": "owned"}]
    webhook.judge = _refusing(403, "spec.size: 2 -> 5 refused", reason="Forbidden", details={"causes": causes})
    async with _registered(api_server, webhook):
        refused = await api_server.create(widget(size=2))
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert (
        refused.body["message"] == 'admission webhook "judge.gpustack.ai" denied the request: spec.size: 2 -> 5 refused'
    )
    assert refused.body["details"]["causes"] == causes
    assert (await api_server.get()).status == 404


async def test_refusal_without_a_code_is_400(api_server: Server, webhook: Webhook) -> None:
    webhook.judge = lambda request: {"allowed": False}
    async with _registered(api_server, webhook):
        refused = await api_server.create(widget(size=2))
    assert refused.status == 400
    assert refused.body["message"] == 'admission webhook "judge.gpustack.ai" denied the request without explanation'


async def test_mutation_is_stored(api_server: Server, webhook: Webhook) -> None:
    webhook.judge = _patching({"op": "add", "path": "/metadata/annotations", "value": {"x.example/y": "z"}})
    async with _registered(api_server, webhook, "Mutating"):
        created = await api_server.create(widget(size=2))
    assert created.body["metadata"]["annotations"] == {"x.example/y": "z"}
    assert (await api_server.get()).body == created.body


async def test_mutating_webhook_sees_invalid_objects_and_no_generated_name(
    api_server: Server, webhook: Webhook
) -> None:
    webhook.judge = _patching({"op": "replace", "path": "/spec/size", "value": 7})
    document = widget(size=99)
    document["metadata"] = {"generateName": "made-"}
    async with _registered(api_server, webhook, "Mutating"):
        created = await api_server.create(document)
    assert (created.status, created.body["spec"]["size"]) == (201, 7)
    assert webhook.requests[0].get("name") in (None, "")
    assert webhook.requests[0]["object"]["spec"]["size"] == 99


async def test_validating_webhook_is_not_asked_about_invalid_objects(api_server: Server, webhook: Webhook) -> None:
    async with _registered(api_server, webhook):
        refused = await api_server.create(widget(size=99))
    assert refused.status == 422
    assert webhook.requests == []


async def test_validating_webhook_judges_what_the_mutating_one_made(api_server: Server, webhook: Webhook) -> None:
    def judge(request: Document) -> Response:
        seen.append(request["object"]["spec"]["size"])
        return (
            _patching({"op": "replace", "path": "/spec/size", "value": 8})(request)
            if len(seen) == 1
            else {"allowed": True}
        )

    seen: list[int] = []
    async with _registered(api_server, webhook, "Mutating"), _registered(api_server, webhook, "Validating"):
        webhook.judge = judge
        await api_server.create(widget(size=2))
    assert seen == [2, 8]


async def test_dry_run_is_reviewed_as_such(api_server: Server, webhook: Webhook) -> None:
    async with _registered(api_server, webhook):
        await api_server.create(widget(size=2), params={"dryRun": "All"})
    assert webhook.requests[0]["dryRun"] is True


async def test_warnings_reach_the_client_with_and_without_a_refusal(api_server: Server, webhook: Webhook) -> None:
    webhook.judge = lambda request: {"allowed": True, "warnings": ["spec.size: large", "broken\nline"]}
    async with _registered(api_server, webhook):
        created = await api_server.create(widget(size=2))
        webhook.judge = lambda request: {"allowed": False, "warnings": ["with a refusal"]}
        refused = await api_server.create(widget("x", size=2))
    assert created.warnings == ("spec.size: large",)
    assert refused.warnings == ("with a refusal",)


async def test_unreachable_webhook_refuses_when_it_fails_closed(api_server: Server, webhook: Webhook) -> None:
    async with _registered(api_server, webhook, url="https://127.0.0.1:1"):
        refused = await api_server.create(widget(size=2))
    assert (refused.status, refused.body["reason"]) == (500, "InternalError")
    assert refused.body["message"].startswith('Internal error occurred: failed calling webhook "judge.gpustack.ai": ')


async def test_unreachable_webhook_is_passed_over_when_it_fails_open(api_server: Server, webhook: Webhook) -> None:
    config = {"name": "judge.gpustack.ai", "rules": [RULE], "failurePolicy": "Ignore"}
    kind, name = "ValidatingWebhookConfiguration", f"open-{uuid.uuid4().hex[:8]}"
    async with webhook_configuration(
        api_server.session, kind, name, [config], url="https://127.0.0.1:1", authority=_pem(webhook)
    ):
        assert (await api_server.create(widget(size=2))).status == 201


async def test_untrusted_certificate_is_a_failure(api_server: Server, webhook: Webhook) -> None:
    trusted, webhook.authority = webhook.authority, trustme.CA()
    async with _registered(api_server, webhook, url=webhook.url):
        refused = await api_server.create(widget(size=2))
    webhook.authority = trusted
    assert refused.status == 500
    assert webhook.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"uid": "another", "allowed": True}, id="another uid"),
        pytest.param({"allowed": True, "patchType": "JSONPatch", "patch": "aaa"}, id="unreadable patch"),
    ],
)
async def test_unusable_answer_is_a_failure(api_server: Server, webhook: Webhook, answer: Document) -> None:
    webhook.judge = lambda request: answer
    async with _registered(api_server, webhook, "Mutating"):
        refused = await api_server.create(widget(size=2))
    assert (refused.status, refused.body["reason"]) == (500, "InternalError")
