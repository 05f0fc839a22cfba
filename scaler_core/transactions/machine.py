"""A state machine as data: the tables that transitions run through, and that diagrams are drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

StateT = TypeVar("StateT", bound=StrEnum)
EventT = TypeVar("EventT", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Generic[StateT, EventT]):
    """A table of (state, event) to state; a pair that is not in it cannot happen."""

    name: str
    start: StateT
    table: Mapping[tuple[StateT, EventT], StateT]

    def after(self, state: StateT, event: EventT) -> StateT:
        """The state that follows.

        Raises:
            KeyError: this event cannot happen in this state, so the caller has a bug.
        """
        return self.table[state, event]

    def mermaid(self) -> str:
        """The table as a Mermaid state diagram, one line for each transition."""
        lines = [f"    {state} --> {after}: {event}" for (state, event), after in self.table.items()]
        return "\n".join(["stateDiagram-v2", f"    [*] --> {self.start}", *lines])
