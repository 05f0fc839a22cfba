"""The controller process with settings that prove wrong in use: a line, exit status 2, no traceback."""

import json
import socket
from pathlib import Path

import pytest

from scaler_controller import main as process

NOWHERE = ("--kube-url", "http://127.0.0.1:1")


@pytest.fixture
def taken_port() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def told(flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    assert process.main([*NOWHERE, *flags]) == process.EXIT_USAGE
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    [line] = [line for line in lines if line["level"] == "ERROR"]
    assert "exception" not in line
    return str(line["error"])


def test_a_port_that_is_taken(taken_port: socket.socket, capsys: pytest.CaptureFixture[str]) -> None:
    with taken_port:
        port = taken_port.getsockname()[1]
        error = told(("--health-host", "127.0.0.1", "--health-port", str(port)), capsys)
    assert error == (
        f"--health-host 127.0.0.1, --health-port {port}: address already in use; "
        "give a free port and an address of this host"
    )


def test_engine_authorities_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "ca.pem"
    error = told(("--engine-ca", str(absent), "--health-port", "0"), capsys)
    assert error == f"--engine-ca {absent}: No such file or directory; give a readable PEM file"
