"""Children: readiness, logs, and that none is left behind."""

import asyncio
import os
import signal

import pytest

from scaler_sim.scenario.process import Child, ProcessError, free_port


def child(tmp_path, monkeypatch, source: str, *arguments: str) -> Child:
    (tmp_path / "played.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Child(name="played", module="played", arguments=arguments, log=tmp_path / "played.log")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


SERVE = """
import sys
from http.server import HTTPServer, SimpleHTTPRequestHandler
print("serving", sys.argv[1])
HTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()
"""
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(grandchild.pid, flush=True)
time.sleep(600)
"""


async def test_a_child_is_ready_when_it_answers_and_ends_on_request(tmp_path, monkeypatch):
    port = free_port()
    played = child(tmp_path, monkeypatch, SERVE, str(port))
    await played.start()
    await played.wait_until_answers(f"http://127.0.0.1:{port}/", 20)
    pid = played.pid
    assert f"serving {port}" in played.tail()
    await played.stop()
    assert not is_alive(pid)
    assert played.pid is None


async def test_a_child_that_ends_is_reported_with_its_log(tmp_path, monkeypatch):
    played = child(tmp_path, monkeypatch, "import sys\nsys.exit('flag --nonsense is not known')")
    await played.start()
    with pytest.raises(ProcessError, match=r"played ended with status 1\n(.|\n)*--nonsense is not known"):
        await played.wait_until_answers("http://127.0.0.1:9/", 20)
    with pytest.raises(ProcessError):
        played.require_running()


async def test_a_child_that_does_not_answer_is_reported_in_time(tmp_path, monkeypatch):
    played = child(tmp_path, monkeypatch, "import time; time.sleep(600)")
    await played.start()
    with pytest.raises(ProcessError, match=r"was not ready within 0\.3 s"):
        await played.wait_until_answers(f"http://127.0.0.1:{free_port()}/", 0.3)
    await played.stop()


async def test_a_stubborn_child_and_its_children_are_killed(tmp_path, monkeypatch):
    played = child(tmp_path, monkeypatch, STUBBORN)
    await played.start()
    while not (text := played.log.read_text()).strip():  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    grandchild = int(text)
    played.signal(signal.SIGSTOP)
    await played.stop(grace_seconds=0.3)
    assert await played.wait(1) == -signal.SIGKILL
    for _ in range(100):  # the orphan is reaped by init
        if not is_alive(grandchild) or _is_zombie(grandchild):
            break
        await asyncio.sleep(0.02)
    else:
        pytest.fail("the grandchild survived")


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return False
