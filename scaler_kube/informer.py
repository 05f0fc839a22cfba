"""The shell around a reflector: runs its steps against the API server and tells handlers what changed."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Generic, Never, TypeVar

from scaler_kube import errors, reflector
from scaler_kube.client import KubeClient
from scaler_kube.reflector import Discover, List, News, Reflector, Undecodable, Unserved, Watch
from scaler_kube.resources import Resource
from scaler_kube.store import Change, Store

T = TypeVar("T")

WATCH_SECONDS: Final = 300.0
SILENCE_SECONDS: Final = 150.0
"""Real servers send a bookmark about once a minute; after two that did not come the connection counts as dead."""
LONGEST_STEP_SECONDS: Final = 600.0
"""Longer than any step can take with all its timeouts: an informer that shows no sign of life for so long is stuck."""

PAGE_SIZE: Final = 250
"""Objects of a page: to decode that many Pods blocks the loop for a few hundredths of a second."""

_log = logging.getLogger(__name__)


class Presence(Enum):
    """Whether the process can work where the kind is not served."""

    REQUIRED = "required"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an informer follows."""

    versions: tuple[Resource, ...]
    """The same kind in the versions that we can read, the preferred one first."""
    namespace: str | None = None
    labels: str | None = None
    presence: Presence = Presence.REQUIRED


def _ignore(_: Undecodable) -> None:
    return None


@dataclass(kw_only=True)
class Informer(Generic[T]):
    """Keeps a store equal to a collection of the API server, for as long as `run` runs."""

    client: KubeClient
    subject: Subject
    decode: Callable[[dict[str, Any]], T]
    """Reads a document into a frozen value; raises ValueError, as pydantic does."""
    store: Store[T]
    jitter: Callable[[], float]
    """Uniform in [0, 1)."""
    handlers: Sequence[Callable[[Change[T]], None]] = ()
    """Called in order for every change, after the store has it; they must not block."""
    on_undecodable: Callable[[Undecodable], None] = _ignore
    resource: Resource = field(init=False)
    """The version in use."""
    last_error: errors.KubeError | None = field(default=None, init=False)
    """Why the last step failed; None after one that did not."""
    restarts: int = field(default=0, init=False)
    """Lists so far, the first included."""
    heartbeat_at: float = field(default=math.inf, init=False)
    """When the last step began, in seconds of the event loop's clock; infinity before the first."""

    def __post_init__(self) -> None:
        self.resource = self.subject.versions[0]
        self._reflector = Reflector(self.store, self.decode)
        self._settled = asyncio.Event()  # the manager waits for it before it lets workers begin

    @property
    def name(self) -> str:
        """The kind, for logs and metrics."""
        return self.resource.plural

    @property
    def is_served(self) -> bool:
        """Whether the server knows the kind, as far as was seen; the store is meaningless where it does not."""
        return not isinstance(self._reflector.state, Unserved)

    @property
    def is_settled(self) -> bool:
        """Whether the first list is in the store, or there can be none for an optional kind."""
        return self._settled.is_set()

    async def wait_until_settled(self) -> None:
        """Return once `is_settled`."""
        await self._settled.wait()

    def is_alive(self, now: float) -> bool:
        """Whether it still makes steps; `now` in seconds of the event loop's clock."""
        return now - self.heartbeat_at < LONGEST_STEP_SECONDS

    async def run(self) -> Never:
        """Follow the collection until cancelled."""
        while True:
            step = self._reflector.next_step(self.jitter())
            self.heartbeat_at = asyncio.get_running_loop().time()
            await asyncio.sleep(step.after_seconds)
            try:
                await self._take(step)
            except errors.KubeError as error:
                self._failed(error)
            else:
                self.last_error = None

    async def _take(self, step: reflector.Step) -> None:
        match step:
            case List():
                await self._list()
            case Watch(resource_version=version):
                await self._watch(version)
            case Discover():
                await self._discover()

    async def _list(self) -> None:
        self.restarts += 1
        version = ""
        objects: list[reflector.Read[T]] = []
        async for page in self.client.pages(
            self.resource, namespace=self.subject.namespace, labels=self.subject.labels, limit=PAGE_SIZE
        ):
            objects += map(self._reflector.read, page.items)
            version = page.resource_version
        self._tell(self._reflector.on_listed(objects, version))
        self._settled.set()

    async def _watch(self, version: str) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        events = self.client.watch(
            self.resource,
            resource_version=version,
            namespace=self.subject.namespace,
            labels=self.subject.labels,
            timeout_seconds=WATCH_SECONDS * (1 - self.jitter() / 5),  # so that watches do not end all together
            silence_seconds=SILENCE_SECONDS,
        )
        async with aclosing(events):
            async for event in events:
                self._tell(self._reflector.on_event(event))
                self.last_error = None
        self._reflector.on_ended(loop.time() - began)

    async def _discover(self) -> None:
        served = [resource for resource in self.subject.versions if await self.client.serves(resource)]
        if served:
            self.resource = served[0]
        self._reflector.on_discovered(count=len(served))

    def _tell(self, news: News[T]) -> None:
        for change in news.changes:
            for handler in self.handlers:
                handler(change)
        for undecodable in news.undecodable:
            extra = {"resource": self.name, "object": str(undecodable.key), "why": undecodable.why}
            _log.warning("Object cannot be read and is left out", extra=extra)
            self.on_undecodable(undecodable)

    def _failed(self, error: errors.KubeError) -> None:
        failure = reflector.classify(error)
        after = getattr(error, "retry_after_seconds", None) or 0.0
        self._reflector.on_failure(failure, after)
        if not self.is_served and self.subject.presence is Presence.OPTIONAL:
            self._settled.set()
        is_news = self.last_error is None or type(self.last_error) is not type(error)
        level = logging.WARNING if is_news and failure is reflector.Failure.TRANSIENT else logging.DEBUG
        _log.log(level, "List or watch failed", extra={"resource": self.name, "error": str(error)})
        self.last_error = error
