"""`mds explain`, of a recording, of a controller, and through a cluster."""

import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console
from typer.testing import CliRunner

from scaler_cli.controllers import UnexplainedError, ask_address, ask_cluster
from scaler_cli.explain import has_problem
from scaler_cli.explain_view import render
from scaler_cli.main import app
from scaler_core.api.meta import ObjectKey
from scaler_core.reporting.explained import Explained
from scaler_kube.access import Endpoint
from scaler_kube.client import connect
from tests.core.reporting.test_outlook import steady
from tests.core.test_decision import Passes, deployment, scaler
from tests.core.test_recording import record

KEY = ObjectKey("default", "scale")


def document() -> dict[str, Any]:
    recording = record(steady(4.0, server=2), 106, 8.0)
    return recording.explain().to_wire() | {"recording": recording.to_json()}


def run(*arguments: str, status: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "160"})
    assert result.exit_code == status, result.output
    return result.stdout, result.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.json"
    path.write_text(json.dumps(document()))
    return path


def test_people_see_which_stage_changed_the_request_and_when_it_may_move(file: Path) -> None:
    text, notes = run("--file", str(file))
    assert notes == ""
    assert "default/scale of ModelDeployment llm: Active, Proportional, term 1" in text
    assert "server=2 -> server=4" in text
    assert "running 0 + waiting 16 = 16 requests" in text
    assert "not before" not in text, "the load does not ask for fewer"
    assert "Blocked       False  Ready" in text


def test_people_see_when_a_change_that_the_load_asks_for_may_come(tmp_path: Path) -> None:
    passes = steady(4.0, until=76, server=2)
    passes.run(91, 1.0)
    path = tmp_path / "shrinking.json"
    path.write_text(json.dumps(record(passes, 106, 1.0).explain().to_wire()))
    text, _ = run("--file", str(path))
    assert "shrink  not before 22:15:36 (in 30s)" in text, text


def test_programs_get_the_same_document_from_the_replay(file: Path) -> None:
    text, _ = run("--file", str(file), "-o", "json")
    assert json.loads(text) == json.loads(file.read_text())


def test_a_stage_that_changed_the_count_is_marked() -> None:
    passes = steady(4.0, server=3)
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(render(record(passes, 106, 1.0).explain()))
    row = next(line for line in console.export_text().splitlines() if line.startswith("server "))
    assert row.split() == ["server", "3", "3", "1", "1", "*3", "3", "3", "3", "3"]


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (80, "role now ready asked bounds stabilization guards pacing ratios result"),
        (72, "role now ready asked bounds stabilization guards pacing ratios result"),
        (60, "role now ready asked bounds stabilization guards result"),
        (44, "role now ready asked stabilization result"),
        (40, "role now asked stabilization result"),
    ],
)
def test_a_narrow_terminal_sees_the_stages_that_changed_something_and_no_cut_text(width: int, headings: str) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render(record(steady(4.0, server=3), 106, 1.0).explain()))
    lines = console.export_text().splitlines()
    assert headings in [" ".join(line.split()) for line in lines]
    assert not any("\u2026" in line for line in lines)


def test_a_document_without_a_recording_is_shown_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**document(), "recording": None}))
    text, notes = run("--file", str(path))
    assert "no recording" in notes
    assert "server=2 -> server=4" in text


def test_another_release_explains_otherwise_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({**document(), "vector": {"server": 9}}))
    text, notes = run("--file", str(path))
    assert "otherwise than it was recorded" in notes
    assert "server=2 -> server=4" in text
    path.write_text(json.dumps({**document(), "recording": {"format": 99}}))
    assert "another release" in run("--file", str(path))[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param((), "give the scaler's NAME", id="nothing to explain"),
        pytest.param(("llm", "--file", "x"), "give the scaler's NAME", id="two things to explain"),
        pytest.param(("--file", "absent.json"), "cannot be read", id="no such file"),
        pytest.param(("--file", "."), "cannot be read: Is a directory", id="a folder"),
        pytest.param(("llm", "--controller", "nonsense"), "'nonsense' is no URL; write one such as", id="no URL"),
        pytest.param(("llm", "--kubeconfig", "absent"), "does not exist", id="no such kubeconfig"),
    ],
)
def test_wrong_use_is_told_in_a_line(arguments: tuple[str, ...], says: str) -> None:
    result = CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "300"})
    assert result.exit_code in {1, 2}
    assert says in result.stderr


