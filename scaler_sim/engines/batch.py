"""A batch of sequences that decode together, settled lazily: nothing is done for each token.

Between two changes of the batch every step takes equally long and gives one token to every sequence, so the tokens of a
stretch are a product. An hour of traffic costs a few events for each request, not for each token.
"""

import heapq
import itertools
from dataclasses import dataclass

from scaler_sim.engines.request import Request

_EPSILON = 1e-6  # steps; a boundary computed twice may differ in its last digits


@dataclass(slots=True, kw_only=True)
class Sequence:
    """A request that decodes."""

    request: Request
    received_at: float
    """When this replica got it, in seconds."""
    looked_up: bool = False
    """Whether the prefix cache was asked, which happens when the first chunk is due."""
    cached_tokens: int = 0
    """Leading prompt tokens that need no computation."""
    computed_tokens: int = 0


class Batch:
    """Decoding sequences and the step that they share."""

    def __init__(self) -> None:
        self.steps = 0
        self._order = itertools.count()
        self._leaving: list[tuple[int, int, Sequence]] = []
        self._context_tokens = 0
        self._started_at = 0.0
        self._step_seconds = 0.0
        self._settled = 0

    def __len__(self) -> int:
        return len(self._leaving)

    @property
    def context_tokens(self) -> int:
        """KV tokens of all sequences at the last settled step."""
        return self._context_tokens

    @property
    def step_seconds(self) -> float:
        """Duration of one step of the current stretch."""
        return self._step_seconds

    def sequences(self) -> list[Sequence]:
        """Everything in the batch."""
        return [sequence for _, _, sequence in self._leaving]

    def join(self, sequence: Sequence, remaining_tokens: int) -> None:
        """Add a sequence at a step's boundary; it leaves after that many more tokens."""
        heapq.heappush(self._leaving, (self.steps + remaining_tokens, next(self._order), sequence))
        request = sequence.request
        self._context_tokens += request.prompt_tokens + request.output_tokens - remaining_tokens

    def begin_stretch(self, at: float, step_seconds: float) -> None:
        """From now on every step takes that long."""
        self._started_at, self._step_seconds, self._settled = at, step_seconds, 0

    def settle(self, now: float) -> int:
        """Account for the steps that ended by now; their number since the last call."""
        if not self._leaving or self._step_seconds <= 0:
            return 0
        done = int((now - self._started_at) / self._step_seconds + _EPSILON)
        done = min(done, self._settled + self._leaving[0][0] - self.steps)
        ended = max(0, done - self._settled)
        self._settled += ended
        self.steps += ended
        self._context_tokens += ended * len(self._leaving)
        return ended

    def next_boundary(self) -> float:
        """When the step that is being computed ends, in seconds."""
        return self._started_at + (self._settled + 1) * self._step_seconds

    def next_leaving(self) -> float:
        """When the first sequence will be complete, in seconds; the batch is not empty."""
        return self._started_at + (self._settled + self._leaving[0][0] - self.steps) * self._step_seconds

    def leave(self) -> list[Sequence]:
        """Take out every sequence that is complete."""
        complete = []
        while self._leaving and self._leaving[0][0] <= self.steps:
            sequence = heapq.heappop(self._leaving)[2]
            self._context_tokens -= sequence.request.prompt_tokens + sequence.request.output_tokens
            complete.append(sequence)
        return complete

    def clear(self) -> list[Sequence]:
        """Take out everything, complete or not."""
        sequences = self.sequences()
        self._leaving.clear()
        self._context_tokens = 0
        return sequences
