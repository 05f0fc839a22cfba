"""One sampling pass against engines on loopback, well-behaved and hostile."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import trustme
from aiohttp import web

from scaler_controller.sampling.http import Limits, make_session
from scaler_controller.sampling.sampler import Sampler
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import EngineCounters, PodScrape, ScrapeFailure, TargetScrape
from scaler_kube.clock import SteadyClock
from tests.core.signals import worlds

TEXT = b'vllm:num_requests_running{engine="0"} 3\nvllm:num_requests_waiting{engine="0"} 1\n'
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answer(body: bytes = TEXT, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers=headers)

    return handle


async def hang(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


async def trickle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(100):
        await response.write(TEXT[:10])
        await asyncio.sleep(0.05)
    return response


async def break_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(TEXT)
    assert request.transport is not None
    request.transport.close()
    return response


async def vanish(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@asynccontextmanager
async def engine(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_get("/metrics", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def pods(count: int, port: int, scheme: str = "http") -> list[Pod]:
    found = []
    for ordinal in range(count):
        wire = worlds.pod("server", ordinal).to_wire()
        wire["metadata"]["annotations"] = {"prometheus.io/port": str(port), "prometheus.io/scheme": scheme}
        wire["status"]["podIP"] = "127.0.0.1"
        found.append(Pod.from_wire(wire))
    return found


async def sample(
    cluster: list[Pod],
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    target: ModelDeployment | None = None,
    interval: float = 15.0,
) -> TargetScrape:
    async with make_session(tls) as session:
        sampler = Sampler(lambda: session, SteadyClock(), limits)
        return await sampler.sample(target or worlds.target(server=len(cluster)), {"server"}, cluster, interval)


def why(pod: PodScrape) -> str:
    assert isinstance(pod.outcome, ScrapeFailure)
    return pod.outcome.why


async def test_a_healthy_engine_is_read() -> None:
    clock = SteadyClock()
    async with engine(answer()) as port:
        scrape = await sample(pods(2, port))
    outcomes = [pod.outcome for pod in scrape.pods]
    assert all(isinstance(each, EngineCounters) and (each.running, each.waiting) == (3, 1) for each in outcomes)
    assert [(pod.ordinal, pod.role, pod.container) for pod in scrape.pods] == [
        (0, "server", "c#0"),
        (1, "server", "c#0"),
    ]
    assert scrape.answering == {"server": 2}
    assert all(scrape.taken_at <= (pod.read_at or 0.0) <= clock.now() for pod in scrape.pods)


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        pytest.param(answer(status=500), "HTTP 500", id="an error status"),
        pytest.param(answer(status=204), "HTTP 204", id="no content"),
        pytest.param(
            answer(status=401),
            "HTTP 401: it asks for credentials, and the scaler has none; let its metrics be read without",
            id="a locked door",
        ),
        pytest.param(
            answer(b"x", headers={"Content-Encoding": "br"}),
            "its answer is packed as nobody asked for; gzip or nothing is understood "
            "(Can not decode content-encoding: brotli (br))",
            id="an encoding that was not asked for",
        ),
        pytest.param(
            answer(b"x", headers={"Content-Encoding": "secret"}),
            "its answer is packed as nobody asked for; gzip or nothing is understood (secret)",
            id="an encoding that nobody knows",
        ),
        pytest.param(
            answer(status=307, headers={"Location": "/metrics/"}),
            "HTTP 307 to '/metrics/', and redirects are not followed",
            id="a redirect",
        ),
        pytest.param(hang, "no answer within 0.3 s", id="nothing"),
        pytest.param(trickle, "no answer within 0.3 s", id="a byte now and then"),
        pytest.param(answer(b"x" * (10 * 1024 * 1024)), "its answer is larger than 4 MiB", id="ten mebibytes"),
        pytest.param(
            answer(gzip.compress(b"x" * (10 * 1024 * 1024)), headers={"Content-Encoding": "gzip"}),
            "its answer is larger than 4 MiB",
            id="ten mebibytes in a small answer",
        ),
        pytest.param(
            answer(b"not gzip", headers={"Content-Encoding": "gzip"}),
            "its answer broke off or cannot be decoded",
            id="an encoding that is none",
        ),
        pytest.param(break_off, "its answer broke off or cannot be decoded", id="half an answer"),
        pytest.param(vanish, "it closed the connection without an answer", id="a closed connection"),
        pytest.param(
            answer(b"vllm:num_requests_running{ 3\n"),
            'its metrics are unreadable: line 1: a label is not of the form name="value": '
            "'vllm:num_requests_running{ 3'",
            id="a malformed line that we need",
        ),
    ],
)
async def test_a_bad_engine_is_a_failed_read_in_words(handler: Handler, words: str) -> None:
    async with engine(handler) as port:
        scrape = await sample(pods(1, port), Limits(request_seconds=0.3))
    assert [why(pod) for pod in scrape.pods] == [words]


async def test_a_refused_connection_is_a_failed_read() -> None:
    async with engine(answer()) as port:
        pass
    assert "no connection" in why((await sample(pods(1, port))).pods[0])


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"SMTP ready\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 abc\r\n\r\n", id="a status that is no number"),
        pytest.param(b"\x00\xff" * 5000, id="noise"),
    ],
)
async def test_no_http_is_a_failed_read(reply: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        scrape = await sample(pods(1, server.sockets[0].getsockname()[1]))
    assert why(scrape.pods[0])


@pytest.mark.parametrize(
    ("body", "engine_name"),
    [
        pytest.param(b"\xff\xfe\x00garbage{{{\n" * 100, None, id="garbage has no signal"),
        pytest.param(b"", None, id="an empty answer has no signal"),
        pytest.param(b'other{a="\xff"} 1\n' + TEXT, "vLLM", id="bytes that are no UTF-8 elsewhere do no harm"),
    ],
)
async def test_odd_bodies(body: bytes, engine_name: str | None) -> None:
    async with engine(answer(body)) as port:
        outcome = (await sample(pods(1, port))).pods[0].outcome
    assert isinstance(outcome, EngineCounters)
    assert outcome.engine == engine_name


async def test_gzip_is_read() -> None:
    async with engine(answer(gzip.compress(TEXT), headers={"Content-Encoding": "gzip"})) as port:
        outcome = (await sample(pods(1, port))).pods[0].outcome
    assert isinstance(outcome, EngineCounters)
    assert outcome.running == 3


async def test_the_request_asks_for_the_text_format_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    seen: list[web.Request] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        return web.Response(body=TEXT, headers={"Set-Cookie": "a=b"})

    async with engine(handle) as port:
        scrape = await sample(pods(2, port), Limits(per_target=1))
    assert all(isinstance(pod.outcome, EngineCounters) for pod in scrape.pods)
    assert [request.headers["Accept"] for request in seen] == ["text/plain;version=0.0.4"] * 2
    assert all("Cookie" not in request.headers for request in seen)


async def test_a_pod_without_port_is_a_failed_read() -> None:
    assert "no prometheus.io/port annotation" in why((await sample([worlds.pod("server", 0)])).pods[0])


async def test_only_scaled_roles_and_own_pods_are_read() -> None:
    async with engine(answer()) as port:
        target = worlds.target(server=1, encode=1)
        stranger = worlds.pod("server", 1, owner="another")
        scrape = await sample([*pods(1, port), stranger, worlds.pod("encode", 0)], target=target)
    assert [pod.pod_name for pod in scrape.pods] == ["llm-server-0-0"]


@dataclass
class Counter:
    """An engine that counts how many requests it has at a time."""

    now: int = 0
    most: int = 0
    total: int = 0
    hold: float = 0.02

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.now += 1
        self.total += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.hold)
        self.now -= 1
        return web.Response(body=TEXT)


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        pytest.param(Limits(), 32, id="32 to one target"),
        pytest.param(Limits(per_target=4), 4, id="fewer where configured"),
        pytest.param(Limits(per_process=8), 8, id="and never more than the process may"),
    ],
)
async def test_requests_in_flight_are_bounded(limits: Limits, most: int) -> None:
    counter = Counter()
    async with engine(counter.serve) as port:
        scrape = await sample(pods(80, port), limits)
    assert (counter.most, counter.total, len(scrape.pods)) == (most, 64, 64)
    assert scrape.answering == {"server": 80}


async def test_a_pass_ends_in_time_and_what_is_unread_is_a_failed_read() -> None:
    counter = Counter(hold=0.6)
    async with engine(counter.serve) as port:
        scrape = await sample(pods(10, port), Limits(per_target=4, pass_seconds=1.1))
    words = [pod.outcome.why if isinstance(pod.outcome, ScrapeFailure) else "read" for pod in scrape.pods]
    assert words == ["read"] * 4 + ["not read within the 1.1 s of a sample"] * 6


async def test_a_pass_takes_at_most_half_an_interval() -> None:
    async with engine(hang) as port:
        scrape = await sample(pods(1, port), interval=0.4)
    assert why(scrape.pods[0]) == "not read within the 0.2 s of a sample"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def test_tls_is_verified_against_the_configured_authority(authority: trustme.CA) -> None:
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)
    async with engine(answer(), server) as port:
        trusted, untrusted = await sample(pods(1, port, "https"), tls=client), await sample(pods(1, port, "https"))
    assert isinstance(trusted.pods[0].outcome, EngineCounters)
    assert why(untrusted.pods[0]) == "its TLS certificate is not trusted"


async def test_a_certificate_for_another_address_is_not_trusted(authority: trustme.CA) -> None:
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("10.9.9.9").configure_cert(server)
    authority.configure_trust(client)
    async with engine(answer(), server) as port:
        assert why((await sample(pods(1, port, "https"), tls=client)).pods[0]) == "its TLS certificate is not trusted"


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("scaler_core.signals.forms.read_body", id="while its answer is read"),
        pytest.param("scaler_controller.sampling.http.BodyReader.read", id="while it is asked"),
    ],
)
async def test_an_internal_error_spares_the_other_engines(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def fail(*anything: object) -> EngineCounters:
        raise RuntimeError("bug")

    monkeypatch.setattr(place, fail)
    async with engine(answer()) as port:
        assert "internal error" in why((await sample(pods(1, port))).pods[0])


async def test_a_large_text_is_parsed_beside_the_event_loop() -> None:
    async with engine(answer(b"# filler\n" * 40_000 + TEXT)) as port:
        outcome = (await sample(pods(1, port))).pods[0].outcome
    assert isinstance(outcome, EngineCounters)
    assert outcome.running == 3
