"""What the embedded cluster offers beyond a real one: handles, users, faults, counters, an audit log."""

import asyncio
import json
import signal
import ssl
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
import yaml
from aiohttp import web

from scaler_sim.apiserver import (
    Answer,
    Call,
    ClusterSettings,
    Delay,
    Drop,
    EmbeddedCluster,
    Fault,
    StatusError,
    User,
    neighbour_definitions,
)

ROLES = [{"name": "prefill", "kind": "Prefill", "instanceType": "h100"}]
DEPLOYMENT = {
    "apiVersion": "worker.gpustack.ai/v1",
    "kind": "ModelDeployment",
    "metadata": {"name": "llm", "namespace": "default"},
    "spec": {"model": {"name": "m"}, "engine": {"name": "vLLM"}, "roles": ROLES},
}
PATH = "/apis/worker.gpustack.ai/v1/namespaces/default/modeldeployments"


def _cluster(**settings: Any) -> EmbeddedCluster:
    return EmbeddedCluster(ClusterSettings(definitions=neighbour_definitions(), **settings))


def _is_patch(call: Call) -> bool:
    return call.verb == "patch"


async def _patch(session: aiohttp.ClientSession, size: int, headers: dict[str, str] | None = None) -> int:
    content = {"Content-Type": "application/merge-patch+json"}
    body = f'{{"metadata": {{"labels": {{"size": "{size}"}}}}}}'
    async with session.patch(f"{PATH}/llm", data=body, headers=content | (headers or {})) as response:
        return response.status


async def _is_cut(response: aiohttp.ClientResponse) -> bool:
    try:
        return await response.content.read() == b""
    except aiohttp.ClientError:
        return True


async def test_objects_survive_a_restart_and_watches_do_not() -> None:
    cluster = _cluster()
    await cluster.start()
    url = cluster.url
    await cluster.create(DEPLOYMENT)
    async with aiohttp.ClientSession(url) as session:
        async with session.get(f"{PATH}?watch=1") as watch:
            assert b"ADDED" in await watch.content.readline()
            await cluster.stop()
            assert await _is_cut(watch)
        await cluster.start()
        assert cluster.url == url
        async with session.get(f"{PATH}/llm") as response:
            assert response.status == 200
    await cluster.stop()


async def test_serves_tls_with_its_own_authority(tmp_path: Path) -> None:
    async with _cluster(serves_tls=True) as cluster:
        assert cluster.url.startswith("https://127.0.0.1:")
        connector = aiohttp.TCPConnector(ssl=cluster.client_context() or False)
        async with (
            aiohttp.ClientSession(cluster.url, connector=connector) as session,
            session.get("/readyz") as response,
        ):
            assert response.status == 200
        config = yaml.safe_load(cluster.kubeconfig(tmp_path / "kubeconfig").read_text())
    assert "certificate-authority-data" in config["clusters"][0]["cluster"]


async def test_kubeconfig_carries_the_token(tmp_path: Path) -> None:
    async with _cluster() as cluster:
        path = cluster.kubeconfig(tmp_path / "kubeconfig", token=cluster.token("alice"))
        config = yaml.safe_load(path.read_text())
        token = config["users"][0]["user"]["token"]
        async with aiohttp.ClientSession(cluster.url, headers={"Authorization": f"Bearer {token}"}) as session:
            await session.get(PATH)
        assert path.is_absolute()
        assert path.stat().st_mode & 0o077 == 0
        assert cluster.ledger.count(verb="list", resource="modeldeployments", user="alice") == 1


async def test_nobody_may_ask_without_a_token_when_nobody_is_anonymous() -> None:
    async with _cluster(anonymous=None, tokens={"t": User(username="u")}) as cluster:
        async with aiohttp.ClientSession(cluster.url) as session, session.get(PATH) as response:
            assert response.status == 401
        headers = {"Authorization": "Bearer t"}
        async with aiohttp.ClientSession(cluster.url, headers=headers) as session, session.get(PATH) as response:
            assert response.status == 200


