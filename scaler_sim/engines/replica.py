"""One replica of a role: queue, prefill, batch, KV cache and what its engine process counts."""

import math
from collections import deque
from random import Random
from typing import Final, Protocol

from scaler_core.api.deployment import RoleKind
from scaler_core.model.scrape import Engine
from scaler_sim.engines.batch import Batch, Sequence
from scaler_sim.engines.prefix_cache import PrefixCache
from scaler_sim.engines.profile import EngineProfile
from scaler_sim.engines.readings import Gauges, Readings
from scaler_sim.engines.request import Request
from scaler_sim.engines.timeline import Timeline, Timer

MIN_NOISE: Final = 0.5  # a step is never faster than that share of its nominal duration
NO_CHUNK: Final = 0


class ReplicaEvents(Protocol):
    """What a replica tells its fleet; the fleet passes it on to clients."""

    def prefilled(self, request: Request, at: float) -> None:
        """A prefill replica has computed a prompt."""
        ...

    def first_token(self, request: Request, at: float) -> None:
        """The first token of an answer left the replica."""
        ...

    def gaps(self, at: float, seconds: float, count: int) -> None:
        """That many later tokens left the replica, each after that gap."""
        ...

    def finished(self, request: Request, at: float) -> None:
        """The last token of an answer left the replica."""
        ...


