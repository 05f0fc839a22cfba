"""The writes of GitOps tools, replayed: what each sends for a manifest in Git, and what its user is shown.

Argo CD   client-side apply by default: a merge patch of the three-way difference; or server-side apply, always with
          force; ServerSideDiff compares by a dry run of the latter. RespectIgnoreDifferences writes the live values
          of ignored fields into the manifest first, by a merge patch, in which lists are atomic.
Flux      server-side apply with force, dry run first and with everything in it; then, where something but ignored
          fields differs, for real with the live values of the ignored fields.
helm 3    a merge patch from the last manifest to the new one.
helm 4    server-side apply without force.
"""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import jsonpointer

from scaler_core.api.ownership import BINDING, DECISION
from scaler_kube import resources
from scaler_kube.transport import APPLY_PATCH, MERGE_PATCH

Document = dict[str, Any]
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
IGNORED: Final = (
    "/spec/roles/0/replicas",
    "/spec/roles/1/replicas",
    *(f"/metadata/annotations/{key.replace('/', '~1')}" for key in (BINDING, DECISION)),
)
"""Pointers of the contract's recipes, one for each of two roles."""
ARGO_SYNCED: Final = "Synced"
FLUX_APPLIED: Final = "Applied revision: main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said to one write."""

    sent: str
    """The write in a few words."""
    code: int
    message: str
    warnings: tuple[str, ...]
    document: Document

    @property
    def is_done(self) -> bool:
        """Whether it was accepted."""
        return self.code < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """One run of a tool: its writes, and the line that its user reads."""

    writes: tuple[Answer, ...]
    shown: str

    @property
    def is_done(self) -> bool:
        """Whether every write was accepted."""
        return all(write.is_done for write in self.writes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """All tools, each with its own field manager, as one user of the API server."""

    session: aiohttp.ClientSession

    async def argo(self, git: Document, *, respecting: Sequence[str] = ()) -> Sync:
        """A sync with client-side apply; `respecting` are pointers under RespectIgnoreDifferences."""
        live = await self.live(git)
        if live is None:
            write = await self._create(_recording(git), "argocd-controller")
        else:
            desired = _recording(_with_live(git, live, respecting))
            patch = three_way(_last_applied(live), desired, live)
            write = await self._patch(git, MERGE_PATCH, patch, fieldManager="argocd-controller")
        prefix = 'one or more objects failed to apply, reason: error when patching "/dev/shm/N": '
        return Sync(writes=(write,), shown=ARGO_SYNCED if write.is_done else prefix + write.message)

    async def argo_server_side(self, git: Document, *, respecting: Sequence[str] = ()) -> Sync:
        """A sync with ServerSideApply=true."""
        live = await self.live(git)
        desired = _with_live(git, live, respecting) if live is not None else git
        write = await self._apply(desired, "argocd-controller")
        shown = ARGO_SYNCED if write.is_done else f"one or more objects failed to apply, reason: {write.message}"
        return Sync(writes=(write,), shown=shown)

    async def argo_diff(self, git: Document, *, ignoring: Sequence[str] = ()) -> Sync:
        """A comparison with ServerSideDiff=true."""
        live, write = await self.live(git), await self._apply(git, "argocd-controller", dryRun="All")
        if not write.is_done:
            return Sync(writes=(write,), shown=f"ComparisonError: {write.message}")
        return Sync(writes=(write,), shown="OutOfSync" if differs(live, write.document, ignoring) else "Synced")

    async def flux(self, git: Document, *, ignoring: Sequence[str] = ()) -> Sync:
        """A reconciliation of a Kustomization with `spec.ignore`."""
        live, trial = await self.live(git), await self._apply(git, "kustomize-controller", dryRun="All")
        if not trial.is_done:
            return Sync(
                writes=(trial,), shown=f"ModelDeployment/default/llm dry-run failed (Forbidden): {trial.message}"
            )
        if not differs(live, trial.document, ignoring):
            return Sync(writes=(trial,), shown=FLUX_APPLIED)
        write = await self._apply(_adopting(git, live, ignoring), "kustomize-controller")
        failed = f"ModelDeployment/default/llm apply failed (Forbidden): {write.message}"
        return Sync(writes=(trial, write), shown=FLUX_APPLIED if write.is_done else failed)

    async def helm3(self, last: Document, new: Document) -> Sync:
        """An upgrade by helm 3."""
        write = await self._patch(new, MERGE_PATCH, two_way(last, new), fieldManager="helm")
        failed = f'Error: UPGRADE FAILED: cannot patch "llm" with kind ModelDeployment: {write.message}'
        return Sync(writes=(write,), shown='Release "llm" has been upgraded.' if write.is_done else failed)

    async def helm4(self, new: Document) -> Sync:
        """An upgrade by helm 4."""
        write = await self._apply(new, "helm", force="false")
        failed = f"Error: UPGRADE FAILED: {write.message}"
        return Sync(writes=(write,), shown='Release "llm" has been upgraded.' if write.is_done else failed)

    async def live(self, git: Document) -> Document | None:
        """The object as stored, None when there is none."""
        async with self.session.get(_path(git)) as response:
            return await response.json() if response.status == 200 else None

    async def _create(self, body: Document, manager: str) -> Answer:
        path = resources.deployments().collection_path(body["metadata"]["namespace"])
        async with self.session.post(path, json=body, params={"fieldManager": manager}) as response:
            return await _answer(f"create by {manager}", response)

    async def _apply(self, body: Document, manager: str, **query: str) -> Answer:
        return await self._patch(body, APPLY_PATCH, body, **{"fieldManager": manager, "force": "true", **query})

    async def _patch(self, git: Document, content_type: str, body: Document, **query: str) -> Answer:
        kind = content_type.removeprefix("application/").partition("+")[0]
        options = " ".join(f"{name}={value}" for name, value in query.items())
        headers = {"Content-Type": content_type}
        async with self.session.patch(_path(git), data=json.dumps(body), headers=headers, params=query) as response:
            return await _answer(f"{kind} {options}", response)


def three_way(original: Document, modified: Document, current: Document) -> Document:
    """kubectl's merge patch for custom resources: changes of the manifest, and deletions since the last one."""
    additions = _kept(two_way(current, modified), deletions=False)
    deletions = _kept(two_way(original, modified), deletions=True)
    return _merged(additions, deletions)


def two_way(old: Any, new: Any) -> Document:
    """The merge patch (RFC 7386) from one document to another."""
    patch: Document = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            inner = two_way(old[key], value)
            patch |= {key: inner} if inner else {}
        elif value != old[key]:
            patch[key] = value
    return patch


def merge(document: Document, patch: Mapping[str, Any]) -> Document:
    """A document after a merge patch (RFC 7386)."""
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merge(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = value
    return result


def differs(live: Document | None, trial: Document, ignoring: Sequence[str]) -> bool:
    """Whether a dry run would change more than ignored fields and what the server itself writes."""
    return live is None or _comparable(live, ignoring) != _comparable(trial, ignoring)


def _comparable(document: Document, ignoring: Sequence[str]) -> Document:
    kept = _without(document, ignoring)
    for member in ("managedFields", "resourceVersion", "generation", "creationTimestamp"):
        kept["metadata"].pop(member, None)
    return kept


def _without(document: Document, pointers: Sequence[str]) -> Document:
    result = copy.deepcopy(document)
    for pointer in pointers:
        parent, member = jsonpointer.JsonPointer(pointer).to_last(result)
        if isinstance(parent, dict):
            parent.pop(member, None)
    return result


def _with_live(git: Document, live: Document, pointers: Sequence[str]) -> Document:
    """RespectIgnoreDifferences: what the ignored fields add to the live object is merged into the manifest.

    The merge patch that carries a count carries its whole list of roles.
    """
    return merge(git, two_way(_without(live, pointers), live)) if pointers else git


def _adopting(git: Document, live: Document | None, pointers: Sequence[str]) -> Document:
    """`spec.ignore`: a pointer's live value is written at the same place of the manifest, where both have it."""
    result = copy.deepcopy(git)
    for pointer in pointers if live is not None else ():
        place = jsonpointer.JsonPointer(pointer)
        if place.resolve(result, None) is not None and place.resolve(live, None) is not None:
            place.set(result, place.resolve(live))
    return result


def _kept(patch: Document, *, deletions: bool) -> Document:
    """The additions and changes of a merge patch, or its deletions."""
    kept: Document = {}
    for key, value in patch.items():
        if isinstance(value, dict):
            inner = _kept(value, deletions=deletions)
            kept |= {key: inner} if inner else {}
        elif (value is None) == deletions:
            kept[key] = value
    return kept


def _merged(one: Document, other: Document) -> Document:
    result = dict(one)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = _merged(result[key], value) if both else value
    return result


def _recording(git: Document) -> Document:
    """A manifest with the annotation by which client-side apply remembers it."""
    annotations = git["metadata"].get("annotations") or {}
    text = json.dumps(git, separators=(",", ":")) + "\n"
    return {**git, "metadata": {**git["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}}


def _last_applied(live: Document) -> Document:
    annotations = live["metadata"].get("annotations") or {}
    found: Document = json.loads(annotations.get(LAST_APPLIED, "{}"))
    return found


def _path(git: Document) -> str:
    metadata = git["metadata"]
    return resources.deployments().object_path(metadata["namespace"], metadata["name"])


async def _answer(sent: str, response: aiohttp.ClientResponse) -> Answer:
    document: Document = await response.json()
    warnings = tuple(
        re.sub(r'^299 \S+ "(.*)"$', r"\1", text).replace('\\"', '"') for text in response.headers.getall("Warning", ())
    )
    message = "" if response.status < 300 else str(document.get("message", ""))
    return Answer(sent=sent, code=response.status, message=message, warnings=warnings, document=document)
