"""Ctrl-C while a program is still importing: one line, status 130, no traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"mds": "scaler_cli", "scaler-controller": "scaler_controller", "scaler-webhook": "scaler_webhook"}
WAYS = {
    "a signal": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n",
    "a signal that a callback swallows": (
        "import os, signal, time\n"
        "class Callback:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.01)\n"
        "Callback()\ntime.sleep(30)\n"
    ),
    "an interrupt that is raised": "raise KeyboardInterrupt\n",
}
"""What a module does that stands in for pydantic, which every program imports."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_ctrl_c_during_imports(program: str, way: str, tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text(WAYS[way])
    ended = subprocess.run(
        [sys.executable, "-m", PROGRAMS[program]],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        # Shells start background jobs, which test runs may be, with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert (ended.stderr, ended.stdout, ended.returncode) == (f"{program}: interrupted\n", "", 130)


@pytest.mark.parametrize("package", PROGRAMS.values())
def test_the_module_of_the_program_is_the_program_too(package: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", f"{package}.main", "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert ended.returncode == 2
    assert "--nonsense" in ended.stderr


def test_a_process_that_was_started_without_interrupts_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nos._exit(7)\n")
    ended = subprocess.run(
        [sys.executable, "-m", "scaler_cli"],
        check=False,
        timeout=20,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert ended.returncode == 7
