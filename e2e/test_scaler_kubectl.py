"""A scaler as a person with kubectl sees it on a real API server, word for word (golden/scaler.txt).

It has no load, so that every number is known: it binds, finds its bounds broken by an edit, and is suspended.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from e2e.product import Product, product
from e2e.test_kubectl_story import DEPLOYMENT, has_condition, is_bound, scaler
from e2e.transcript import Transcript

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
EXPLAINED: Final = ("mds", "mds.spec", "mds.status")
MOMENTARY: Final = {"Stabilization History:"}
"""What grows with every sample."""


async def test_what_kubectl_prints_of_a_scaler(tmp_path: Path) -> None:
    async with product(tmp_path) as world:
        transcript = Transcript(name="scaler", versions=await versions(world))
        for path in EXPLAINED:
            await shown(world, transcript, "explain", path)
        transcript.heading("It binds, and has nothing to do")
        await world.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT))
        await world.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(scaler()))
        await world.eventually("signals", lambda: has_condition(world, "MetricsReady", "True"))
        await shown(world, transcript, "get", "mds", "-o", "wide")
        await shown(world, transcript, "describe", "mds", "llm")
        transcript.heading("Its minimum is raised above the counts that it has")
        roles = [{"name": "prefill", "minReplicas": 2, "maxReplicas": 4}, {"name": "decode", "maxReplicas": 4}]
        await world.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(scaler(roles=roles)))
        await world.eventually("blocked", lambda: has_condition(world, "Blocked", "True"))
        await shown(world, transcript, "get", "mds", "-o", "wide")
        await conditions(world, transcript)
        transcript.heading("It is suspended")
        await world.kubectl("patch", "mds", "llm", "--type=merge", "-p", json.dumps({"spec": {"suspend": True}}))
        await world.eventually("released", lambda: is_bound(world, wanted=False))
        await world.eventually("said so", lambda: has_condition(world, "Bound", "False"))
        await shown(world, transcript, "get", "mds", "-o", "wide")
        await conditions(world, transcript)
        await events(world, transcript)
        transcript.compare()


async def versions(world: Product) -> str:
    """What the words that are not ours depend on."""
    found = re.findall(r"(Client|Server) Version: v(\d+\.\d+)", await world.kubectl("version"))
    return ", ".join(f"{who.lower()} {version}" for who, version in found)


async def shown(world: Product, transcript: Transcript, *arguments: str) -> None:
    """A command and what it printed, ages and what grows left out."""
    transcript.say(f"$ kubectl {' '.join(arguments)}", *steady(await world.kubectl(*arguments)))


async def conditions(world: Product, transcript: Transcript) -> None:
    """Every condition with its words."""
    path = '{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}'
    transcript.say(
        "$ kubectl get mds llm -o jsonpath=...conditions...",
        await world.kubectl("get", "mds", "llm", "-o", f"jsonpath={path}"),
    )


async def events(world: Product, transcript: Transcript) -> None:
    """Everything that was said of the scaler, in order."""

    async def is_told() -> bool:
        return "Released" in await world.kubectl("get", "events")

    await world.eventually("released is told", is_told)
    found: list[dict[str, Any]] = (await world.kubectl.json("get", "events"))["items"]
    ours = sorted(
        (one for one in found if one["involvedObject"]["kind"] == "ModelDeploymentScaler"),
        key=lambda one: str(one.get("eventTime") or one["metadata"]["creationTimestamp"]),
    )
    transcript.say("$ kubectl get events", *(f"{one['type']} {one['reason']}: {one['message']}" for one in ours))


def steady(text: str) -> list[str]:
    """Lines without ages, and without the parts that differ from sample to sample."""
    kept: list[str] = []
    skipped: int | None = None
    for line in re.sub(r"(?<= )(\d+[dhms])+(?= |$)|<unknown>|<invalid>", "AGE", text, flags=re.MULTILINE).splitlines():
        depth = len(line) - len(line.lstrip())
        if skipped is not None and (depth > skipped or not line.strip()):
            continue
        skipped = depth if line.strip() in MOMENTARY else None
        if skipped is None:
            kept.append(re.sub(r"^(\s*(?:Resource Version|Observed Generation|Generation):\s+)\d+", r"\1N", line))
    return kept