async def test_service_account_tokens_are_made_on_request() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        path = "/api/v1/namespaces/default/serviceaccounts/scaler/token"
        async with session.post(path, json={"spec": {"expirationSeconds": 600}}) as response:
            token = (await response.json())["status"]["token"]
        async with session.get(PATH, headers={"Authorization": f"Bearer {token}"}) as response:
            assert response.status == 200
        assert cluster.ledger.count(user="system:serviceaccount:default:scaler") == 1


async def test_ledger_counts_requests_and_keeps_writes() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url, headers={"User-Agent": "mds/1"}) as session:
        headers = {"Authorization": f"Bearer {cluster.token('alice')}"}
        await session.post(PATH, json=DEPLOYMENT, headers=headers)
        await session.post(PATH, json=DEPLOYMENT, headers=headers)
        await _patch(session, 1)
        writes = cluster.ledger.writes_by("alice")
        assert [(write.verb, write.code, write.manager) for write in writes] == [
            ("create", 201, "mds"),
            ("create", 409, "mds"),
        ]
        assert writes[1].body == DEPLOYMENT
        assert cluster.ledger.count(verb="patch") == 1
        assert cluster.ledger.count(resource="modeldeployments") == 3
        assert cluster.ledger.count(resource="pods") == 0


async def test_fault_answers_as_often_as_told() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        await cluster.create(DEPLOYMENT)
        answer = Answer(code=429, reason="TooManyRequests", headers={"Retry-After": "1"})
        with cluster.faults.active(Fault(when=_is_patch, does=answer, times=2)) as fault:
            assert [await _patch(session, size) for size in range(3)] == [429, 429, 200]
        assert fault.hits == 2
        stored = cluster.get("modeldeployments", "default", "llm")
        assert stored is not None
        assert stored["metadata"]["labels"] == {"size": "2"}


@pytest.mark.parametrize(
    ("drop", "labels"),
    [
        pytest.param(Drop.BEFORE_EFFECT, None, id="a request cut before its effect has none"),
        pytest.param(Drop.AFTER_EFFECT, {"size": "1"}, id="a request cut after its effect has it"),
    ],
)
async def test_dropped_connection(drop: Drop, labels: dict[str, str] | None) -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        await cluster.create(DEPLOYMENT)
        with cluster.faults.active(Fault(when=_is_patch, does=drop)), pytest.raises(aiohttp.ClientConnectionError):
            await _patch(session, 1)
        stored = cluster.get("modeldeployments", "default", "llm")
        assert stored is not None
        assert stored["metadata"].get("labels") == labels


async def test_delayed_request_is_served_later() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        await cluster.create(DEPLOYMENT)
        loop = asyncio.get_running_loop()
        with cluster.faults.active(Fault(when=_is_patch, does=Delay(0.05))):
            began = loop.time()
            assert await _patch(session, 1) == 200
            assert loop.time() - began >= 0.05


async def test_compaction_ends_watches_from_the_past_and_pages() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        for name in ("a", "b"):
            created = await cluster.create(DEPLOYMENT | {"metadata": {"name": name}})
        async with session.get(PATH, params={"limit": "1"}) as response:
            token = (await response.json())["metadata"]["continue"]
        await cluster.create(DEPLOYMENT | {"metadata": {"name": "c"}})
        cluster.compact()
        async with session.get(PATH, params={"limit": "1", "continue": token}) as response:
            assert response.status == 410
        version = created["metadata"]["resourceVersion"]
        async with session.get(PATH, params={"watch": "1", "resourceVersion": version}) as response:
            event = await response.json(content_type=None)
        assert event["object"]["code"] == 410


async def test_history_window_forgets_old_changes() -> None:
    async with _cluster(history=2) as cluster, aiohttp.ClientSession(cluster.url) as session:
        created = await cluster.create(DEPLOYMENT)
        for size in range(3):
            await _patch(session, size)
        version = created["metadata"]["resourceVersion"]
        async with session.get(PATH, params={"watch": "1", "resourceVersion": version}) as response:
            assert (await response.json(content_type=None))["type"] == "ERROR"


