"""Everything that a cluster with the product has, started in order and ended for certain."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scaler_core.admission import registration
from scaler_core.api import crd
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors, resources
from scaler_kube.client import FieldConflicts, KubeClient, connect
from scaler_kube.clock import SteadyClock
from scaler_kube.resources import Resource
from scaler_sim.apiserver.cluster import neighbour_definitions
from scaler_sim.apiserver.tls import Authority
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.operator.operator import FIELD_MANAGER, Operator
from scaler_sim.operator.settings import OperatorSettings
from scaler_sim.scenario.park import EnginePark
from scaler_sim.scenario.plane import ControlPlane, Credentials, EmbeddedPlane, Identity
from scaler_sim.scenario.process import Child, free_port

DEFINITIONS: Final = Resource(
    group="apiextensions.k8s.io", version="v1", plural="customresourcedefinitions", kind="CustomResourceDefinition"
)
SERVED_SECONDS: Final = 30.0
READY_SECONDS: Final = 60.0  # real ones; two cores shared with everything else import slowly


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSettings:
    """What a scenario is made of."""

    logs: Path
    """Folder for the logs of the product's processes."""
    clock: SteadyClock = field(default_factory=SteadyClock)
    operator: OperatorSettings = field(default_factory=OperatorSettings)
    profile: EngineProfile | None = None
    """Of every engine; the benchmark's for each when None."""
    seed: int = 1
    controller_flags: tuple[str, ...] = ()
    webhook_flags: tuple[str, ...] = ()

    def clock_flags(self) -> tuple[str, ...]:
        """The clock, as the product's processes are told of it."""
        return ("--clock-factor", repr(self.clock.factor), "--clock-epoch", repr(self.clock.epoch))


class Scenario:
    """A running world; made by `playing`."""

    def __init__(self, settings: ScenarioSettings, plane: ControlPlane, clients: Mapping[Identity, KubeClient]) -> None:
        self.settings = settings
        self.plane = plane
        self.clients = clients
        self.park = EnginePark(now=settings.clock.now, profile=settings.profile, seed=settings.seed)
        self.operator = Operator(
            client=clients[Identity.OPERATOR], park=self.park, settings=settings.operator, now=settings.clock.now
        )
        self.controller_health_port = free_port()
        self.controller = self._controller()
        self.webhook_port = free_port()
        self.webhook_health_port = free_port()
        self._authority = Authority.make()
        self.webhook = self._webhook()

    @property
    def admin(self) -> KubeClient:
        """A client that may do everything, and is no operator of the fence."""
        return self.clients[Identity.ADMIN]

    @property
    def user(self) -> KubeClient:
        """A client of a person who edits by hand."""
        return self.clients[Identity.USER]

    def credentials(self, identity: Identity) -> Credentials:
        """How somebody reaches the API server."""
        return self.plane.credentials(identity)

    async def start_controller(self) -> None:
        """Start the controller and wait until it is ready.

        Raises:
            ProcessError: it ended, or was not ready in time.
        """
        await self.controller.start()
        url = f"http://127.0.0.1:{self.controller_health_port}/readyz"
        await self.controller.wait_until_answers(url, READY_SECONDS)

    async def start_webhook(self) -> None:
        """Start the webhook, wait until it is ready, and register it.

        Raises:
            ProcessError: it ended, or was not ready in time.
            KubeError: it could not be registered.
        """
        await self.webhook.start()
        await self.webhook.wait_until_answers(f"http://127.0.0.1:{self.webhook_health_port}/readyz", READY_SECONDS)
        await self.register_webhook()

    async def register_webhook(self) -> None:
        """Let the API server ask the webhook, from now on.

        Raises:
            KubeError: it could not be registered.
        """
        reach = registration.Url(base=f"https://127.0.0.1:{self.webhook_port}")
        documents = registration.build(reach, ca_bundle=self._authority.encoded())
        for resource, document in (
            (resources.MUTATING_WEBHOOKS, documents.mutating),
            (resources.VALIDATING_WEBHOOKS, documents.validating),
        ):
            key = ObjectKey("", document["metadata"]["name"])
            await self.admin.apply(resource, key, document, conflicts=FieldConflicts.FORCE)

    async def start_processes(self) -> None:
        """Start both processes of the product; arguments and errors as of each alone."""
        await asyncio.gather(self.start_webhook(), self.start_controller())

    def require_running(self) -> None:
        """Check that both processes run, once they were started.

        Raises:
            ProcessError: one ended.
        """
        for child in (self.webhook, self.controller):
            if child.was_started:
                child.require_running()

    async def create(self, resource: Resource, document: dict[str, Any]) -> dict[str, Any]:
        """Create an object as the administrator.

        Raises:
            KubeError: it was refused.
        """
        return await self.admin.create(resource, document["metadata"].get("namespace", ""), document)

    async def target(self, key: ObjectKey) -> dict[str, Any]:
        """A target as it is stored.

        Raises:
            KubeError: it could not be read.
        """
        return await self.admin.get(resources.deployments(), key)

    def _controller(self) -> Child:
        credentials = self.credentials(Identity.CONTROLLER)
        flags = (
            *credentials.flags,
            *self.settings.clock_flags(),
            *_pairs(health_host="127.0.0.1", health_port=self.controller_health_port),
            *self.settings.controller_flags,
        )
        log = self.settings.logs / "controller.log"
        environment = _environment("MDS_CONTROLLER_", credentials.secrets)
        return Child(name="controller", module="scaler_controller", arguments=flags, log=log, environment=environment)

    def _webhook(self) -> Child:
        credentials = self.credentials(Identity.WEBHOOK)
        certificate, key = self._certificate()
        flags = (
            *credentials.flags,
            *_pairs(
                host="127.0.0.1",
                port=self.webhook_port,
                health_host="127.0.0.1",
                health_port=self.webhook_health_port,
                tls_cert=certificate,
                tls_key=key,
                operator_user=self.credentials(Identity.CONTROLLER).username,
                lame_duck_seconds=0,
            ),
            *self.settings.webhook_flags,
        )
        log = self.settings.logs / "webhook.log"
        environment = _environment("MDS_WEBHOOK_", credentials.secrets)
        return Child(name="webhook", module="scaler_webhook", arguments=flags, log=log, environment=environment)

    def _certificate(self) -> tuple[Path, Path]:
        files = (self.settings.logs / "webhook.crt", self.settings.logs / "webhook.key")
        for path, content in zip(files, self._authority.leaf("127.0.0.1", "localhost"), strict=True):
            path.touch(mode=0o600)
            path.write_bytes(content)
        return files


