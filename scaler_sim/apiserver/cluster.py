"""An embedded cluster: the API server, what it serves at start, and the handles that tests and the demo use."""

import json
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml
from aiohttp import web

from scaler_sim.apiserver import routing, tls
from scaler_sim.apiserver.admission import Admission, Asks
from scaler_sim.apiserver.calls import ADMIN, Call, User
from scaler_sim.apiserver.catalog import Catalog
from scaler_sim.apiserver.clock import Clock
from scaler_sim.apiserver.dispatch import Dispatcher
from scaler_sim.apiserver.errors import Document, StatusError
from scaler_sim.apiserver.faults import Faults
from scaler_sim.apiserver.ledger import READS, Ledger
from scaler_sim.apiserver.lifecycle import Lifecycle
from scaler_sim.apiserver.reading import BOOKMARK_SECONDS, Reader, present
from scaler_sim.apiserver.resources import Resource
from scaler_sim.apiserver.server import ApiServer
from scaler_sim.apiserver.storage import Key, Store
from scaler_sim.apiserver.users import Users
from scaler_sim.apiserver.webhooks import WebhookClient
from scaler_sim.apiserver.writing import Writer

NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How an embedded cluster starts."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 picks a free one."""
    serves_tls: bool = False
    """HTTPS with a CA of its own instead of plain HTTP."""
    tokens: Mapping[str, User] = field(default_factory=dict)
    """Bearer token to user."""
    anonymous: User | None = ADMIN
    """Who asks without a token; None refuses such requests with 401."""
    services: Mapping[str, str] = field(default_factory=dict)
    """`NAMESPACE/NAME` of a webhook's Service to `HOST:PORT`."""
    definitions: tuple[Document, ...] = ()
    """CustomResourceDefinitions to serve from the start; more may be created over the API."""
    bookmark_seconds: float = BOOKMARK_SECONDS
    history: int = 10_000
    """Changes kept for each resource; watches from before them end with 410."""
    clock: Clock = field(default_factory=Clock)
    asks: Asks | None = None
    """Who is asked for webhooks' verdicts; over TLS when None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asks, without HTTP around it."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    body: Any = None
    user: User = ADMIN
    agent: str = ""
    """As in `User-Agent`."""


class EmbeddedCluster:
    """An API server on loopback, in memory.

    Example:
        async with EmbeddedCluster(ClusterSettings(definitions=neighbour_definitions())) as cluster:
            print(cluster.url)
    """

    def __init__(self, settings: ClusterSettings | None = None) -> None:
        self.settings = settings or ClusterSettings()
        clock = self.settings.clock
        self.store = Store(self.settings.history)
        self.catalog = Catalog()
        self.faults = Faults()
        self.ledger = Ledger()
        self.users = Users(self.settings.tokens, self.settings.anonymous)
        self._webhooks = WebhookClient(self.settings.services)
        lifecycle = Lifecycle(self.store, self.catalog, clock)
        admission = Admission(self.store, self.catalog, self.settings.asks or self._webhooks)
        self._reader = Reader(self.store, self.settings.bookmark_seconds)
        self._writer = Writer(self.store, admission, lifecycle, clock)
        self._dispatcher = Dispatcher(reader=self._reader, writer=self._writer, users=self.users, clock=clock)
        self._authority = tls.Authority.make() if self.settings.serves_tls else None
        self._runner: web.AppRunner | None = None
        self._port = self.settings.port

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; a new cluster gets its namespaces and definitions first, after `stop` the objects are still there."""
        await self.furnish()
        server = ApiServer(
            catalog=self.catalog,
            reader=self._reader,
            dispatcher=self._dispatcher,
            users=self.users,
            faults=self.faults,
            ledger=self.ledger,
            clock=self.settings.clock,
        )
        self._runner = web.AppRunner(
            server.application(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await self._runner.setup()
        context = self._authority.server_context(self.settings.host) if self._authority else None
        site = web.TCPSite(self._runner, self.settings.host, self._port, ssl_context=context)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def furnish(self) -> None:
        """Give a new cluster its namespaces and definitions; `start` does it, users of `ask` alone call it."""
        if self.store.get(Key("namespaces", "", NAMESPACES[0])) is None:
            for name in NAMESPACES:
                await self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            for definition in self.settings.definitions:
                await self.create(definition)

    async def ask(self, request: Request) -> Document:
        """Serve a request that does not come over HTTP; no watches, no faults.

        Raises:
            StatusError: it was refused.
            PageNotFoundError: nothing is served at its path.
        """
        call = routing.call(
            self.catalog, request.method, request.path, request.query, user=request.user, agent=request.agent
        )
        self.ledger.note(call)
        if call.verb in READS:
            return self._dispatcher.read(call)
        try:
            code, document = await self._dispatcher.write(call, request.content_type, request.body)
        except StatusError as error:
            self.ledger.record(call, code=error.code, body=request.body)
            raise
        self.ledger.record(call, code=code, body=request.body)
        return document

    async def stop(self) -> None:
        """Stop listening and cut all watches; objects and the port stay for another `start`."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        await self._webhooks.close()

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"{'https' if self._authority else 'http'}://{self.settings.host}:{self._port}"

    @property
    def services(self) -> dict[str, str]:
        """`NAMESPACE/NAME` of a Service to `HOST:PORT`; add to it when a webhook has started."""
        return self._webhooks.services

    def client_context(self) -> ssl.SSLContext | None:
        """A TLS context that trusts the server, or None for plain HTTP."""
        return self._authority.client_context() if self._authority else None

    def token(self, username: str, *groups: str) -> str:
        """A bearer token for a user."""
        return self.users.add(User(username=username, groups=groups))

    def kubeconfig(self, path: Path, *, token: str = "") -> Path:
        """Write a kubeconfig for a token, or for whoever asks without one; returns the absolute path."""
        server: Document = {"server": self.url}
        if self._authority:
            server["certificate-authority-data"] = self._authority.encoded()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "embedded", "cluster": server}],
            "users": [{"name": "user", "user": {"token": token} if token else {}}],
            "contexts": [
                {"name": "embedded", "context": {"cluster": "embedded", "user": "user", "namespace": "default"}}
            ],
            "current-context": "embedded",
        }
        absolute = path.absolute()
        absolute.write_text(yaml.safe_dump(document, sort_keys=False))
        absolute.chmod(0o600)
        return absolute

    async def create(self, document: Document) -> Document:
        """Create an object as an administrator, as POST does; raises StatusError."""
        call = Call(
            verb="create", resource=self._resource(document), namespace=_namespace(self._resource(document), document)
        )
        return await self._writer.create(call, document)

    def get(self, plural: str, namespace: str, name: str) -> Document | None:
        """An object as stored, or None; `plural` may be `PLURAL` or `PLURAL.GROUP`."""
        resource = self._named(plural)
        stored = self.store.get(Key(resource.bucket, namespace, name))
        return present(resource, stored.document) if stored else None

    def find(self, plural: str, namespace: str = "") -> list[Document]:
        """Objects as stored; `plural` may be `PLURAL` or `PLURAL.GROUP`."""
        resource = self._named(plural)
        return [present(resource, stored.document) for stored in self.store.objects(resource.bucket, namespace)]

    def compact(self) -> None:
        """Forget the history: earlier watches and `continue` tokens end with 410."""
        self.store.compact()
        self._reader.forget_pages()

    def _named(self, plural: str) -> Resource:
        found = next((r for r in self.catalog if plural in (r.plural, r.group_resource)), None)
        if found is None:
            raise KeyError(f"no resource {plural!r} is served")
        return found

    def _resource(self, document: Document) -> Resource:
        wanted = (document["apiVersion"], document["kind"])
        found = next((r for r in self.catalog if (r.api_version, r.kind) == wanted), None)
        if found is None:
            raise KeyError(f"no kind {wanted[1]} of {wanted[0]} is served")
        return found


def _namespace(resource: Resource, document: Document) -> str:
    return str(document["metadata"].get("namespace", "default")) if resource.namespaced else ""


def neighbour_definitions() -> tuple[Document, ...]:
    """The definitions of the scaler's neighbours: ModelDeployment and Workload."""
    folder = resources.files("scaler_sim.manifests")
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".yaml")), key=lambda item: item.name)
    return tuple(document for item in files for document in _documents(item.read_text()))


def read_definitions(paths: Iterable[Path]) -> tuple[Document, ...]:
    """The definitions in YAML files."""
    return tuple(document for path in paths for document in _documents(path.read_text()))


def _documents(text: str) -> list[Any]:
    return [json.loads(json.dumps(document)) for document in yaml.safe_load_all(text) if document]
