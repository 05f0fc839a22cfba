"""What kubectl and mds show of scalers on a real API server, word for word (golden/reading.txt)."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from e2e.product import Product, product
from e2e.test_kubectl_story import DEPLOYMENT, scaler
from e2e.transcript import Transcript
from scaler_sim.operator.settings import OperatorSettings

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
_AGE: Final = re.compile(r"(?:^|(?<=[ (>]))\d+[smh](\d+[sm])?\b", re.MULTILINE)
_CLOCK: Final = re.compile(r"\b\d\d:\d\d:\d\d\b")
_GAPS: Final = re.compile(r"(?<=\S) {2,}")
_SAMPLES: Final = re.compile(r"( +)(Stabilization History:)\n(?:\1 {2}(?:Replicas|Timestamp): .*\n)+")
_DIGEST: Final = re.compile(r"(Resource Version|Generation|Target Generation): .*")
SHORT: Final = {"scaleDown": {"stabilizationWindowSeconds": 4, "decodePostScaleUpGraceSeconds": 1}}


def tidied(text: str) -> str:
    """Without what differs from run to run: ages, the widths that they make, windows, versions."""
    text = _SAMPLES.sub(r"\1\2 SAMPLES\n", text)
    text = _DIGEST.sub(r"\1: N", text)
    text = _CLOCK.sub("CLOCK", _AGE.sub("AGE", text))
    return "\n".join(_GAPS.sub("  ", line) for line in text.split("\n"))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Product]:
    operator = OperatorSettings(warm_up_seconds=1, withdraw_seconds=0.5, delete_seconds=1)
    async with product(tmp_path, operator=operator, factor=1.0) as running:
        yield running


class Reader:
    """Types commands into a transcript."""

    def __init__(self, world: Product, transcript: Transcript) -> None:
        self.world = world
        self.transcript = transcript

    async def types(self, *arguments: str, stdin: str = "") -> None:
        """A kubectl command that ends well."""
        text = await self.world.kubectl(*arguments, stdin=stdin)
        self.transcript.say(f"$ kubectl {' '.join(arguments)}", tidied(text), "")

    async def types_mds(self, *arguments: str) -> None:
        """An `mds` command, whatever its status."""
        reach = {
            "explain": ("--controller", f"http://127.0.0.1:{self.world.scenario.controller_health_port}"),
            "top": ("--kubeconfig", str(self.world.kubectl.kubeconfig)),
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "scaler_cli", *arguments, *reach[arguments[0]]),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "COLUMNS": "160"},
        )
        output, _ = await process.communicate()
        status = [] if not process.returncode else [f"[exit {process.returncode}]"]
        self.transcript.say(f"$ mds {' '.join(arguments)}", tidied(output.decode()), *status, "")

    async def edits(self, name: str, **spec: Any) -> None:
        """A change of a scaler's spec; its warnings are part of the story."""
        await self.types("patch", "mds", name, "--type=merge", "-p", json.dumps({"spec": spec}))

    async def until(self, name: str, type_: str, status: str, reason: str = "") -> None:
        """Wait for a condition."""

        async def look() -> bool:
            found = await self.world.condition(name, type_)
            return found[0] == status and (not reason or found[1] == reason)

        await self.world.eventually(f"{name} {type_}={status} {reason}", look, seconds=60)

    async def counts(self, **wanted: int) -> None:
        """Wait for counts."""

        async def look() -> bool:
            return await self.world.counts("llm") == wanted

        await self.world.eventually(f"counts {wanted}", look, seconds=60)


async def test_what_a_person_reads(world: Product) -> None:
    _, text = await world.kubectl.run("version", "-o", "json")
    words = re.findall(r'"gitVersion": "v(\d+\.\d+)', text)
    reader = Reader(world, Transcript(name="reading", versions=f"client {words[0]}, server {words[1]}"))
    await begins(reader)
    await shrinks(reader)
    await cannot_plan(reader)
    await steps_aside(reader)
    await leaves(reader)
    reader.transcript.compare()


async def begins(reader: Reader) -> None:
    reader.transcript.heading("a scaler in Shadow on an idle deployment")
    deployment = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "roles": _roles(prefill=2, decode=2)}}
    await reader.world.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(deployment))
    document = scaler(mode="Shadow", sampling={"intervalSeconds": 5}, behavior=SHORT)
    await reader.types("apply", "-f", "-", stdin=yaml.safe_dump(document))
    await reader.until("llm", "MetricsReady", "True")
    await reader.types("get", "mds")
    await reader.types("get", "mds", "-o", "wide")
    await reader.types("get", "events")


async def shrinks(reader: Reader) -> None:
    reader.transcript.heading("Active: it binds, and takes idle replicas away")
    await reader.edits("llm", mode="Active")
    await reader.counts(prefill=1, decode=1)
    await reader.until("llm", "Blocked", "False")
    await asyncio.sleep(8)  # the retirement of the last replica, and a sample after it
    await reader.types("get", "mds", "-o", "wide")
    await reader.types("describe", "mds", "llm")
    await reader.types_mds("explain", "llm")
    await reader.types_mds("top", "--once")


async def cannot_plan(reader: Reader) -> None:
    reader.transcript.heading("bounds that the counts violate")
    bounds = [{"name": "prefill", "minReplicas": 2, "maxReplicas": 4}, {"name": "decode", "maxReplicas": 4}]
    await reader.edits("llm", roles=bounds)
    await reader.until("llm", "Blocked", "True", "BoundsConflict")
    await reader.types("get", "mds", "-o", "wide")
    await reader.types("get", "mds", "llm", "-o", "jsonpath={.status.conditions[*].message}")
    await reader.types_mds("explain", "llm")
    await reader.edits("llm", roles=[{"name": name, "maxReplicas": 4} for name in ("prefill", "decode")])
    await reader.until("llm", "Blocked", "False")


async def steps_aside(reader: Reader) -> None:
    reader.transcript.heading("a second scaler for the same deployment, and one for none")
    other, lost = scaler(), scaler(targetRef={"name": "absent"})
    other["metadata"]["name"], lost["metadata"]["name"] = "other", "lost"
    await reader.types("apply", "-f", "-", stdin=yaml.safe_dump_all([other, lost]))
    await reader.until("other", "Bound", "False", "AlreadyBound")
    await reader.until("lost", "Bound", "False", "TargetNotFound")
    await reader.types("get", "mds")
    for name in ("other", "lost"):
        await reader.types("get", "mds", name, "-o", "jsonpath={.status.conditions[*].message}")
    await reader.types_mds("top", "--once")
    await reader.types_mds("explain", "other")


async def leaves(reader: Reader) -> None:
    reader.transcript.heading("suspended, then deleted")
    await reader.edits("llm", suspend=True)
    await reader.until("llm", "Bound", "False", "Suspended")
    await reader.types("get", "mds", "llm", "-o", "wide")
    await reader.types("delete", "mds", "llm", "--timeout=20s")
    await asyncio.sleep(1)
    events = await reader.world.kubectl("get", "events", "--field-selector", "involvedObject.name=llm")
    reader.transcript.say("$ kubectl get events", tidied(events))


def _roles(**counts: int) -> list[dict[str, Any]]:
    return [{**role, "replicas": counts[role["name"]]} for role in DEPLOYMENT["spec"]["roles"]]
