"""Faults on command: what tests make the server do to chosen requests."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from scaler_sim.apiserver.calls import Call
from scaler_sim.apiserver.errors import StatusError


class Drop(StrEnum):
    """When the connection is cut, without an answer."""

    BEFORE_EFFECT = "before"
    AFTER_EFFECT = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A `Status` instead of the effect, for example 429 with a `Retry-After` header."""

    code: int
    reason: str = "InternalError"
    message: str = "injected by a test"
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_error(self) -> StatusError:
        """The error that the server answers."""
        return StatusError(self.code, self.reason, self.message, headers=dict(self.headers))


@dataclass(frozen=True, slots=True)
class Delay:
    """Seconds of waiting before the request is served."""

    seconds: float


@dataclass(slots=True, kw_only=True)
class Fault:
    """What happens to the requests that `when` picks, at most `times` of them (None: all)."""

    when: Callable[[Call], bool]
    does: Answer | Drop | Delay
    times: int | None = None
    hits: int = 0


class Faults:
    """The faults in force; every matching one is applied, in the order in which they were added."""

    def __init__(self) -> None:
        self._active: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Put a fault in force."""
        self._active.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Lift a fault."""
        self._active = [other for other in self._active if other is not fault]

    def clear(self) -> None:
        """Lift all faults."""
        self._active = []

    @contextmanager
    def active(self, fault: Fault) -> Iterator[Fault]:
        """A fault in force for a while."""
        self.add(fault)
        try:
            yield fault
        finally:
            self.remove(fault)

    def take(self, call: Call) -> list[Answer | Drop | Delay]:
        """What happens to a request; counts as one hit of each fault."""
        hit = [fault for fault in self._active if fault.times is None or fault.hits < fault.times]
        hit = [fault for fault in hit if fault.when(call)]
        for fault in hit:
            fault.hits += 1
        return [fault.does for fault in hit]
