"""The product on a real API server: both processes, the target's operator and its engines, and kubectl."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from e2e.controlplane import LocalControlPlane
from e2e.controlplane.finding import local_assets
from e2e.controlplane.local import TokenUser
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors, resources
from scaler_kube.client import KubeClient, connect
from scaler_kube.clock import SteadyClock
from scaler_kube.resources import Resource
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.plane import ExternalPlane, Identity
from scaler_sim.scenario.scenario import Scenario, ScenarioSettings, playing

FACTOR: Final = 8.0
"""Clock seconds in a real one: a window of five minutes takes 40 s."""
OUTAGE_POLL_SECONDS: Final = 0.2  # real ones
MASTERS: Final = "system:masters"
USERS: Final = {
    "e2e-admin": TokenUser("e2e-admin-token", (MASTERS,)),
    **{identity.value: TokenUser(f"token-{identity.name.lower()}", (MASTERS,)) for identity in Identity},
}


class CommandError(RuntimeError):
    """A command ended with another status than expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """kubectl as one user."""

    binary: str
    kubeconfig: Path
    namespace: str = "default"
    folder: Path | None = None
    """Where it runs; this process's folder when None."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside this process's own."""

    async def __call__(self, *arguments: str, stdin: str = "", expect: int = 0) -> str:
        """Run a command; what it printed, of both streams, as a terminal would show it.

        Raises:
            CommandError: it failed where it should not, or the other way round.
        """
        status, text = await self.run(*arguments, stdin=stdin)
        if (status != 0) != (expect != 0):
            raise CommandError(f"kubectl {' '.join(arguments)} ended with {status}:\n{text}")
        return text

    async def run(self, *arguments: str, stdin: str = "") -> tuple[int | None, str]:
        """Run a command; its exit status and what it printed, of both streams."""
        process = await asyncio.create_subprocess_exec(
            self.binary,
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace={self.namespace}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env=os.environ | self.environment,
        )
        output, _ = await process.communicate(stdin.encode())
        return process.returncode, output.decode()

    async def json(self, *arguments: str) -> dict[str, Any]:
        """What a command prints as JSON."""
        document: dict[str, Any] = json.loads(await self(*arguments, "-o", "json"))
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A running world on a real API server."""

    plane: LocalControlPlane
    scenario: Scenario
    kubectl: Kubectl

    async def eventually(self, what: str, look: Callable[[], Awaitable[Any]], *, seconds: float = 30.0) -> Any:
        """Poll until something true is seen.

        Raises:
            AssertionError: it was not seen in that many real seconds; the text has the end of the controller's log.
        """
        deadline = time.monotonic() + seconds
        found = None
        while time.monotonic() < deadline:
            self.scenario.require_running()
            found = await look()
            if found:
                return found
            await asyncio.sleep(0.2)
        raise AssertionError(f"not within {seconds} s: {what}; last seen {found!r}\n{self.scenario.controller.tail()}")

    async def condition(self, name: str, type_: str) -> tuple[str, str, str]:
        """Status, reason and message of a scaler's condition."""
        scaler = await self.kubectl.json("get", "mds", name)
        for condition in scaler.get("status", {}).get("conditions", ()):
            if condition["type"] == type_:
                return condition["status"], condition["reason"], condition["message"]
        return "", "", ""

    async def counts(self, name: str) -> dict[str, int]:
        """Counts of a target."""
        document = await self.scenario.target(ObjectKey("default", name))
        return {role["name"]: role["replicas"] for role in document["spec"]["roles"]}


