"""One webhook process on one core under an open loop of fence reviews, beside a bare aiohttp TLS echo of the same body.

Latency counts from the moment at which a review was due, so queueing is in it. Both servers are loaded in turns of a
few seconds, so that whatever else the machine does befalls both. `--seconds` is the time for each of them.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
from aiohttp import web

from benchmarks.yardstick import Row, report
from scaler_core.admission import registration
from scaler_core.api.ownership import BINDING, DECISION, Binding, DecisionRecord
from scaler_sim.scenario.process import free_port

RATE, CONNECTIONS, TURN_SECONDS, WARM_UP_SECONDS = 200, 32, 3.0, 1.0
OPERATOR, PERSON = "system:serviceaccount:scaler-system:scaler-controller", "jane@example.org"
SIZE = 30 * 1024
CALM_MILLISECONDS = 5.0  # p99 of the echo on a machine with nothing else to do


def deployment(image: str, counts: dict[str, int], decision: str) -> dict[str, Any]:
    """Some 30 KiB: roles with the arguments and environment of real engines, and what the API server adds."""
    roles = [
        {
            "name": name,
            "kind": name.capitalize(),
            "replicas": count,
            "instanceType": "h100-80gb-x8",
            "image": image,
            "extraArgs": [f"--option-{n}={'value-' * 3}{n}" for n in range(50)],
            "env": [{"name": f"VARIABLE_{n}", "value": f"some/ordinary/value/{n}"} for n in range(60)],
            "resources": {"limits": {"cpu": "32", "memory": "256Gi"}, "requests": {"cpu": "16", "memory": "128Gi"}},
        }
        for name, count in counts.items()
    ]
    binding = Binding(scaler_name="llm", scaler_uid="0f3c2b1a-5267-4486-bd9d-95c2903a758f", term=4).render()
    document = {
        "apiVersion": "worker.gpustack.ai/v1",
        "kind": "ModelDeployment",
        "metadata": {
            "name": "llm",
            "namespace": "default",
            "uid": "4abb1a20-5267-4486-bd9d-95c2903a758f",
            "resourceVersion": "4711",
            "annotations": {BINDING: binding, DECISION: decision},
            "managedFields": [],
        },
        "spec": {"model": {"name": "Qwen/Qwen3-8B"}, "engine": {"name": "vLLM"}, "roles": roles},
        "status": {"phase": "Ready", "roles": [{"name": name, "ready": count} for name, count in counts.items()]},
    }
    fields: dict[str, Any] = {f"f:member-{n}": {".": {}, "f:value": {}, "f:name": {}} for n in range(40)}
    managed = document["metadata"]["managedFields"]  # type: ignore[index]
    while len(json.dumps(document)) < SIZE:
        managed.append({"manager": f"manager-{len(managed)}", "operation": "Update", "fieldsV1": {"f:spec": fields}})
    return document


def reviews() -> list[bytes]:
    """Of ten: eight edits that leave the counts alone, as syncs and operators write them; a refusal; a commit."""
    first = DecisionRecord(decision_id="d-1", term=4, vector={"prefill": 4, "decode": 5}).render()
    second = DecisionRecord(decision_id="d-2", term=4, vector={"prefill": 5, "decode": 6}).render()
    before, more = {"prefill": 4, "decode": 5}, {"prefill": 5, "decode": 6}
    old = deployment("engine:1", before, first)
    return [
        *[review(PERSON, old, deployment("engine:2", before, first))] * 8,
        review(PERSON, old, deployment("engine:1", more, first)),
        review(OPERATOR, old, deployment("engine:1", more, second)),
    ]


def review(user: str, old: dict[str, Any], new: dict[str, Any]) -> bytes:
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "worker.gpustack.ai", "version": "v1", "kind": "ModelDeployment"},
        "resource": {"group": "worker.gpustack.ai", "version": "v1", "resource": "modeldeployments"},
        "operation": "UPDATE",
        "namespace": "default",
        "name": "llm",
        "userInfo": {"username": user, "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
    }
    document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(document, separators=(",", ":")).encode()


def pin(pid: int, core: int) -> None:
    """Keep a process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(pid, {sorted(os.sched_getaffinity(0))[core]})


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def echo(port: int, certificate: str, key: str) -> None:
    """The least that an aiohttp server can do with a body."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), content_type="application/json")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_post("/", answer)
    web.run_app(app, host="127.0.0.1", port=port, ssl_context=context, access_log=None, print=None)


@dataclass(kw_only=True)
class Loaded:
    """A server and what was measured of it."""

    pid: int
    port: int
    path: str
    latencies: list[float] = field(default_factory=list)
    works: list[float] = field(default_factory=list)
    """Processor seconds of one review, by turn."""

    def quantile(self, share: float) -> float:
        """Milliseconds that this share of reviews took at most."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000

    @property
    def work(self) -> float:
        """Processor time of one review in microseconds, in the turn that was disturbed least."""
        return min(self.works) * 1e6


