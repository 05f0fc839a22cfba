"""The webhook process over real TLS on loopback, in front of the embedded API server."""

import asyncio
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from scaler_core.admission import registration
from scaler_core.api import crd
from scaler_core.api.defaulting import apply_defaults
from scaler_kube.settings import SettingError
from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster, neighbour_definitions
from scaler_webhook import main as process
from scaler_webhook.server import MAX_BODY_BYTES
from tests.core.admission import fence_world, scaler_world
from tests.webhook import webhook_world
from tests.webhook.webhook_world import Webhook, nested, patched, review

FENCE, RULES = registration.VALIDATE_DEPLOYMENT, registration.VALIDATE_SCALER


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    definitions = (*neighbour_definitions(), crd.definition())
    async with EmbeddedCluster(ClusterSettings(definitions=definitions)) as running:
        yield running


@pytest.fixture
async def webhook(cluster: EmbeddedCluster, tmp_path: Path) -> AsyncIterator[Webhook]:
    authority = trustme.CA()
    certificate, key = webhook_world.certificate_files(tmp_path, authority)
    settings = webhook_world.settings(cluster, tls_cert=certificate, tls_key=key)
    async with webhook_world.serving(settings, webhook_world.trusting(authority)) as running:
        yield running


async def test_a_user_is_refused_over_the_wire(webhook: Webhook) -> None:
    old, new = fence_world.target(fence_world.BOUND), fence_world.target(fence_world.BOUND, prefill=4, decode=3)
    status, response = await webhook.post(f"{FENCE}?timeout=10s", review(new, old))
    assert (status, response["uid"], response["allowed"]) == (200, "0b5c-42", False)
    assert response["status"]["code"] == 403
    assert response["status"]["message"].startswith("spec.roles[decode].replicas: 5 -> 3 refused")


async def test_an_operator_commits_and_status_writes_pass(webhook: Webhook) -> None:
    decided = {fence_world.B: fence_world.binding(), fence_world.D: fence_world.decision("d-2", prefill=4, decode=6)}
    old, new = fence_world.target(fence_world.BOUND), fence_world.target(decided, prefill=4, decode=6)
    assert (await webhook.post(FENCE, review(new, old, user="operator")))[1]["allowed"]
    assert not (await webhook.post(FENCE, review(new, old)))[1]["allowed"]
    assert (await webhook.post(FENCE, review(new, old, subResource="status")))[1]["allowed"]
    assert (await webhook.post(FENCE, review(None, old, operation="DELETE")))[1]["allowed"]


async def test_recovery_reads_the_scaler_afresh(webhook: Webhook, cluster: EmbeddedCluster) -> None:
    document = scaler_world.server()
    document |= {"apiVersion": "worker.gpustack.ai/v1", "kind": "ModelDeploymentScaler"}
    uid = (await cluster.create(document))["metadata"]["uid"]
    bound = {fence_world.B: fence_world.binding(uid=uid)}
    status, response = await webhook.post(FENCE, review(fence_world.target(), fence_world.target(bound)))
    assert response["status"]["message"].endswith("(unbind-live)"), response
    other = {fence_world.B: fence_world.binding(name="gone")}
    _, response = await webhook.post(FENCE, review(fence_world.target(), fence_world.target(other)))
    assert response["allowed"]
    assert status == 200


async def test_a_created_deployment_loses_copied_annotations(webhook: Webhook) -> None:
    new = fence_world.target(fence_world.BOUND | {"a": "b"})
    _, response = await webhook.post(registration.MUTATE_DEPLOYMENT, review(new))
    assert patched(new, response)["metadata"]["annotations"] == {"a": "b"}
    assert len(response["warnings"]) == 2
    _, response = await webhook.post(FENCE, review(new))
    assert response["status"]["message"].endswith("(create-annotated)")


async def test_a_scaler_gets_its_defaults_and_then_its_verdict(webhook: Webhook) -> None:
    new = scaler_world.server()
    _, response = await webhook.post(registration.MUTATE_SCALER, review(new))
    assert patched(new, response) == apply_defaults(new)
    _, response = await webhook.post(RULES, review(apply_defaults(new)))
    assert response == {"uid": "0b5c-42", "allowed": True}
    _, response = await webhook.post(RULES, review({"spec": {}}))
    assert response["status"]["code"] == 403


@pytest.mark.parametrize("path", [FENCE, RULES, registration.MUTATE_SCALER, registration.MUTATE_DEPLOYMENT])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"request":{"uid":"u-9",', id="cut-off"),
        pytest.param(('{"request":{"uid":"u-9","o":' + "".join(nested(5000)) + "}}").encode(), id="too-deep"),
        pytest.param(b'{"request":{"uid":"u-9","x":"' + b"x" * (MAX_BODY_BYTES + 1) + b'"}}', id="too-long"),
    ],
)
async def test_whatever_comes_in_the_uid_comes_back(webhook: Webhook, path: str, body: bytes) -> None:
    status, response = await webhook.post(path, body)
    assert (status, response["uid"], response["allowed"]) == (200, "u-9", False)
    assert response["status"]["code"] == 403
    assert response["status"]["message"].endswith("(review)")