def test_only_what_nobody_asked_for_is_a_problem() -> None:
    shadow = Passes(scaler(), deployment(server=2))
    assert not has_problem(record(shadow, 0, 8.0).explain())
    assert not has_problem(record(Passes(scaler(suspend=True), deployment(server=2)), 0, None).explain())
    assert has_problem(record(Passes(scaler(), deployment(server=2)), 0, None).explain()), "no metrics"
    assert has_problem(record(Passes(scaler(), deployment(server=9)), 0, 8.0).explain()), "outside the bounds"


@asynccontextmanager
async def server(answer: Callable[[web.Request], web.Response]) -> AsyncIterator[str]:
    async def handle(request: web.Request) -> web.Response:
        return answer(request)

    application = web.Application()
    application.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_controller_is_asked_for_the_recording_too() -> None:
    def answer(request: web.Request) -> web.Response:
        assert (request.path, request.query_string) == ("/debug/scalers/default/scale", "recording=true")
        return web.json_response(document())

    async with server(answer) as url:
        assert Explained.from_wire(await ask_address(f"{url}/", KEY)).vector == {"server": 4}


@pytest.mark.parametrize(
    ("response", "says"),
    [
        pytest.param((404, "{}"), "only the leading controller has", id="a standby"),
        pytest.param((500, "{}"), "HTTP 500", id="something else"),
        pytest.param((200, "[]"), "no JSON object", id="no explanation"),
        pytest.param((200, "<html>"), "cannot be asked", id="no JSON"),
    ],
)
async def test_a_controller_that_cannot_tell(response: tuple[int, str], says: str) -> None:
    status, body = response
    async with server(lambda _: web.Response(status=status, text=body, content_type="application/json")) as url:
        with pytest.raises(UnexplainedError, match=says):
            await ask_address(url, KEY)


class Cluster:
    """As much of an API server as the way to a controller needs."""

    def __init__(self) -> None:
        self.pods = ["standby", "leader"]
        self.asked: list[str] = []
        self.allows_proxy = self.has_scaler = True

    def answer(self, request: web.Request) -> web.Response:
        path = request.path
        if path == "/apis/worker.gpustack.ai/v1":
            kind = {"name": "modeldeploymentscalers", "kind": "ModelDeploymentScaler"}
            return web.json_response({"resources": [kind]})
        if path.endswith("/modeldeploymentscalers/scale") and self.has_scaler:
            return web.json_response({"kind": "ModelDeploymentScaler"})
        if path == "/api/v1/pods":
            assert "component=controller" in request.query["labelSelector"]
            items = [{"metadata": {"namespace": "system", "name": name}} for name in self.pods]
            return web.json_response({"items": items, "metadata": {}})
        if "/proxy/" in path:
            return self.proxy(path)
        return web.json_response({"kind": "Status", "message": "not found"}, status=404)

    def proxy(self, path: str) -> web.Response:
        pod = path.split("/")[6]
        self.asked.append(path)
        if not self.allows_proxy:
            return web.json_response({"kind": "Status", "message": "you may not get pods/proxy"}, status=403)
        return web.json_response(
            document() if pod == "leader:8080" else {"error": "no pass"}, status=200 if pod == "leader:8080" else 404
        )


async def ask(cluster: Cluster) -> dict[str, Any]:
    async with server(cluster.answer) as url:
        access = Endpoint(url=url, token="t")
        async with await connect(access, field_manager="test", user_agent="test") as client:
            return await ask_cluster(client, KEY, None)


async def test_the_leader_is_found_among_the_controllers() -> None:
    cluster = Cluster()
    assert (await ask(cluster))["vector"] == {"server": 4}
    assert cluster.asked[-1] == "/api/v1/namespaces/system/pods/leader:8080/proxy/debug/scalers/default/scale"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({"pods": []}, "no controller Pod in any namespace", id="nobody runs"),
        pytest.param({"pods": ["standby"]}, "standby has no pass over it", id="nobody leads"),
        pytest.param({"allows_proxy": False}, "may not get pods/proxy; get that right, or forward", id="no right"),
        pytest.param({"has_scaler": False}, "no ModelDeploymentScaler scale in namespace default", id="no scaler"),
    ],
)
async def test_why_nobody_can_tell(change: dict[str, Any], says: str) -> None:
    cluster = Cluster()
    for name, value in change.items():
        setattr(cluster, name, value)
    with pytest.raises(UnexplainedError, match=says):
        await ask(cluster)


def test_a_deep_nest_is_no_explanation(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    result = CliRunner().invoke(app, ["explain", "--file", str(path)], env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert "record one with mds explain NAME" in result.stderr
