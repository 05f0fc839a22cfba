"""`mds probe` on our own texts, over HTTP, and its exit status."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scaler_cli import sources
from scaler_cli.main import app

DATA = Path(__file__).resolve().parents[1] / "data" / "metrics"
FIRST, SECOND, DECODE = DATA / "vllm_first.prom", DATA / "vllm_second.prom", DATA / "sglang_decode.prom"


def run(*arguments: object, status: int = 0, text: bytes | None = None) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["probe", *map(str, arguments)], input=text)
    assert result.exit_code == status, result.output
    return result.stdout, result.stderr


def read(*arguments: object, status: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "-o", "json", status=status)[0])
    return document


def without_start(path: Path) -> str:
    """A text that does not tell when its process, or a counter of it, began."""
    return "".join(line for line in path.read_text().splitlines(True) if " 1.7e+09" not in line)


def test_one_text() -> None:
    assert read(FIRST) == {
        "engine": "vLLM",
        "running": 3,
        "waiting": 4,
        "kvCacheUsage": 0.375,
        "promptTokens": 1500,
        "generationTokens": 400,
        "prefixHits": 400,
        "prefillEffective": {},
        "ttft": {"count": 20, "sum": 4.5, "p95Milliseconds": 500, "statistic": "p95"},
        "itl": {"count": 100, "sum": 3.25, "p95Milliseconds": 50, "statistic": "p95"},
        "missing": [],
        "absent": [],
        "unusable": {},
    }


def test_two_texts_give_rates_and_latency() -> None:
    found = read(FIRST, SECOND, "--seconds", 10)
    assert (found["promptTokens"], found["promptTokensPerSecond"], found["generationTokensPerSecond"]) == (2100, 40, 20)
    assert (found["ttftMilliseconds"], found["itlMilliseconds"], found["signalState"]) == (1000, 100, "Fresh")


def test_two_texts_of_a_restarted_engine_give_none() -> None:
    found = read(SECOND, FIRST, "--seconds", 10, status=1)
    assert (found["promptTokensPerSecond"], found["ttftMilliseconds"], found["signalState"]) == (None, None, "Missing")
    assert run(SECOND, FIRST, "--seconds", 10, status=1)[1] == (
        f"mds probe: {FIRST}: the second text is the older one: its counters are lower, of the same process; "
        "give the older one first\n"
    )


ANEW = "; give two texts of one engine that did not restart in between"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        pytest.param(
            FIRST.read_text(),
            DECODE.read_text(),
            f"not two texts of the same engine: the first is of vLLM, the second of SGLang{ANEW}",
            id="two engines whose counters fell",
        ),
        pytest.param(
            DECODE.read_text(),
            SECOND.read_text(),
            f"not two texts of the same engine: the first is of SGLang, the second of vLLM{ANEW}",
            id="two engines whose counters rose",
        ),
        pytest.param(
            FIRST.read_text(),
            SECOND.read_text().replace('"tiny"', '"huge"'),
            f"not two texts of the same engine: the first is of model 'tiny', the second of 'huge'{ANEW}",
            id="two models",
        ),
        pytest.param(
            FIRST.read_text(),
            SECOND.read_text().replace(" 1.7e+09", " 1.7000001e+09"),
            "not two texts of the same engine: the process of the first began 2023-11-14 22:13:20 UTC, that of the "
            f"second 2023-11-14 22:15:00 UTC{ANEW}",
            id="a restart behind which the counters are larger",
        ),
        pytest.param(
            without_start(SECOND),
            without_start(FIRST),
            "the counters of the second text are lower: give the older one first; if the engine restarted in between, "
            "take both anew",
            id="swapped texts that do not tell when the process started",
        ),
        pytest.param(
            without_start(SECOND),
            without_start(FIRST).replace("generation_tokens_total{", 'generation_tokens_total{engine="7"} 9e9\n#{'),
            f"not two texts of the same engine: some counters fell and others rose{ANEW}",
            id="counters that went both ways",
        ),
    ],
)
def test_two_texts_that_are_no_pair_are_told_in_a_line(tmp_path: Path, first: str, second: str, words: str) -> None:
    one, two = tmp_path / "one.prom", tmp_path / "two.prom"
    one.write_text(first)
    two.write_text(second)
    assert run(one, two, "--seconds", 10, status=1)[1] == f"mds probe: {two}: {words}\n"
    found = read(one, two, "--seconds", 10, status=1)
    assert (found["generationTokensPerSecond"], found["ttftMilliseconds"], found["itlMilliseconds"]) == (None,) * 3


def test_the_same_text_of_an_engine_at_work_is_remarked_upon(tmp_path: Path) -> None:
    copy = tmp_path / "copy.prom"
    copy.write_bytes(SECOND.read_bytes())
    assert "both texts say the same with " in run(SECOND, copy, "--seconds", 10)[1]


def test_an_idle_pair_is_idle(tmp_path: Path) -> None:
    idle = tmp_path / "idle.prom"
    idle.write_text(FIRST.read_text().replace("} 2.0", "} 0").replace("} 1.0", "} 0").replace("} 4.0", "} 0"))
    later = tmp_path / "later.prom"
    later.write_bytes(idle.read_bytes())
    assert run(idle, later, "--seconds", 10)[1] == ""
    found = read(idle, later, "--seconds", 10)
    assert (found["promptTokensPerSecond"], found["ttftMilliseconds"], found["signalState"]) == (0, None, "Idle")


def test_a_decode_engine_waits_for_transfers_too() -> None:
    server, decode = read(DECODE), read(DECODE, "--kind", "decode")
    assert (server["engine"], server["running"], server["waiting"], decode["waiting"]) == ("SGLang", 2, 1, 4)
    assert (server["prefillEffective"], server["generationTokens"]) == ({"input": 10, "device_hit": 5}, 42)
    assert server["ttft"] == {"count": 4, "sum": 2, "p95Milliseconds": 500, "statistic": "mean"}


def test_openmetrics_with_underscores_timestamps_and_exemplars() -> None:
    found = read(DATA / "vllm_openmetrics.prom", status=1)
    assert (found["engine"], found["running"], found["promptTokens"]) == ("vLLM", 3, 1500)
    assert found["ttft"] == {"count": 3, "sum": 0.75, "p95Milliseconds": 500, "statistic": "p95"}
    assert found["missing"] == ["waiting", "generationTokens", "itl"]
    assert found["absent"] == ["kvCacheUsage"]


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    crlf = tmp_path / "crlf.prom"
    crlf.write_bytes(FIRST.read_bytes().replace(b"\n", b"\r\n"))
    assert read(crlf) == read(FIRST)


def test_text_for_people() -> None:
    out, _ = run(FIRST, SECOND, "--seconds", 10)
    assert "prompt tokens/s (cache-missed)  40" in out
    assert "p95 1000 ms of 24 observations" in out


def test_standard_input() -> None:
    assert "vLLM" in run("-", text=FIRST.read_bytes())[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "no vLLM or SGLang signal in its metrics", id="an empty text"),
        pytest.param(
            "vllm:num_requests_running 1\n",
            "missing: waiting requests (no vllm:num_requests_waiting), prompt",
            id="a partial text",
        ),
        pytest.param("vllm:num_requests_running x\n", "line 1: 'x' is not a number", id="a malformed line"),
    ],
)
def test_what_is_missing_or_unreadable_is_said(tmp_path: Path, text: str, words: str) -> None:
    source = tmp_path / "metrics.prom"
    source.write_text(text)
    assert words in run(source, status=1)[1]


def test_an_unreadable_source_is_a_json_document_too(tmp_path: Path) -> None:
    assert read(tmp_path / "absent", status=1) == {"error": f"{tmp_path / 'absent'}: No such file or directory"}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="no source"),
        pytest.param((FIRST, SECOND), id="two texts without the time between them"),
        pytest.param((FIRST, "--seconds", 5), id="one file and a time"),
        pytest.param((FIRST, FIRST, "--seconds", 5), id="one file twice"),
        pytest.param(("-", "-", "--seconds", 5), id="standard input twice"),
        pytest.param((FIRST, SECOND, "--seconds", 0), id="no time between them"),
        pytest.param((FIRST, SECOND, "--seconds", "inf"), id="endless time between them"),
        pytest.param((FIRST, SECOND, "--seconds", "1e400"), id="more time than a float holds"),
        pytest.param((FIRST, SECOND, "--seconds", "nan"), id="a time that is no number"),
        pytest.param((FIRST, "--kind", "router"), id="an unknown kind"),
    ],
)
def test_wrong_use(arguments: tuple[object, ...]) -> None:
    run(*arguments, status=2)


class Engine(BaseHTTPRequestHandler):
    texts = (FIRST, SECOND)
    reads = 0

    def do_GET(self) -> None:
        found = self.path == "/metrics"
        self.send_response(200 if found else 404)
        self.end_headers()
        if found:
            self.wfile.write(self.texts[min(Engine.reads, 1)].read_bytes())
            Engine.reads += 1

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def engine() -> Iterator[str]:
    Engine.reads = 0
    server = HTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_engine_over_http(engine: str) -> None:
    assert read(engine)["promptTokens"] == 1500


@pytest.mark.parametrize("times", [pytest.param(1, id="one address"), pytest.param(2, id="the address twice")])
def test_an_engine_read_twice(engine: str, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", wait)
    document = json.loads(run(*[f"{engine}/metrics"] * times, "--seconds", 10, "-o", "json")[0])
    assert (waited, document["promptTokensPerSecond"]) == ([10.0], 40)


def test_an_engine_that_is_not_there(engine: str) -> None:
    assert "HTTP 404: no metrics at this path; is it /metrics" in run(f"{engine}/nothing", status=1)[1]


OTHERWISE = ("user:hunter2@h:8000", "ftp://user:hunter2@h/x", "http://user:hun@ter:hunter2@[::1")


def test_credentials_in_an_address_are_not_shown(engine: str) -> None:
    secret = engine.replace("http://", "http://user:hunter2@")
    for source in (f"{secret}/nothing", "HTTP://user:hunter2@[::1", "http://user:hunter2@h#part", *OTHERWISE):
        out, err = run(source, "-o", "json", status=1)
        assert "hunter2" not in out + err
        assert "***@" in err
    assert read(secret)["promptTokens"] == 1500


def test_an_address_keeps_its_query_behind_the_path() -> None:
    assert sources._address("http://h:1?a=b") == "http://h:1/metrics?a=b"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("http://[::1", "no URL; write one such as http://", id="an address cut off"),
        pytest.param("http://", "no URL; write one such as http://", id="no host"),
        pytest.param("http://127.0.0.1:1#metrics", "behind # never reaches an engine; leave it out", id="a fragment"),
        pytest.param("http://127.0.0.1:99999", "no URL; write one such as http://", id="no port"),
        pytest.param("127.0.0.1:8000", "for an engine's address write http://127.0.0.1:8000", id="no scheme"),
    ],
)
def test_an_address_that_is_none_is_told_in_a_line(source: str, words: str) -> None:
    error = run(source, status=1)[1]
    assert error.startswith(f"mds probe: {source}: ")
    assert words in error
    assert error.count("\n") == 1
