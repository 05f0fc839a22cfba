"""A pass that can be run again: what it depended on, as a value and as JSON.

`decide` is pure, so a recording shows the same decision wherever it is replayed: in the controller that made it, in
`mds explain --file`, in a test of a case that someone reported.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from pydantic import JsonValue, TypeAdapter

from scaler_core import transactions
from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.api.scaler_spec import MAX_REPLICAS
from scaler_core.constraining import plan_input
from scaler_core.decision import decide
from scaler_core.model.world import Snapshot
from scaler_core.observation import Memory
from scaler_core.planning.eligibility import judge_eligibility
from scaler_core.planning.history import RecommendationHistory
from scaler_core.reporting.explained import Explained
from scaler_core.reporting.explanation import PassFacts, explain
from scaler_core.signals.windows import SignalMemory

FORMAT = 1
"""Raised when older recordings cannot be read any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Everything that one pass depended on."""

    snapshot: Snapshot
    memory: Memory | None
    """Before the pass; None for the first of a process."""
    decision_id: str

    def explain(self) -> Explained:
        """Run the pass again and explain it."""
        world = self.snapshot.world
        decision, memory = decide(self.snapshot, self.memory, self.decision_id)
        settled = transactions.settle(world, self.decision_id)
        observed, target, given = decision.observation, world.target, None
        if observed is not None and target is not None and judge_eligibility(world.scaler.spec, target) is None:
            given = plan_input(world, target, settled, observed, memory.histories)
        return explain(
            PassFacts(
                snapshot=self.snapshot,
                settled=settled,
                status=decision.status,
                observed=observed,
                plan=decision.plan,
                given=given,
                histories=memory.histories,
            )
        )

    def to_json(self) -> dict[str, JsonValue]:
        """All of it as plain JSON; numbers that JSON does not have are texts."""
        written = _adapter().dump_python(_Written.of(self), mode="json", by_alias=True)
        document: dict[str, JsonValue] = _finite(written)
        return document

    @classmethod
    def from_json(cls, document: JsonValue) -> Self:
        """Read what `to_json` wrote.

        Raises:
            pydantic.ValidationError: it is malformed, or of a release with another format.
        """
        written = _adapter().validate_python(document)
        return cls(snapshot=written.snapshot, memory=written.recall(), decision_id=written.decision_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenHistory:
    """A history with plain lists in the place of arrays."""

    times: tuple[float, ...]
    counts: tuple[int, ...]
    unbroken_since: float | None = None

    def recall(self) -> RecommendationHistory:
        if len(self.times) != len(self.counts) or any(not 0 <= count <= MAX_REPLICAS for count in self.counts):
            raise ValueError("a history needs one count of 0 to 1024 for each time")
        return RecommendationHistory(
            times=array("d", self.times), counts=array("H", self.counts), unbroken_since=self.unbroken_since
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenMemory:
    target_uid: str
    signals: SignalMemory
    algorithm: AlgorithmMemory
    histories: Mapping[str, _WrittenHistory]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A recording as pydantic can write and read it."""

    format: int
    snapshot: Snapshot
    memory: _WrittenMemory | None = None
    decision_id: str

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"a recording of format {self.format}; this release reads format {FORMAT}")

    @classmethod
    def of(cls, recording: Recording) -> Self:
        memory = recording.memory
        histories = {} if memory is None else memory.histories
        kept = {
            name: _WrittenHistory(
                times=tuple(history.times), counts=tuple(history.counts), unbroken_since=history.unbroken_since
            )
            for name, history in histories.items()
        }
        return cls(
            format=FORMAT,
            snapshot=recording.snapshot,
            memory=None
            if memory is None
            else _WrittenMemory(
                target_uid=memory.target_uid, signals=memory.signals, algorithm=memory.algorithm, histories=kept
            ),
            decision_id=recording.decision_id,
        )

    def recall(self) -> Memory | None:
        if self.memory is None:
            return None
        return Memory(
            target_uid=self.memory.target_uid,
            signals=self.memory.signals,
            algorithm=self.memory.algorithm,
            histories={name: history.recall() for name, history in self.memory.histories.items()},
        )


@cache
def _adapter() -> TypeAdapter[_Written]:
    return TypeAdapter(_Written)


def _finite(value: Any) -> Any:
    """With infinities as texts, which pydantic reads as numbers."""
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_finite(member) for member in value]
    return repr(value) if isinstance(value, float) and value in {float("inf"), float("-inf")} else value