def _pairs(**flags: object) -> tuple[str, ...]:
    """Command line flags by their Python names."""
    return tuple(part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", str(value)))


def _environment(prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Settings by the names of flags as environment variables of a process."""
    return {f"{prefix}{name.replace('-', '_').upper()}": value for name, value in settings.items()}


def definitions() -> tuple[dict[str, Any], ...]:
    """The CustomResourceDefinitions of a scenario: the product's own and its neighbours'."""
    return (crd.definition(), *neighbour_definitions())


@asynccontextmanager
async def playing(settings: ScenarioSettings, plane: ControlPlane | None = None) -> AsyncIterator[Scenario]:
    """Run a world: API server, operator and engines; the product's processes are started by its methods.

    An error of the operator or of the engines ends it at once. Whatever happens, no process is left behind.

    Args:
        settings: what it is made of.
        plane: an API server that runs; None starts the embedded one.

    Raises:
        KubeError: the API server cannot be used.
    """
    async with AsyncExitStack() as stack:
        if plane is None:
            embedded = EmbeddedPlane(now=settings.clock.now, definitions=definitions())
            plane = await stack.enter_async_context(embedded)
        clients = {identity: await _client(plane, identity, stack) for identity in Identity}
        await _define(clients[Identity.ADMIN])
        scenario = Scenario(settings, plane, clients)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        stack.push_async_callback(scenario.park.close)
        running = [
            tasks.create_task(scenario.operator.run(), name="operator"),
            tasks.create_task(scenario.park.run(), name="engines"),
        ]
        stack.callback(_cancel, running)
        for child in (scenario.webhook, scenario.controller):
            stack.push_async_callback(child.stop)
        yield scenario


def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()


async def _client(plane: ControlPlane, identity: Identity, stack: AsyncExitStack) -> KubeClient:
    manager = FIELD_MANAGER if identity is Identity.OPERATOR else identity.name.lower()
    client = await connect(plane.credentials(identity).access, field_manager=manager, user_agent="scaler-sim")
    return await stack.enter_async_context(client)


async def _define(admin: KubeClient) -> None:
    """Bring the definitions along where the server does not have them, and wait until they are served."""
    for document in definitions():
        try:
            await admin.create(DEFINITIONS, "", document)
        except errors.ConflictError as error:
            if not error.is_already_there:
                raise
    served = (resources.scalers(), resources.deployments(), resources.workloads(resources.WORKLOAD_VERSIONS[0]))
    async with asyncio.timeout(SERVED_SECONDS):
        while not all([await admin.serves(resource) for resource in served]):  # noqa: ASYNC110 -- the server is remote
            await asyncio.sleep(0.1)
