"""Writes of the target (and of our finalizer): one request, and an outcome whatever happens to it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from scaler_controller.reconciler.caches import target_key
from scaler_controller.reconciler.own_writes import OwnWrites
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.meta import ObjectKey
from scaler_core.api.scaler import FINALIZER, ModelDeploymentScaler
from scaler_core.api.scaler_status import Commit
from scaler_core.model.action import (
    Action,
    AddFinalizer,
    Bind,
    Committed,
    CommitVector,
    Conflicted,
    Outcome,
    Refused,
    Release,
    RemoveFinalizer,
    Unknown,
)
from scaler_core.model.world import World
from scaler_core.transactions import patches
from scaler_kube import errors
from scaler_kube.client import DryRun, FieldConflicts, KubeClient
from scaler_kube.clock import Clock
from scaler_kube.resources import Resource

_log = logging.getLogger(__name__)
FENCE_IS_OPEN = (
    "the admission fence let through a write that it must refuse, so nothing would protect the counts; "
    "install or repair the webhook configurations"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetWriter:
    """Carries out one action."""

    client: KubeClient
    clock: Clock
    scaler_resource: Resource
    target_resource: Resource
    own_writes: OwnWrites
    deadline: Callable[[], float]
    """By when the next write must have been answered, in real seconds of the event loop's clock."""

    async def carry_out(self, action: Action, world: World) -> Outcome:
        """Write once; the API server's refusals and conflicts are outcomes, not errors.

        Raises:
            KubeError: what came of the write could not be read either; the next pass finds out.
        """
        match action:
            case AddFinalizer():
                return await self._finalizers(world.scaler, (*world.scaler.metadata.finalizers, FINALIZER))
            case RemoveFinalizer():
                kept = tuple(name for name in world.scaler.metadata.finalizers if name != FINALIZER)
                return await self._finalizers(world.scaler, kept)
            case Bind(term=term):
                return await self._bind(world, term)
            case Release():
                target = _existing(world)
                return await self._patch(world, target, patches.release(target), None)
            case CommitVector(intent=intent):
                target = _existing(world)
                return await self._patch(world, target, patches.commit(target, intent), intent)
            case _:
                assert_never(action)

    async def own_counts(self, world: World) -> None:
        """Apply the current counts once, so that a manifest without `replicas` does not take them back to one.

        Giving fields up as their last owner resets them, so nothing less is ever applied later. A
        failure is no reason to hold anything up: counts are then owned from the first commit on.
        """
        key = target_key(world.scaler)
        try:
            now = ModelDeployment.from_wire(await self.client.get(self.target_resource, key))
            body = {
                "apiVersion": self.target_resource.api_version,
                "kind": self.target_resource.kind,
                "metadata": {"name": key.name, "namespace": key.namespace, "uid": now.metadata.uid},
                "spec": {"roles": [{"name": role.name, "replicas": role.replicas} for role in now.spec.roles]},
            }
            document = await self.client.apply(
                self.target_resource, key, body, conflicts=FieldConflicts.REFUSE, deadline=self.deadline()
            )
        except errors.KubeError as error:
            _log.warning("Counts are not co-owned by server-side apply", extra={"error": str(error)})
        else:
            self._note(world.key, document)

    async def _bind(self, world: World, term: int) -> Outcome:
        """Bind only behind a fence that was seen to refuse."""
        target = _existing(world)
        try:
            await self.client.patch_json(
                self.target_resource,
                target.metadata.key,
                patches.probe(target),
                dry_run=DryRun.ALL,
                deadline=self.deadline(),
            )
        except errors.KubeError as error:
            answer = patches.Answer(code=error.code, message=error.message)
            if not patches.proves_fence(answer):
                return Refused(message=f"the admission fence could not be proven: {error.message}")
        else:
            return Refused(message=FENCE_IS_OPEN)
        return await self._patch(world, target, patches.bind(target, world.scaler, term), None)

    async def _patch(
        self, world: World, target: ModelDeployment, operations: Sequence[Mapping[str, Any]], intent: Commit | None
    ) -> Outcome:
        key = target.metadata.key
        try:
            document = await self.client.patch_json(self.target_resource, key, operations, deadline=self.deadline())
        except errors.KubeError as error:
            answer = patches.Answer(code=error.code, message=error.message)
            return patches.classify(answer, target, await self._read(key), intent)
        self._note(world.key, document)
        return Committed(generation=ModelDeployment.from_wire(document).metadata.generation)

    async def _finalizers(self, scaler: ModelDeploymentScaler, names: Sequence[str]) -> Outcome:
        metadata = {"resourceVersion": scaler.metadata.resource_version, "finalizers": list(names)}
        key = scaler.metadata.key
        try:
            document = await self.client.patch_merge(
                self.scaler_resource, key, {"metadata": metadata}, deadline=self.deadline()
            )
        except errors.ConflictError as error:
            return Conflicted(message=error.message)
        except errors.NotFoundError:
            return Conflicted(message="the scaler does not exist any more")
        except (errors.ForbiddenError, errors.InvalidError) as error:
            return Refused(message=error.message)
        except errors.UnavailableError as error:
            return Unknown(message=error.message)
        self.own_writes.note_scaler(key, document["metadata"]["resourceVersion"], self.clock.monotonic())
        return Committed(generation=int(document["metadata"].get("generation", 0)))

    async def _read(self, key: ObjectKey) -> ModelDeployment | None:
        try:
            return ModelDeployment.from_wire(await self.client.get(self.target_resource, key))
        except errors.NotFoundError as error:
            if error.is_absent(key.name):
                return None
            raise

    def _note(self, scaler: ObjectKey, document: Mapping[str, Any]) -> None:
        self.own_writes.note_target(scaler, document["metadata"]["resourceVersion"], self.clock.monotonic())


def _existing(world: World) -> ModelDeployment:
    if world.target is None:
        raise ValueError(f"{world.key} has no target to write")
    return world.target
