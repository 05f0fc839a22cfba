"""Writes: create, replace, patch, apply and delete, from the request's body to the stored version."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from scaler_sim.apiserver import builtins, eventkinds, objects, ownership, patching
from scaler_sim.apiserver.admission import Admission, Subject
from scaler_sim.apiserver.calls import Call, is_true
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.errors import (
    Cause,
    CauseType,
    Document,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported_media_type,
)
from scaler_sim.apiserver.lifecycle import Lifecycle
from scaler_sim.apiserver.ownership import Manager
from scaler_sim.apiserver.patching import PatchType
from scaler_sim.apiserver.storage import Store, Stored

ATTEMPTS: Final = 5
"""How often a patch is tried again when another write came between its read and its write, as a real server does."""

Change = Callable[[Document], Document]


class Writer:
    """All writes of a cluster go through here; reads do not."""

    def __init__(self, store: Store, admission: Admission, lifecycle: Lifecycle, clock: Clock) -> None:
        self._store = store
        self._admission = admission
        self._lifecycle = lifecycle
        self._clock = clock

    async def create(self, call: Call, body: Any) -> Document:
        """Store a new object.

        Raises:
            StatusError: 400, 403, 404 for the namespace, 409 when the name is taken, 422, or a webhook's refusal.
        """
        document = objects.begin(call, self._decoded(call, body), self._clock.now())
        return await self._insert(call, self._owned(call, None, document))

    async def replace(self, call: Call, body: Any) -> Document:
        """Replace an object, or its status.

        Raises:
            StatusError: as for `create`, and 409 for another version.
        """
        document = self._decoded(call, body)
        if call.resource.creates_on_update and self._store.get(call.key) is None:
            return await self.create(call, body)
        return await self._change(call, lambda _: document, self._manager(call, "Update"))

    async def patch(self, call: Call, kind: str, patch: Any) -> Document:
        """Patch an object, or its status; an apply patch may create it.

        Raises:
            StatusError: as for `replace`, 415 for a patch type that the resource does not take, 422 for a JSON patch
                that cannot be applied.
        """
        if kind == PatchType.APPLY:
            return await self._apply(call, patch)
        change = _patcher(call, kind, patch)
        return await self._change(
            call, lambda old: self._decoded(call, change(_wire(call, old))), self._manager(call, "Update")
        )

    async def delete(self, call: Call, options: Document) -> tuple[int, Document]:
        """Begin or finish the end of an object.

        Args:
            call: names the object.
            options: `DeleteOptions` of the body; empty for none.

        Returns:
            The status code and the body: the object when it lingers, else a `Status` of success.

        Raises:
            StatusError: 404, 409 for a failed precondition, or a webhook's refusal.
        """
        stored = self._present(call)
        self._lifecycle.check_preconditions(call, stored.document, options)
        await self._admission.validate(Subject(call=call, operation="DELETE", new=None, old=self._shown(call, stored)))
        stored = self._present(call)
        return self._lifecycle.delete(call, stored, options)

    async def _apply(self, call: Call, body: Any) -> Document:
        if not call.query.get("fieldManager"):
            cause = Cause(
                reason=CauseType.REQUIRED, field="fieldManager", message="Required value: is required for apply patch"
            )
            raise invalid(call.resource, "", [cause])
        config = objects.check_header(call, body)
        if config["metadata"].get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        schema = ownership.apply_schema(call.resource)
        ownership.refuse_undeclared(config, schema)
        manager = self._manager(call, "Apply")
        force = is_true(call.query.get("force"))

        def applied(live: Document | None) -> Document:
            return ownership.apply(live, config, schema, manager, now=self._clock.now(), force=force)

        if self._store.get(call.key) is None:
            if call.subresource:
                raise not_found(call.resource, call.name)
            shaped = objects.shaped(call.resource, applied(None))
            return await self._insert(call, objects.begin(call, shaped, self._clock.now()))
        version = config["metadata"].get("resourceVersion")

        def change(old: Document) -> Document:
            if version and version != old["metadata"]["resourceVersion"]:
                raise conflict(call.resource, call.name)
            return objects.shaped(call.resource, applied(old))

        return await self._change(call, change, None)

    async def _insert(self, call: Call, document: Document) -> Document:
        self._lifecycle.check_namespace(call)
        subject = Subject(call=call, operation="CREATE", new=document, old=None)
        mutated = await self._admission.mutate(subject, lambda changed: objects.shaped(call.resource, changed))
        named = objects.named(mutated)
        objects.check_content(call.resource, named)
        call = replace(call, name=named["metadata"]["name"])
        await self._admission.validate(Subject(call=call, operation="CREATE", new=named, old=None))
        if self._store.get(call.key) is not None:
            raise already_exists(call.resource, call.name)
        if call.is_dry_run:
            return named
        return self._lifecycle.insert(call, self._stored_form(call, named))

    async def _change(self, call: Call, change: Change, manager: Manager | None) -> Document:
        """Change a stored object; `manager` None leaves ownership as `change` recorded it."""
        for _ in range(ATTEMPTS):
            stored = self._present(call)
            old = self._shown(call, stored)
            new = objects.carry_over(call, objects.Update(old, change(old)))
            if manager is not None:
                new = self._owned(call, old, new)
            new = await self._admitted(call, objects.Update(old, new))
            if self._store.get(call.key) is stored:
                return self._update(call, stored, new)
        raise conflict(call.resource, call.name)

    async def _admitted(self, call: Call, update: objects.Update) -> Document:
        subject = Subject(call=call, operation="UPDATE", new=update.new, old=update.old)
        mutated = await self._admission.mutate(subject, lambda changed: objects.shaped(call.resource, changed))
        new = objects.carry_over(call, objects.Update(update.old, mutated))
        objects.check_content(call.resource, new)
        await self._admission.validate(Subject(call=call, operation="UPDATE", new=new, old=update.old))
        return new

    def _update(self, call: Call, stored: Stored, new: Document) -> Document:
        if objects.is_same(self._shown(call, stored), new):
            return self._shown(call, stored)
        if call.is_dry_run:
            return new
        return self._lifecycle.update(call, self._stored_form(call, new))

    def _decoded(self, call: Call, body: Any) -> Document:
        document = objects.check_header(call, body)
        if eventkinds.is_renamed(call.resource):
            document = {**eventkinds.to_core(document), "apiVersion": call.resource.api_version}
        unreadable = builtins.unreadable_time(call.resource, document)
        if unreadable:
            raise bad_request(unreadable)
        return objects.shaped(call.resource, document)

    def _stored_form(self, call: Call, document: Document) -> Document:
        """Objects are kept in the storage version of their kind."""
        return {**document, "apiVersion": self._lifecycle.storage_version(call.resource)}

    @staticmethod
    def _shown(call: Call, stored: Stored) -> Document:
        return {**stored.document, "apiVersion": call.resource.api_version}

    def _present(self, call: Call) -> Stored:
        stored = self._store.get(call.key)
        if stored is None:
            raise not_found(call.resource, call.name)
        return stored

    def _owned(self, call: Call, old: Document | None, new: Document) -> Document:
        schema = ownership.apply_schema(call.resource)
        return ownership.after_update(old, new, schema, self._manager(call, "Update"), self._clock.now())

    @staticmethod
    def _manager(call: Call, operation: str) -> Manager:
        return Manager(call.manager, operation, call.resource.api_version, call.subresource)


def _patcher(call: Call, kind: str, patch: Any) -> Change:
    if kind == PatchType.JSON:
        return lambda old: patching.json_patch(old, patch)
    if kind == PatchType.MERGE:
        return lambda old: patching.merge_patch(old, patch)
    if kind == PatchType.STRATEGIC and not call.resource.is_custom:
        return lambda old: patching.strategic_patch(old, patch)
    served = [member.value for member in PatchType if member != PatchType.STRATEGIC or not call.resource.is_custom]
    raise unsupported_media_type(served)


def _wire(call: Call, document: Document) -> Document:
    """The document as the request's client sees it."""
    return eventkinds.from_core(document) if eventkinds.is_renamed(call.resource) else document
