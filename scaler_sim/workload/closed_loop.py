"""The benchmark's client: a fixed number of streams, each asking again as soon as it has its answer."""

from dataclasses import dataclass
from random import Random
from typing import Final

from scaler_sim.engines.fleet import Fleet
from scaler_sim.engines.request import Request
from scaler_sim.engines.timeline import Timer
from scaler_sim.workload.statistics import Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of constant concurrency."""

    name: str
    seconds: float | None
    """How long; None lasts until the loop is stopped."""
    concurrency: int


BENCHMARK: Final = (
    Phase(name="baseline", seconds=45, concurrency=2),
    Phase(name="ramp", seconds=75, concurrency=24),
    Phase(name="sustain", seconds=75, concurrency=24),
    Phase(name="cooldown", seconds=90, concurrency=2),
)
"""The text schedule of spec/scaling-benchmark.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextShape:
    """Sizes of the benchmark's text requests."""

    prompt_tokens: int = 1024
    prompt_spread: float = 0.02
    """Relative standard deviation: 1024 is the client's aim, not the tokenizer's count."""
    output_tokens: int = 256
    early_end_share: float = 0.06
    """Answers that end before the limit, anywhere in their second half."""

    def draw(self, random: Random, identity: int, at: float) -> Request:
        """The next request."""
        output = self.output_tokens
        if random.random() < self.early_end_share:
            output = random.randint(output // 2, output)
        prompt = max(1, round(random.gauss(self.prompt_tokens, self.prompt_spread * self.prompt_tokens)))
        return Request(identity=identity, arrived_at=at, prompt_tokens=prompt, output_tokens=output)


class ClosedLoop:
    """Plays phases against a fleet; failed requests are asked anew after a pause.

    Requests begin only while fewer than the phase's concurrency are in flight; when a phase ends, its outstanding
    requests are answered, as in the benchmark.
    """

    RETRY_SECONDS: Final = 1.0

    def __init__(
        self, *, fleet: Fleet, recorder: Recorder, random: Random, phases: tuple[Phase, ...], shape: TextShape
    ) -> None:
        self._fleet = fleet
        self._recorder = recorder
        self._random = random
        self._phases = phases
        self._shape = shape
        self._position = -1
        self._phase_started_at = fleet.timeline.now
        self._own: set[int] = set()  # requests in flight; those of an earlier client are none of ours
        self._timer: Timer | None = None
        fleet.attach(self)

    @property
    def phase(self) -> Phase | None:
        """The phase that is running; None before the start and after the end."""
        return self._phases[self._position] if 0 <= self._position < len(self._phases) else None

    @property
    def phase_started_at(self) -> float:
        """When the phase began, in seconds on the timeline."""
        return self._phase_started_at

    def start(self) -> None:
        """Begin the first phase."""
        self._next_phase(self._fleet.timeline.now)

    def stop(self) -> None:
        """Ask no more; outstanding requests are still answered."""
        self._position = len(self._phases)
        if self._timer is not None:
            self._timer.cancel()

    def first_token(self, request: Request, at: float) -> None:
        """An answer begins."""
        if request.identity in self._own:
            self._recorder.first_token(request, at)

    def gaps(self, at: float, seconds: float, count: int) -> None:
        """Tokens arrived."""
        self._recorder.gaps(at, seconds, count)

    def finished(self, request: Request, at: float) -> None:
        """An answer is complete: ask the next."""
        if request.identity in self._own:
            self._recorder.finished(request, at)
            self._own.discard(request.identity)
            self._fill(at)

    def failed(self, request: Request, at: float, reason: str) -> None:
        """A request failed: ask again a little later."""
        if request.identity in self._own:
            self._recorder.failed(request, at, reason)
            self._fleet.timeline.after(self.RETRY_SECONDS, lambda now: self._retry(request.identity, now))

    def _retry(self, identity: int, at: float) -> None:
        self._own.discard(identity)
        self._fill(at)

    def _next_phase(self, at: float) -> None:
        self._position += 1
        self._phase_started_at = at
        phase = self.phase
        if phase is None:
            return
        self._recorder.begin_phase(phase.name, at)
        if phase.seconds is not None:
            self._timer = self._fleet.timeline.at(at + phase.seconds, self._next_phase)
        self._fill(at)

    def _fill(self, at: float) -> None:
        phase = self.phase
        while phase is not None and len(self._own) < phase.concurrency:
            request = self._shape.draw(self._random, self._fleet.next_identity(), at)
            self._own.add(request.identity)
            self._fleet.submit(request)
