"""Whatever bytes arrive at an endpoint: an answer with the UID, never a failure of ours, and the oracle's verdict.

The oracle (tests/core/admission/fence_oracle.py) is asked about every review that the API server could send, which
means: documents that the schema stores.
"""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any, Final

import pytest
import trustme

from scaler_core.admission import registration
from scaler_core.admission.verdict import Absent, Allowed, Denied, Found, Lookup, NeedsLookup, Undecided
from scaler_core.api import crd
from scaler_sim.apiserver.cluster import ClusterSettings, EmbeddedCluster, neighbour_definitions
from scaler_webhook import handlers, review
from tests.core.admission import fence_oracle, fence_world
from tests.webhook import webhook_world
from tests.webhook.review_mutation import mutated

UID: Final = "0b5c-42"
SCALERS: Final = (
    None,
    *({"uid": uid, "target": target, "dying": dying}
      for uid in ("uid-1", "uid-2") for target in ("llm", "chat") for dying in (False, True)),
)  # fmt: skip
JUDGES: Final = handlers.judges(fence_world.OPERATORS)


class Reads:
    """Fresh reads that find the same scaler, or nothing, every time."""

    def __init__(self, scaler: dict[str, Any] | None) -> None:
        self._scaler = scaler

    async def read(self, need: NeedsLookup) -> Lookup:
        if self._scaler is None or need.kind != "ModelDeploymentScaler":
            return Absent()
        found = fence_world.scaler(self._scaler["uid"], self._scaler["target"], terminating=self._scaler["dying"])
        assert isinstance(found, Found)
        return found


async def answer(path: str, body: bytes, scaler: dict[str, Any] | None) -> dict[str, Any]:
    """What the endpoint says, by the same steps as the server."""
    verdict: Allowed | Denied | Undecided
    match review.parse(body):
        case review.Malformed(uid=uid, reason=reason):
            verdict = review.malformed(reason)
        case review.PassThrough(uid=uid):
            verdict = Allowed()
        case review.Review(uid=uid, request=asked):
            verdict = await handlers.decide(JUDGES[path], asked, Reads(scaler), 9.0)
    response: dict[str, Any] = json.loads(review.render(uid, verdict))["response"]
    return response


def is_storable(document: Any) -> bool:
    """Whether the schema of the target stores it, as far as the fence looks at it."""
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        return False
    annotations = document["metadata"].get("annotations", {})
    roles = document["spec"].get("roles") if isinstance(document.get("spec"), dict) else None
    if not isinstance(annotations, dict) or not isinstance(roles, list):
        return False
    texts = all(isinstance(text, str) for text in annotations.values())
    names = [role.get("name") for role in roles if isinstance(role, dict) and is_role(role)]
    named = document["metadata"].get("name") == "llm"  # admission reviews name the object twice
    return texts and named and len(names) == len(roles) == len(set(names))


def is_role(role: dict[str, Any]) -> bool:
    count, kind = role.get("replicas"), role.get("instanceType", "x")
    counted = count is None or (type(count) in (int, float) and 1 <= count <= 1024 and count == int(count))
    return isinstance(role.get("name"), str) and counted and isinstance(kind, str)


def expected(body: bytes, scaler: dict[str, Any] | None) -> bool | None:
    """The oracle's verdict of the fence; None where the API server would not have asked."""
    try:
        request = json.loads(body)["request"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if not isinstance(request, dict) or request.get("uid") != UID or request.get("name") != "llm":
        return None
    if (
        request.get("operation") != "UPDATE"
        or request.get("subResource")
        or not isinstance(request.get("dryRun"), bool)
    ):
        return None
    old, new, user = request.get("oldObject"), request.get("object"), request.get("userInfo")
    if not is_storable(old) or not is_storable(new) or not isinstance(user, dict):
        return None
    if not isinstance(user.get("username"), str) or isinstance(new["metadata"].get("deletionTimestamp"), dict | list):
        return None
    operator = user["username"] in fence_world.OPERATORS
    return fence_oracle.permits(old, new, operator=operator, dry_run=request["dryRun"], scaler=scaler)


async def fuzz(count: int, seed: int) -> None:
    judged = dict.fromkeys((True, False), 0)
    paths, scalers = itertools.cycle(JUDGES), itertools.cycle(SCALERS)
    for body, scaler in zip(itertools.islice(mutated(seed), count), scalers, strict=False):
        await check(next(paths), body, scaler)
        wanted = expected(body, scaler)
        if wanted is not None:
            response = await answer(registration.VALIDATE_DEPLOYMENT, body, scaler)
            assert response["allowed"] == wanted, (body, scaler, response)
            judged[wanted] += 1
    assert min(judged.values()) > count / 20, f"too few of a verdict were compared: {judged}"


async def check(path: str, body: bytes, scaler: dict[str, Any] | None) -> None:
    """An answer with the UID that says what it is, and no failure of ours."""
    response = await answer(path, body, scaler)
    assert response["uid"] == UID, body
    if response["allowed"]:
        return
    status = response["status"]
    assert status["code"] == 403, (body, status)
    assert status["message"].isascii(), (body, status)
    assert status["message"].isprintable(), (body, status)
    assert not {"immutable", "map["} & {word for word in ("immutable", "map[") if word in status["message"].lower()}


async def test_mutated_reviews_get_their_uid_and_the_oracles_verdict() -> None:
    await fuzz(1500, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [2, 3])
async def test_mutated_reviews_get_their_uid_and_the_oracles_verdict_at_length(seed: int) -> None:
    await fuzz(20_000, seed=seed)


@pytest.mark.parametrize("count", [100, pytest.param(4000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_mutated_reviews_are_answered_over_the_wire(count: int, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate, key = webhook_world.certificate_files(tmp_path, authority)
    definitions = (*neighbour_definitions(), crd.definition())
    async with EmbeddedCluster(ClusterSettings(definitions=definitions)) as cluster:
        settings = webhook_world.settings(cluster, tls_cert=certificate, tls_key=key)
        async with webhook_world.serving(settings, webhook_world.trusting(authority)) as webhook:
            paths = itertools.cycle(JUDGES)
            for bodies in batches(mutated(4), count):
                answers = await asyncio.gather(*(webhook.post(next(paths), body) for body in bodies))
                assert [(status, response["uid"]) for status, response in answers] == [(200, UID)] * len(bodies)
                assert not [one for _, one in answers if not one["allowed"] and one["status"]["code"] not in (403, 503)]


def batches(bodies: Any, count: int, size: int = 20) -> Any:
    """So many bodies in lists of a size."""
    limited = itertools.islice(bodies, count)
    while batch := list(itertools.islice(limited, size)):
        yield batch