async def test_another_content_type_is_refused_with_its_uid(webhook: Webhook) -> None:
    _, response = await webhook.post(FENCE, review({}), content_type="text/plain")
    assert response["uid"] == "0b5c-42"
    assert "content type is not application/json" in response["status"]["message"]


async def test_the_largest_storable_object_fits(webhook: Webhook) -> None:
    blob = "x" * 1_500_000
    old = fence_world.target(fence_world.BOUND | {"blob": blob})
    _, response = await webhook.post(FENCE, review(old, old))
    assert response["allowed"]


async def test_a_read_that_hangs_is_503_before_the_api_server_gives_up(
    webhook: Webhook, cluster: EmbeddedCluster
) -> None:
    hanging = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hanging.wait()
        writer.close()

    await cluster.stop()
    port = int(cluster.url.rpartition(":")[2])
    server = await asyncio.start_server(hang, "127.0.0.1", port)
    try:
        new, old = fence_world.target(), fence_world.target(fence_world.BOUND)
        _, response = await webhook.post(f"{FENCE}?timeout=1200ms", review(new, old))
        assert response["status"]["code"] == 503
        assert response["status"]["message"] == "request cannot be judged within 0.2 s; try again (deadline)"
        assert "cannot be read" in await webhook.until(503)
    finally:
        hanging.set()
        server.close()
        await server.wait_closed()


async def test_it_is_ready_when_it_can_judge_and_says_what_is_missing(
    webhook: Webhook, cluster: EmbeddedCluster
) -> None:
    assert await webhook.until(200) == "ok\n"
    await cluster.stop()
    assert "ModelDeployment cannot be read" in await webhook.until(503)
    assert (await webhook.health("/healthz"))[0] == 200
    await cluster.start()
    await webhook.until(200)


async def test_answers_are_counted_by_verdict_and_rule(webhook: Webhook) -> None:
    await webhook.post(FENCE, review(fence_world.target(fence_world.BOUND)))
    _, text = await webhook.health("/metrics")
    line = f'mds_webhook_requests_total{{path="{FENCE}",rule="create-annotated",verdict="denied"}} 1.0'
    assert line in text
    assert "mds_webhook_certificate_expiry_timestamp_seconds" in text


async def test_new_certificate_files_are_served_without_a_restart(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    first, second = trustme.CA(), trustme.CA()
    certificate, key = webhook_world.certificate_files(tmp_path, first)
    settings = webhook_world.settings(cluster, tls_cert=certificate, tls_key=key)
    async with webhook_world.serving(settings, webhook_world.trusting(first)) as webhook:
        await webhook.post(FENCE, review(fence_world.target()))
        webhook_world.certificate_files(tmp_path, second)
        os.utime(certificate)
        context = webhook_world.trusting(second)
        async with asyncio.timeout(10):
            while True:
                try:
                    url = f"https://localhost:{webhook.ports.admission}{FENCE}"
                    body = json.dumps(review(fence_world.target()))
                    headers = {"Content-Type": "application/json"}
                    async with webhook.session.post(url, data=body, headers=headers, ssl=context) as answer:
                        assert answer.status == 200
                        break
                except ssl.SSLError:
                    await asyncio.sleep(0.02)
                except OSError:
                    await asyncio.sleep(0.02)


async def test_stopping_finishes_what_is_in_flight(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate, key = webhook_world.certificate_files(tmp_path, authority)
    settings = webhook_world.settings(cluster, tls_cert=certificate, tls_key=key)
    in_flight: asyncio.Task[Any]
    async with webhook_world.serving(settings, webhook_world.trusting(authority)) as webhook:

        async def slow() -> AsyncIterator[bytes]:
            text = json.dumps(review(fence_world.target())).encode()
            yield text[:10]
            started.set()
            await asyncio.sleep(0.3)
            yield text[10:]

        async def send() -> int:
            url = f"https://localhost:{webhook.ports.admission}{FENCE}"
            headers = {"Content-Type": "application/json"}
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, data=slow(), headers=headers, ssl=webhook.context) as answer,
            ):
                await answer.read()
                assert answer.headers.get("Connection") == "close"
                return answer.status

        started = asyncio.Event()
        in_flight = asyncio.create_task(send())
        await started.wait()
        await asyncio.sleep(0.1)  # until the server has the head of the request
        webhook.stop.set()
    assert await in_flight == 200


@pytest.mark.parametrize("flag", ["health-", ""])
async def test_a_port_that_is_taken_is_named(flag: str, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    certificate, key = webhook_world.certificate_files(tmp_path, trustme.CA())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        taken = {"health_port" if flag else "port": port}
        settings = webhook_world.settings(cluster, tls_cert=certificate, tls_key=key, **taken)
        with pytest.raises(SettingError, match=f"--{flag}port {port}: address already in use; give a free port"):
            async with process.serving(settings, asyncio.Event()):
                pass
