"""The whole demo as a person runs it: real processes, exit statuses, nothing left behind."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


async def start(*arguments: str, **environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "scaler_cli", "demo", *arguments,
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip


def children(pid: int) -> set[int]:
    return {
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if (fields := _fields(stat)) and fields[1] == str(pid)
    }


def _fields(stat: Path) -> list[str]:
    try:
        return stat.read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("algorithm", ["TokenThroughput", "Proportional", "Predictive"])
async def test_counts_follow_the_load_and_come_back(engine, algorithm):
    process = await start("--engine", engine, "--algorithm", algorithm, "--speed", "10")
    output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    summary = json.loads(output.splitlines()[-1])
    assert summary["finalCounts"] == {"prefill": 1, "decode": 1}
    assert {"prefill": 2, "decode": 2} in [decision["to"] for decision in summary["decisions"]]
    assert all(decision["cause"] for decision in summary["decisions"])
    assert summary["leadSeconds"] <= 45
    assert sum(phase["errors"] for phase in summary["phases"]) == 0
    ttft = {phase["phase"]: phase["ttftP50Milliseconds"] for phase in summary["phases"]}
    assert ttft["sustain"] < ttft["ramp"]
    assert summary["realSeconds"] < 180
    fields = [changed["field"] for changed in summary["changedDefaults"]]
    assert fields[:2] == ["spec.mode", "spec.sampling.intervalSeconds"]
    assert len(fields) == (6 if algorithm == "Predictive" else 2)
    messages = [refused["message"] for refused in summary["refusals"]]
    assert "ratio-infeasible" in messages[0]
    assert "bound-counts" in messages[1]
    assert "one clock for every process, 10 times as fast" in output.lower()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_demo_leaves_no_process_behind(number):
    process = await start()
    lines = []
    async for line in process.stdout:
        lines.append(line.decode())
        if line.startswith(b"Phase baseline"):
            break
    offspring = children(process.pid)
    assert len(offspring) == 2, "".join(lines)
    process.send_signal(number)
    rest = (await process.communicate())[0].decode()
    assert process.returncode == 130, rest
    assert "no process is left behind" in rest
    assert not [pid for pid in offspring if _fields(Path(f"/proc/{pid}/stat"))]


async def test_a_process_that_does_not_start_fails_the_demo_with_its_log():
    process = await start(MDS_CONTROLLER_LEASE_SECONDS="1")
    output = (await process.communicate())[0].decode()
    assert process.returncode == 1
    assert "The demo failed: controller ended with status" in output
    assert "lease-seconds 1" in output, "the reason is in the end of the log"
    assert "Traceback" not in output