class Replica:
    """An engine that computes prompts first come first served, and decodes everything admitted in one batch.

    `Prefill` only computes prompts, `Decode` only decodes prompts whose KV arrived, `Server` does both: a chunk of the
    oldest prompt rides along with each decoding step.
    """

    def __init__(
        self,
        *,
        name: str,
        kind: RoleKind,
        engine: Engine,
        profile: EngineProfile,
        timeline: Timeline,
        events: ReplicaEvents,
        random: Random,
    ) -> None:
        self.name = name
        self.kind = kind
        self.engine = engine
        self.profile = profile
        self.readings = Readings.starting(engine, timeline.now)
        self._timeline = timeline
        self._events = events
        self._random = random
        self._cache = PrefixCache(profile.kv_tokens // profile.block_tokens)
        self._queue: deque[Sequence] = deque()
        self._batch = Batch()
        self._fresh: list[Sequence] = []  # joined at the last boundary, no token yet
        self._incoming: dict[int, tuple[Request, float]] = {}  # decode: announced or in transfer, with the time
        self._transfers: set[int] = set()
        self._reserved_tokens = 0  # KV promised to the batch, answers included
        self._slow_debt = 0.0
        self._chunk = NO_CHUNK  # prompt tokens of the step that is being computed
        self._wake: Timer | None = None

    # What the router and the texts look at

    @property
    def load(self) -> int:
        """Requests that the replica is answerable for."""
        return len(self._queue) + len(self._batch) + len(self._incoming)

    @property
    def router_load(self) -> int:
        """What a router balances: prompt tokens still to be computed on a prefill replica, else requests."""
        if self.kind is not RoleKind.PREFILL:
            return self.load
        return sum(s.request.prompt_tokens - s.cached_tokens - s.computed_tokens for s in self._queue)

    def settle(self, now: float) -> None:
        """Bring counters to this moment."""
        ended = self._batch.settle(now)
        if ended:
            self._count_tokens(ended, now)

    def gauges(self) -> Gauges:
        """What the replica holds at the last settled moment."""
        scheduled, held = self._scheduled_prompts()
        running = scheduled + len(self._batch)
        used = held + self._batch.context_tokens
        return Gauges(
            running=running,
            waiting=len(self._queue) - scheduled,
            transferring=len(self._transfers),
            announced=len(self._incoming) - len(self._transfers),
            kv_usage=min(1.0, used / self.profile.kv_tokens),
        )

    # What happens to it

    def enqueue(self, request: Request) -> None:
        """Take a request: a prompt to compute, or for a decode replica one whose KV is complete."""
        now = self._timeline.now
        _, received_at = self._incoming.pop(request.identity, (request, now))
        self._transfers.discard(request.identity)
        self._queue.append(Sequence(request=request, received_at=received_at))
        self._interrupt(now)

    def announce(self, request: Request) -> None:
        """A decode replica is told of a request whose prompt is still computed elsewhere."""
        self._incoming[request.identity] = (request, self._timeline.now)

    def begin_transfer(self, request: Request) -> None:
        """The KV of a request is on its way to this decode replica."""
        self._incoming.setdefault(request.identity, (request, self._timeline.now))
        self._transfers.add(request.identity)

    def withdraw(self, request: Request) -> None:
        """Forget an announced request: its prefill replica is gone."""
        self._incoming.pop(request.identity, None)
        self._transfers.discard(request.identity)

    def stop(self) -> list[Request]:
        """The process ends: everything in flight is lost and returned."""
        self.settle(self._timeline.now)
        self._cancel_wake()
        lost = [s.request for s in (*self._queue, *self._batch.clear())]
        lost += [request for request, _ in self._incoming.values()]
        self._queue.clear()
        self._fresh.clear()
        self._incoming.clear()
        self._transfers.clear()
        self._reserved_tokens, self._chunk = 0, NO_CHUNK
        return lost

    def restart(self) -> list[Request]:
        """A new process: lost requests are returned, counters and cache start anew."""
        lost = self.stop()
        self.readings = Readings.starting(self.engine, self._timeline.now)
        self._cache = PrefixCache(self.profile.kv_tokens // self.profile.block_tokens)
        self._slow_debt = 0.0
        return lost

    # Steps

    def _look_up(self, sequence: Sequence) -> None:
        request, sequence.looked_up = sequence.request, True
        hits = self._cache.matched(request.blocks) * self.profile.block_tokens
        sequence.cached_tokens = min(hits, request.prompt_tokens - 1)
        self.readings.queried_tokens += request.prompt_tokens
        self.readings.hit_tokens += sequence.cached_tokens

    def _scheduled_prompts(self) -> tuple[int, int]:
        """How many queued prompts are scheduled, and the KV tokens that they hold."""
        if self.kind is RoleKind.DECODE:
            return 0, 0
        count = held = budget = 0
        for sequence in self._queue:
            budget += sequence.request.prompt_tokens - sequence.cached_tokens
            if count and budget > self.profile.scheduled_prompt_tokens:
                break
            count += 1
            held += sequence.request.prompt_tokens
        return count, held

    def _interrupt(self, now: float) -> None:
        """Something arrived: begin if idle, else look at it at the end of the step that is being computed."""
        if self._wake is None:
            self._begin_step(now)
        elif self._chunk == NO_CHUNK and not self._fresh:
            self.settle(now)
            self._schedule(self._batch.next_boundary())

    def _begin_step(self, now: float) -> None:
        self._admit()
        self._chunk = self._next_chunk()
        seconds = self.profile.decode_seconds(len(self._batch)) + self.profile.prefill_seconds(self._chunk)
        if seconds <= 0:
            self._cancel_wake()
            return
        noise = self.profile.decode_noise if self._chunk == NO_CHUNK else self.profile.prefill_noise
        seconds *= max(MIN_NOISE, self._random.gauss(1.0, noise))
        self._batch.begin_stretch(now, seconds)
        one_step = self._chunk != NO_CHUNK or len(self._fresh) > 0
        self._schedule(now + seconds if one_step else self._batch.next_leaving())

    def _admit(self) -> None:
        """Decode replicas take waiting requests into the batch while slots and KV last."""
        if self.kind is not RoleKind.DECODE:
            return
        while self._queue and self._fits(self._queue[0].request):
            sequence = self._queue.popleft()
            self.readings.prompt_tokens += sequence.request.prompt_tokens
            self.readings.transferred_tokens += sequence.request.prompt_tokens
            self._join(sequence, sequence.request.output_tokens)
            self._fresh.append(sequence)

    def _fits(self, request: Request) -> bool:
        needed = self._reserved_tokens + request.prompt_tokens + request.output_tokens
        return not len(self._batch) or (
            len(self._batch) < self.profile.batch_limit and needed <= self.profile.kv_tokens
        )

    def _join(self, sequence: Sequence, remaining_tokens: int) -> None:
        self._reserved_tokens += sequence.request.prompt_tokens + sequence.request.output_tokens
        self._batch.join(sequence, remaining_tokens)

    def _next_chunk(self) -> int:
        """Prompt tokens of the next step."""
        if self.kind is RoleKind.DECODE or not self._queue:
            return NO_CHUNK
        oldest = self._queue[0]
        if self.kind is RoleKind.SERVER and not self._fits(oldest.request):
            return NO_CHUNK
        if not oldest.looked_up:
            self._look_up(oldest)
        left = oldest.request.prompt_tokens - oldest.cached_tokens - oldest.computed_tokens
        return left if self.kind is RoleKind.PREFILL else min(left, self.profile.chunk_tokens)

    def _schedule(self, at: float) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake = self._timeline.at(at, self._end_step)

    def _cancel_wake(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake = None

    def _end_step(self, now: float) -> None:
        self._wake = None
        self.settle(now)
        for sequence in self._fresh:
            self._first_token(sequence, now)
        self._fresh.clear()
        if self._chunk != NO_CHUNK:
            self._end_chunk(now)
        for sequence in self._batch.leave():
            self._finish(sequence, now)
        if self._wake is None:  # a client that answered at once may have begun the next step already
            self._begin_step(now)

    def _end_chunk(self, now: float) -> None:
        oldest = self._queue[0]
        oldest.computed_tokens += self._chunk
        self.readings.computed_tokens += self._chunk
        self._chunk = NO_CHUNK
        request = oldest.request
        if oldest.cached_tokens + oldest.computed_tokens < request.prompt_tokens:
            return
        self._queue.popleft()
        self._cache.insert(request.blocks)
        self.readings.prompt_tokens += request.prompt_tokens
        self.readings.generated_tokens += 1
        self._first_token(oldest, now)
        if self.kind is RoleKind.PREFILL:
            self._count_finished(request.prompt_tokens, 1)
            self._events.prefilled(request, now)
        else:
            self._join(oldest, request.output_tokens - 1)

    def _first_token(self, sequence: Sequence, now: float) -> None:
        if self.engine is Engine.VLLM or self.kind is not RoleKind.PREFILL:
            self.readings.ttft.observe(now - sequence.received_at)
        if self.kind is not RoleKind.PREFILL:
            self._events.first_token(sequence.request, now)

    def _finish(self, sequence: Sequence, now: float) -> None:
        request = sequence.request
        self._reserved_tokens -= request.prompt_tokens + request.output_tokens
        self._count_finished(request.prompt_tokens, request.output_tokens)
        self._events.finished(request, now)

    def _count_finished(self, prompt_tokens: int, generated_tokens: int) -> None:
        self.readings.finished_requests += 1
        self.readings.finished_prompt_tokens += prompt_tokens
        self.readings.finished_generated_tokens += generated_tokens

    def _count_tokens(self, steps: int, now: float) -> None:
        tokens = steps * len(self._batch)
        self.readings.generated_tokens += tokens
        gaps = tokens - len(self._fresh)
        self._slow_debt += gaps * self.profile.slow_step_share
        slow = min(gaps, math.floor(self._slow_debt))
        self._slow_debt -= slow
        usual_share = 1 + self.profile.slow_step_share * (self.profile.slow_step_factor - 1)
        usual = self._batch.step_seconds / usual_share
        for seconds, count in ((usual, gaps - slow), (usual * self.profile.slow_step_factor, slow)):
            if count > 0:
                self.readings.itl.observe(seconds, count)
                self._events.gaps(now, seconds, count)