async def test_bookmarks_come_at_the_asked_pace() -> None:
    async with _cluster(bookmark_seconds=0.02) as cluster, aiohttp.ClientSession(cluster.url) as session:
        params = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": str(cluster.store.version)}
        async with session.get(PATH, params=params) as response:
            lines = [await response.content.readline() for _ in range(3)]
    assert all(b'"type":"BOOKMARK"' in line for line in lines)


async def test_streamed_list_ends_with_a_marked_bookmark() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        await cluster.create(DEPLOYMENT)
        params = {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with session.get(PATH, params=params | {"allowWatchBookmarks": "true"}) as response:
            added, end = [json.loads(await response.content.readline()) for _ in range(2)]
        assert added["type"] == "ADDED"
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"] == {
            "resourceVersion": str(cluster.store.version),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }


async def test_namespace_takes_its_content_along_and_waits_for_finalizers() -> None:
    async with _cluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        held = {"name": "held", "namespace": "team", "finalizers": ["x.example/y"]}
        await cluster.create(DEPLOYMENT | {"metadata": held})
        await cluster.create(DEPLOYMENT | {"metadata": {"name": "free", "namespace": "team"}})
        await session.delete("/api/v1/namespaces/team")
        assert [item["metadata"]["name"] for item in cluster.find("modeldeployments", "team")] == ["held"]
        with pytest.raises(StatusError, match="being terminated"):
            await cluster.create(DEPLOYMENT | {"metadata": {"name": "late", "namespace": "team"}})
        path = PATH.replace("default", "team") + "/held"
        content = {"Content-Type": "application/merge-patch+json"}
        await session.patch(path, data='{"metadata": {"finalizers": null}}', headers=content)
        assert cluster.get("namespaces", "", "team") is None


async def test_definition_is_served_until_it_is_deleted() -> None:
    async with EmbeddedCluster() as cluster, aiohttp.ClientSession(cluster.url) as session:
        api = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        definition = next(
            item for item in neighbour_definitions() if item["spec"]["names"]["kind"] == "ModelDeployment"
        )
        async with session.get(PATH) as response:
            assert response.status == 404
        async with session.post(api, json=definition) as response:
            body = await response.json()
        assert {condition["type"]: condition["status"] for condition in body["status"]["conditions"]} == {
            "NamesAccepted": "True",
            "Established": "True",
        }
        await cluster.create(DEPLOYMENT)
        await session.delete(f"{api}/{definition['metadata']['name']}")
        async with session.get(PATH) as response:
            assert response.status == 404


async def test_webhook_behind_a_service_is_found_in_the_table() -> None:
    seen: list[str] = []

    async def judge(request: web.Request) -> web.Response:
        review = await request.json()
        seen.append(request.path_qs)
        response = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("scaler-webhook.gpustack.svc").configure_cert(context)
    application = web.Application()
    application.router.add_post("/validate", judge)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    async with _cluster() as cluster:
        await cluster.create(_configuration(authority))
        with pytest.raises(StatusError, match='service "scaler-webhook" not found'):
            await cluster.create(DEPLOYMENT)
        cluster.services["gpustack/scaler-webhook"] = f"127.0.0.1:{runner.addresses[0][1]}"
        await cluster.create(DEPLOYMENT)
    await runner.cleanup()
    assert seen == ["/validate?timeout=10s"]


def _configuration(authority: trustme.CA) -> dict[str, Any]:
    import base64

    bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
    service = {"namespace": "gpustack", "name": "scaler-webhook", "path": "/validate"}
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["modeldeployments"]}
    webhook = {
        "name": "fence.gpustack.ai",
        "rules": [rule],
        "clientConfig": {"service": service, "caBundle": bundle},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    api = "admissionregistration.k8s.io/v1"
    kind = "ValidatingWebhookConfiguration"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "fence"}, "webhooks": [webhook]}


async def test_entry_serves_until_sigterm(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "scaler_sim.apiserver", "--kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(30):
        url = (await process.stdout.readline()).decode().split()[0]
        async with aiohttp.ClientSession(url) as session, session.get(PATH) as response:
            assert response.status == 200
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"] == url