class Client:
    """Kept connections that speak just enough HTTP, so that little of what is measured is ours."""

    def __init__(self, server: Loaded, context: ssl.SSLContext, bodies: Sequence[bytes]) -> None:
        self._server = server
        self._context = context
        head = f"POST {server.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        self._requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
        self._idle: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def open(self) -> None:
        """Connect, waiting until the server listens."""
        while self._idle.qsize() < CONNECTIONS:
            try:
                connection = await asyncio.open_connection(
                    "127.0.0.1", self._server.port, ssl=self._context, server_hostname="localhost", limit=1 << 20
                )
            except OSError:
                await asyncio.sleep(0.2)
            else:
                self._idle.put_nowait(connection)

    async def load(self, seconds: float) -> list[float]:
        """Send at the fixed rate; seconds from when each review was due to its answer."""
        loop = asyncio.get_running_loop()
        begin, latencies = loop.time() + 0.05, list[float]()

        async def send(number: int, due: float) -> None:
            reader, writer = await self._idle.get()
            writer.write(self._requests[number % len(self._requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
            latencies.append(loop.time() - due)
            self._idle.put_nowait((reader, writer))

        async with asyncio.TaskGroup() as group:
            for number in range(int(seconds * RATE)):
                due = begin + number / RATE
                await asyncio.sleep(max(0.0, due - loop.time()))
                group.create_task(send(number, due))
        return latencies


async def measure(servers: Sequence[Loaded], context: ssl.SSLContext, seconds: float) -> None:
    bodies = reviews()
    clients = [Client(server, context, bodies) for server in servers]
    for client in clients:
        await client.open()
        await client.load(WARM_UP_SECONDS)
    for _ in range(max(1, round(seconds / TURN_SECONDS))):
        for server, client in zip(servers, clients, strict=True):
            used = processor_seconds(server.pid)
            latencies = await client.load(min(seconds, TURN_SECONDS))
            server.works.append((processor_seconds(server.pid) - used) / len(latencies))
            server.latencies += latencies


@contextmanager
def both(certificate: str, key: str) -> Iterator[tuple[Loaded, Loaded]]:
    """The webhook process and the echo, each alone on the first core."""
    ports = free_port(), free_port()
    arguments = [
        *("--host", "127.0.0.1", "--port", str(ports[0]), "--health-host", "127.0.0.1", "--health-port", "0"),
        *("--tls-cert", certificate, "--tls-key", key, "--operator-user", OPERATOR, "--lame-duck-seconds", "0"),
        *("--kube-url", "http://127.0.0.1:9", "--refresh-seconds", "3600", "--log-level", "ERROR"),
    ]
    webhook = subprocess.Popen([sys.executable, "-m", "scaler_webhook", *arguments], start_new_session=True)
    bare = multiprocessing.get_context("spawn").Process(target=echo, args=(ports[1], certificate, key), daemon=True)
    bare.start()
    assert bare.pid is not None
    try:
        for pid in (webhook.pid, bare.pid):
            pin(pid, 0)
        path = f"{registration.VALIDATE_DEPLOYMENT}?timeout=10s"
        yield Loaded(pid=webhook.pid, port=ports[0], path=path), Loaded(pid=bare.pid, port=ports[1], path="/")
    finally:
        webhook.terminate()
        bare.terminate()
        webhook.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=12.0, help="load on each of both servers")
    seconds = parser.parse_args().seconds
    authority = trustme.CA()
    leaf = authority.issue_cert("localhost")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        leaf.cert_chain_pems[0].write_to_path(certificate)
        leaf.private_key_pem.write_to_path(key)
        with both(str(certificate), str(key)) as (webhook, bare):
            pin(os.getpid(), -1)
            began = time.monotonic()
            asyncio.run(measure((webhook, bare), context, seconds))
            taken = time.monotonic() - began
    show(webhook, bare, taken)


def show(webhook: Loaded, bare: Loaded, taken: float) -> None:
    size = len(reviews()[0]) / 1024
    print(f"{len(webhook.latencies)} reviews of {size:.0f} KiB at {RATE}/s to each, {taken:.0f} s in all")
    print(f"  {'milliseconds':12} {'p50':>8} {'p90':>8} {'p99':>8} {'p99.9':>8} {'max':>8}")
    for name, server in (("webhook", webhook), ("bare echo", bare)):
        print(f"  {name:12} " + " ".join(f"{server.quantile(share):8.2f}" for share in (0.5, 0.9, 0.99, 0.999, 1.0)))
    rows = [
        Row(name="processor time, share of a bare TLS echo's", value=100 * webhook.work / bare.work, limit=300,
            unit="%"),
        Row(name="processor time of a fence review", value=webhook.work, limit=4000, unit="us"),
    ]  # fmt: skip
    if bare.quantile(0.99) <= CALM_MILLISECONDS:
        rows += [
            Row(name="p99 of a fence review, queueing counted", value=webhook.quantile(0.99), limit=10, unit="ms"),
            Row(name="p99, share of a bare TLS echo's", value=100 * webhook.quantile(0.99) / bare.quantile(0.99),
                limit=300, unit="%"),
        ]  # fmt: skip
    else:
        print("  too busy a machine to judge latencies: even the echo waits (with `chrt -r 1` in front it does not)")
    report("fence review", rows)


if __name__ == "__main__":
    main()
