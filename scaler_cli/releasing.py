"""Suspending scalers and following them until they have let go of their targets; no terminal, no process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scaler_core.api.meta import ConditionStatus, ObjectKey
from scaler_core.api.ownership import BINDING, UnreadableError, parse_binding
from scaler_core.api.reasons import ConditionType
from scaler_core.api.scaler import FINALIZER
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.clock import Clock
from scaler_kube.resources import Resource
from scaler_kube.transport import Document

POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A scaler that did not let go."""

    key: ObjectKey
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    released: tuple[ObjectKey, ...]
    left: tuple[Left, ...]
    orphans: tuple[ObjectKey, ...]
    """ModelDeployments with a binding that no scaler here answers for: nobody will ever release it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """Scalers and the bindings that name them, read one after the other: bindings last."""

    scalers: Mapping[ObjectKey, Document]
    bound: Mapping[ObjectKey, ObjectKey]
    """Scaler to the target that it holds."""
    orphans: tuple[ObjectKey, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Releasing:
    """Every scaler of a namespace, or of all."""

    client: KubeClient
    clock: Clock
    scalers: Resource
    targets: Resource
    namespace: str | None
    """All namespaces when None."""
    say: Callable[[str], None]
    """Takes a line of progress."""
    _refused: dict[ObjectKey, str] = field(default_factory=dict)

    async def run(self, timeout_seconds: float) -> Outcome:
        """Suspend all, then wait until each has let go.

        Raises:
            KubeError: the API server could not be asked.
        """
        deadline = self.clock.monotonic() + timeout_seconds
        view = await self._view()
        told = -1
        while True:
            await self._suspend(view.scalers)
            view = await self._view()
            left = [left for key in view.scalers if (left := self._left(key, view)) is not None]
            if not left or self.clock.monotonic() >= deadline:
                gone = {one.key for one in left}
                released = tuple(key for key in view.scalers if key not in gone)
                return Outcome(released=released, left=tuple(left), orphans=view.orphans)
            if len(left) != told:
                told = len(left)
                self.say(f"{told} of {len(view.scalers)} scalers have not let go yet")
            await self.clock.sleep(POLL_SECONDS)

    async def drop_finalizers(self, keys: Sequence[ObjectKey]) -> None:
        """Let scalers be deleted without a controller; only of those that have let go.

        Raises:
            KubeError: one could not be changed.
        """
        documents = (await self._view()).scalers
        for key in keys:
            finalizers = documents[key]["metadata"].get("finalizers") or [] if key in documents else []
            if FINALIZER in finalizers:
                path = f"/metadata/finalizers/{finalizers.index(FINALIZER)}"
                operations = [{"op": "test", "path": path, "value": FINALIZER}, {"op": "remove", "path": path}]
                await self.client.patch_json(self.scalers, key, operations)

    async def _suspend(self, documents: Mapping[ObjectKey, Document]) -> None:
        for key, document in documents.items():
            is_leaving = "deletionTimestamp" in document["metadata"]
            if is_leaving or document["spec"].get("suspend") is True:
                continue
            try:
                await self.client.patch_merge(self.scalers, key, {"spec": {"suspend": True}})
                self._refused.pop(key, None)
            except errors.NotFoundError:
                continue
            except errors.KubeError as error:
                self._refused[key] = f"it could not be suspended: {error.message}"

    async def _view(self) -> _View:
        scalers = {_key(one): one for one in (await self._list(self.scalers))}
        bound: dict[ObjectKey, ObjectKey] = {}
        orphans: list[ObjectKey] = []
        for target in await self._list(self.targets):
            text = (target["metadata"].get("annotations") or {}).get(BINDING)
            if text is None:
                continue
            owner = _owner(target, text, scalers)
            if owner is None:
                orphans.append(_key(target))
            else:
                bound[owner] = _key(target)
        return _View(scalers=scalers, bound=bound, orphans=tuple(orphans))

    async def _list(self, resource: Resource) -> tuple[Document, ...]:
        try:
            return (await self.client.list_all(resource, namespace=self.namespace)).items
        except errors.NotFoundError:
            return ()  # the kind is not served: there is none of it

    def _left(self, key: ObjectKey, view: _View) -> Left | None:
        """Why a scaler still holds its target, or may; None when it has let go."""
        document = view.scalers[key]
        target = view.bound.get(key)
        if key in self._refused:
            return Left(key=key, why=self._refused[key])
        if target is not None:
            return Left(key=key, why=f"it holds ModelDeployment {target}{_bound_message(document)}")
        metadata, status = document["metadata"], document.get("status") or {}
        if (
            FINALIZER in (metadata.get("finalizers") or ())
            and status.get("observedGeneration", 0) < metadata["generation"]
        ):
            return Left(key=key, why="the controller has not seen its suspension yet")
        return None


def _owner(target: Document, text: str, scalers: Mapping[ObjectKey, Document]) -> ObjectKey | None:
    try:
        binding = parse_binding(text)
    except UnreadableError:
        return None
    key = ObjectKey(target["metadata"]["namespace"], binding.scaler_name)
    found = scalers.get(key)
    return key if found is not None and found["metadata"]["uid"] == binding.scaler_uid else None


def _bound_message(document: Document) -> str:
    for condition in (document.get("status") or {}).get("conditions") or ():
        if condition["type"] == ConditionType.BOUND and condition["status"] != ConditionStatus.TRUE:
            return f" ({condition['reason']}: {condition['message']})"
    return ""


def _key(document: Document) -> ObjectKey:
    return ObjectKey(document["metadata"]["namespace"], document["metadata"]["name"])