@asynccontextmanager
async def product(
    folder: Path,
    *,
    operator: OperatorSettings | None = None,
    factor: float = FACTOR,
    controller_flags: tuple[str, ...] = (),
) -> AsyncIterator[Product]:
    """A control plane of its own with the product on it, both processes ready.

    Args:
        folder: for logs and kubeconfigs.
        operator: facts of the target's operator.
        factor: clock seconds in a real second, for every process.
        controller_flags: further flags.
    """
    assets = local_assets()
    async with LocalControlPlane(assets, users=USERS) as plane:
        kubeconfigs = {
            identity: plane.kubeconfig(folder / f"{identity.name.lower()}.kubeconfig", token=USERS[identity].token)
            for identity in Identity
        }
        settings = ScenarioSettings(
            logs=folder,
            clock=SteadyClock(factor=factor, epoch=time.time()),
            operator=operator or OperatorSettings(),
            controller_flags=controller_flags,
        )
        async with playing(settings, ExternalPlane(kubeconfigs=kubeconfigs)) as scenario:
            await scenario.start_processes()
            kubectl = Kubectl(
                binary=shutil.which("kubectl", path=str(assets)) or "kubectl",
                kubeconfig=kubeconfigs[Identity.USER],
            )
            yield Product(plane=plane, scenario=scenario, kubectl=kubectl)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One write that moved counts, as the API server's watch showed it."""

    before: Mapping[str, int]
    after: Mapping[str, int]
    annotations: Mapping[str, str]
    generation: int

    @property
    def grows(self) -> bool:
        """Whether a role has more than before."""
        return any(count > self.before[role] for role, count in self.after.items())


@dataclass(kw_only=True)
class Watcher:
    """Follows one target and its scaler by the API server's own watch, and keeps every move of the counts."""

    client: KubeClient
    key: ObjectKey
    commits: list[Commit] = field(default_factory=list)
    asked: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """What the algorithm alone asked for, by decision ID, as the write-ahead status told."""
    _counts: dict[str, int] | None = None

    async def follow_target(self) -> None:
        """Follow until cancelled."""
        await self._follow(resources.deployments(), self._see_target)

    async def follow_scaler(self) -> None:
        """Follow until cancelled."""
        await self._follow(resources.scalers(), self._see_scaler)

    async def _follow(self, resource: Resource, see: Callable[[Mapping[str, Any]], None]) -> None:
        """Several moves within one outage of the API server are seen as one."""
        while True:
            try:
                await self._watch(resource, see)
            except errors.KubeError:
                await asyncio.sleep(OUTAGE_POLL_SECONDS)

    async def _watch(self, resource: Resource, see: Callable[[Mapping[str, Any]], None]) -> None:
        listing = await self.client.list_all(resource, namespace=self.key.namespace)
        for item in listing.items:
            see(item)
        version = listing.resource_version
        while True:
            async for event in self.client.watch(
                resource, namespace=self.key.namespace, resource_version=version, timeout_seconds=60
            ):
                version = event.resource_version
                see(event.document)

    def _see_target(self, document: Mapping[str, Any]) -> None:
        if document["metadata"].get("name") != self.key.name or "spec" not in document:
            return
        counts = {role["name"]: role["replicas"] for role in document["spec"]["roles"]}
        if self._counts is not None and counts != self._counts:
            metadata = document["metadata"]
            self.commits.append(
                Commit(
                    before=self._counts,
                    after=counts,
                    annotations=metadata.get("annotations") or {},
                    generation=metadata["generation"],
                )
            )
        self._counts = counts

    def _see_scaler(self, document: Mapping[str, Any]) -> None:
        status = document.get("status") or {}
        if "pendingCommit" in status:
            asked = {role["name"]: role.get("rawRecommendedReplicas", 0) for role in status.get("roles", ())}
            self.asked[status["pendingCommit"]["decisionID"]] = asked


@asynccontextmanager
async def watching(running: Product, key: ObjectKey) -> AsyncIterator[Watcher]:
    """Watch a target and its scaler while the context lasts, over a connection of its own."""
    async with following(running.scenario, key) as watcher:
        yield watcher


@asynccontextmanager
async def following(scenario: Scenario, key: ObjectKey) -> AsyncIterator[Watcher]:
    """The same in any scenario."""
    access = scenario.credentials(Identity.ADMIN).access
    async with await connect(access, field_manager="e2e", user_agent="e2e-watcher") as client:
        watcher = Watcher(client=client, key=key)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(watcher.follow_target(), name="target watcher"),
                group.create_task(watcher.follow_scaler(), name="scaler watcher"),
            ]
            try:
                yield watcher
            finally:
                for task in tasks:
                    task.cancel()
