"""The replicas of one deployment and the router in front of them."""

import itertools
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.engines.replica import Replica
from scaler_sim.engines.request import Observer, Request
from scaler_sim.engines.timeline import Timeline

NO_REPLICA = "no replica of every needed role was eligible in time"
REPLICA_GONE = "the replica that served the request is gone"


class ReplicaKey(NamedTuple):
    """A replica's place: role and ordinal."""

    role: str
    ordinal: int


@dataclass(slots=True, kw_only=True)
class Flight:
    """A request on its way through the fleet."""

    request: Request
    prefill: Replica | None = None
    decode: Replica | None = None
    """The replica that answers: a Decode or a Server replica."""


class Nobody:
    """The client of a fleet that nobody listens to."""

    def first_token(self, request: Request, at: float) -> None:
        """Nobody sees it."""

    def gaps(self, at: float, seconds: float, count: int) -> None:
        """Nobody sees them."""

    def finished(self, request: Request, at: float) -> None:
        """Nobody sees it."""

    def failed(self, request: Request, at: float, reason: str) -> None:
        """Nobody sees it."""


class Fleet:
    """Routes each request to the least loaded eligible replicas; a pair of Prefill and Decode, or a Server.

    Requests wait at the router while nobody is eligible, `patience_seconds` at most. A replica that is no longer
    eligible finishes what it has; one that is removed loses it.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        profile: EngineProfile,
        timeline: Timeline,
        random: Random,
        patience_seconds: float = 30.0,
    ) -> None:
        self.engine = engine
        self.profile = profile
        self.timeline = timeline
        self._random = random
        self._patience = patience_seconds
        self._client: Observer = Nobody()
        self._identities = itertools.count(1)
        self._replicas: dict[ReplicaKey, Replica] = {}
        self._eligible: set[ReplicaKey] = set()
        self._flights: dict[int, Flight] = {}
        self._backlog: deque[Flight] = deque()
        self._seen_at = -math.inf
        self._seen: dict[ReplicaKey, int] = {}

    # Replicas

    def add(self, key: ReplicaKey, kind: RoleKind) -> Replica:
        """Start the engine of a replica; it gets no requests before `admit`."""
        replica = Replica(
            name=f"{key.role}-{key.ordinal}",
            kind=kind,
            engine=self.engine,
            profile=self.profile,
            timeline=self.timeline,
            events=self,
            random=Random(self._random.random()),
        )
        self._replicas[key] = replica
        return replica

    def replica(self, key: ReplicaKey) -> Replica | None:
        """The engine of a replica."""
        return self._replicas.get(key)

    def admit(self, key: ReplicaKey) -> None:
        """Let a replica have requests."""
        self._eligible.add(key)
        self._dispatch_backlog()

    def withdraw(self, key: ReplicaKey) -> None:
        """Give a replica no new requests."""
        self._eligible.discard(key)

    def remove(self, key: ReplicaKey) -> None:
        """End a replica's engine; requests that it had fail."""
        self._eligible.discard(key)
        replica = self._replicas.pop(key, None)
        if replica is not None:
            self._fail(replica.stop())

    def restart(self, key: ReplicaKey) -> None:
        """Let the engine of a replica crash and start anew; requests that it had fail."""
        self._fail(self._replicas[key].restart())

    def is_idle(self, key: ReplicaKey) -> bool:
        """Whether a replica has no request left."""
        replica = self._replicas.get(key)
        return replica is None or replica.load == 0

    @property
    def eligible(self) -> frozenset[ReplicaKey]:
        """Replicas that may have requests."""
        return frozenset(self._eligible)

    @property
    def in_flight(self) -> int:
        """Requests that are neither finished nor failed."""
        return len(self._flights)

    # Requests

    def attach(self, client: Observer) -> None:
        """Tell this client of every request's course."""
        self._client = client

    def next_identity(self) -> int:
        """A number for a request that no other request of this fleet has."""
        return next(self._identities)

    def submit(self, request: Request) -> None:
        """Route a request; the attached client hears of its course."""
        flight = Flight(request=request)
        self._flights[request.identity] = flight
        if not self._dispatch(flight):
            self._backlog.append(flight)
            self.timeline.after(self._patience, lambda at: self._give_up(flight, at))

    def advance(self, to: float) -> None:
        """Let time pass until then, and bring every counter to that moment."""
        self.timeline.advance(to)
        for replica in self._replicas.values():
            replica.settle(to)

    def _least(self, kind: RoleKind) -> Replica | None:
        keys = sorted(key for key in self._eligible if self._replicas[key].kind is kind)
        # The router counts the requests of a Server itself; the halves of a pair it knows from its last look at them.
        loads = {key: self._replicas[key].load for key in keys} if kind is RoleKind.SERVER else self._view()
        least = min((loads.get(key, 0) for key in keys), default=0)
        choice = [key for key in keys if loads.get(key, 0) == least]
        return self._replicas[self._random.choice(choice)] if choice else None

    def _view(self) -> Mapping[ReplicaKey, int]:
        if self.timeline.now - self._seen_at >= self.profile.router_view_seconds:
            self._seen_at = self.timeline.now
            self._seen = {key: replica.router_load for key, replica in self._replicas.items()}
        return self._seen

    def _dispatch(self, flight: Flight) -> bool:
        server = self._least(RoleKind.SERVER)
        if server is not None:
            flight.decode = server
            server.enqueue(flight.request)
            return True
        prefill = self._least(RoleKind.PREFILL)
        decode = self._least(RoleKind.DECODE)
        if prefill is None or decode is None:
            return False
        flight.prefill = prefill
        if self.engine is Engine.SGLANG:  # both halves get the request at once; with vLLM the answer picks the decoder
            flight.decode = decode
            decode.announce(flight.request)
        prefill.enqueue(flight.request)
        return True

    def _dispatch_backlog(self) -> None:
        while self._backlog and self._dispatch(self._backlog[0]):
            self._backlog.popleft()

    def _give_up(self, flight: Flight, at: float) -> None:
        if flight in self._backlog:
            self._backlog.remove(flight)
            self._flights.pop(flight.request.identity, None)
            self._client.failed(flight.request, at, NO_REPLICA)

    def _fail(self, requests: list[Request]) -> None:
        for request in requests:
            flight = self._flights.pop(request.identity, None)
            if flight is None:
                continue
            if flight.decode is not None:
                flight.decode.withdraw(request)
            self._client.failed(request, self.timeline.now, REPLICA_GONE)

    # What replicas tell

    def prefilled(self, request: Request, at: float) -> None:
        """Move the KV to the decode replica."""
        flight = self._flights.get(request.identity)
        if flight is None:  # its decode replica is gone meanwhile
            return
        if flight.decode is None:
            flight.decode = self._least(RoleKind.DECODE)
        if flight.decode is None:
            self._fail([request])
            return
        flight.decode.begin_transfer(request)
        seconds = self.profile.transfer_seconds(request.prompt_tokens)
        self.timeline.at(at + seconds, lambda _: self._transferred(flight))

    def _transferred(self, flight: Flight) -> None:
        if flight.request.identity in self._flights and flight.decode is not None:
            flight.decode.enqueue(flight.request)

    def first_token(self, request: Request, at: float) -> None:
        """Pass on to the client."""
        self._client.first_token(request, at)

    def gaps(self, at: float, seconds: float, count: int) -> None:
        """Pass on to the client."""
        self._client.gaps(at, seconds, count)

    def finished(self, request: Request, at: float) -> None:
        """Pass on to the client."""
        self._flights.pop(request.identity, None)
        self._client.finished(request, at)
