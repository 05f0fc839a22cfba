"""Real reviews, and what becomes of them: members replaced, bytes changed, ends cut off; everything from one seed."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from scaler_core.admission.verdict import Request
from tests.core.admission import fence_world
from tests.core.admission.fence_world import B, D
from tests.core.admission.test_fence import ACCEPTED as FENCE_ACCEPTED
from tests.core.admission.test_fence import REFUSED as FENCE_REFUSED
from tests.core.admission.test_scaler import REFUSED as SCALER_REFUSED
from tests.webhook.webhook_world import review

JUNK: Final = (
    None, True, False, 0, 1, -1, 2, 3, 1.0, 4.0, 1e400, 2**63, 2**70, "", "x", "\ud800", "map[a]", "immutable", "a\nb",
    "\x00", [], {}, [None], {"a": {}}, {"name": "decode", "replicas": 3}, "CREATE", "UPDATE", "DELETE", "status",
    fence_world.binding(), fence_world.binding(uid="uid-2", term=5), fence_world.binding(name="../x"),
    fence_world.decision(), fence_world.decision("d-2", prefill=1, decode=1), fence_world.decision("d-2", term=5),
    '{"term":NaN}', "[" * 5000, fence_world.USER, fence_world.OPERATOR,
)  # fmt: skip
"""What a member may become: of another type, odd, or meaningful elsewhere."""


def corpus() -> list[dict[str, Any]]:
    """Every case of the tables of both webhooks as a review, and bound deployments one write apart."""
    cases = [case.values[0] for case in (*FENCE_REFUSED, *FENCE_ACCEPTED, *SCALER_REFUSED)]
    return [_document(case) for case in cases if isinstance(case, Request)]


def mutated(seed: int) -> Iterator[bytes]:
    """Reviews without end, each some mutations away from a case; a fifth of them with changed bytes."""
    random, cases = Random(seed), corpus()
    while True:
        document = copy.deepcopy(random.choice(cases))
        for _ in range(random.choice((0, 1, 1, 2, 3, 6))):
            _mutate(random, document)
        text = json.dumps(document, ensure_ascii=random.random() < 0.9).encode("utf-8", "surrogatepass")
        yield _with_changed_bytes(random, text) if random.random() < 0.2 else text


def _document(case: Request) -> dict[str, Any]:
    old = dict(case.old) if case.operation == "UPDATE" else None
    return review(dict(case.new), old, user=case.user, operation=str(case.operation), dry_run=case.is_dry_run)


def _mutate(random: Random, document: dict[str, Any]) -> None:
    """Change one member of the request, most often one that the fence looks at."""
    request = document["request"]
    match random.randrange(8):
        case 0:
            request["object"], request["oldObject"] = request.get("oldObject"), request.get("object")
        case 1:
            request["userInfo"] = {"username": random.choice((fence_world.USER, fence_world.OPERATOR))}
        case 2:
            request["dryRun"] = random.random() < 0.5
        case 3 | 4:
            _move(random, request)
        case _:
            _replace(random, request)


def _move(random: Random, request: dict[str, Any]) -> None:
    """Another count or annotation, on one side."""
    side = request.get(random.choice(("object", "oldObject")))
    roles = side.get("spec", {}).get("roles") if isinstance(side, dict) and isinstance(side.get("spec"), dict) else None
    metadata = side.get("metadata") if isinstance(side, dict) else None
    if random.random() < 0.5 and isinstance(roles, list) and roles and isinstance(roles[0], dict):
        role = random.choice(roles)
        if isinstance(role, dict):
            role["replicas"] = random.choice((None, 1, 2, 3, 4, 5, 6))
    elif isinstance(metadata, dict):
        annotations = metadata.setdefault("annotations", {})
        if isinstance(annotations, dict):
            annotations[random.choice((B, D))] = random.choice([text for text in JUNK if isinstance(text, str)])


def _replace(random: Random, request: dict[str, Any]) -> None:
    """Replace, remove or copy a member anywhere below the request, but for its UID."""
    places = [place for place in _places(request) if place[1] != "uid"]
    parent, member = random.choice(places)
    if isinstance(parent, dict) and random.random() < 0.2:
        del parent[member]
    elif random.random() < 0.2:
        other, name = random.choice(places)
        parent[member] = copy.deepcopy(other[name])
    else:
        parent[member] = copy.deepcopy(random.choice(JUNK))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    members = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for member, value in list(members):
        yield node, member
        yield from _places(value)


def _with_changed_bytes(random: Random, text: bytes) -> bytes:
    """Flip, cut, insert or repeat something behind the UID."""
    start = text.index(b'"uid"') + 20
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.randrange(start, len(text)) if len(text) > start else len(text)
        piece = bytes(random.randrange(256) for _ in range(random.randrange(1, 4)))
        match random.randrange(4):
            case 0:
                text = text[:place] + piece + text[place + len(piece) :]
            case 1:
                text = text[:place]
            case 2:
                text = text[:place] + piece + text[place:]
            case _:
                text = text[:place] + text[start:place] + text[place:]
    return text
