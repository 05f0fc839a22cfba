"""The three calls of a pass, held to the tables: what the status went through is what the machines were asked."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, TypeVar
from unittest import mock

from scaler_core import transactions
from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.action import Action, Note, Outcome
from scaler_core.model.plan import Plan
from scaler_core.model.world import World
from scaler_core.transactions import Proposal, Settled, binding, cohort, exhaustion, intent, rebalance, retirement
from scaler_core.transactions.machine import Machine
from scaler_core.transactions.machines import MACHINES

T = TypeVar("T")
Asked = tuple[str, StrEnum, StrEnum, StrEnum]
_AFTER = Machine.after
SEEN: set[tuple[str, StrEnum, StrEnum]] = set()
"""Every transition that was taken since the tests began, as (machine, state, event)."""


def settle(world: World, decision_id: str) -> Settled:
    settled, asked = _recorded(lambda: transactions.settle(world, decision_id))
    check(world.scaler.status, settled.status, asked)
    return settled


def propose(settled: Settled, plan: Plan, world: World, decision_id: str) -> Proposal:
    proposal, asked = _recorded(lambda: transactions.propose(settled, plan, world, decision_id))
    check(settled.status, proposal.status, asked)
    return proposal


def record(
    status: ScalerStatus, action: Action, outcome: Outcome, world: World
) -> tuple[ScalerStatus, tuple[Note, ...]]:
    recorded, asked = _recorded(lambda: transactions.record(status, action, outcome, world))
    check(status, recorded[0], asked)
    return recorded


def check(before: ScalerStatus, after: ScalerStatus, asked: list[Asked]) -> None:
    """Each machine went from the one status to the other by the transitions that it was asked for, and by no other."""
    assert {name for name, *_ in asked} <= {machine.name for machine in MACHINES}
    for (name, state), (_, last) in zip(states(before), states(after), strict=True):
        for _, was, event, then in (step for step in asked if step[0] == name):
            assert was == state, (name, state, was, event)
            SEEN.add((name, was, event))
            state = then  # noqa: PLW2901
        assert state == last, f"{name} is {last}, and its table says {state}"


def states(status: ScalerStatus) -> Iterator[tuple[str, StrEnum]]:
    yield "binding", binding.state_of(status.binding)
    yield "intent", intent.state_of(status.pending_commit)
    yield "cohort", cohort.state_of(status.pending_cohort)
    yield "retirement", retirement.state_of(status.last_scale_down)
    yield "exhaustion", exhaustion.state_of(status.exhaustion)
    yield "rebalance", rebalance.state_of(status.rebalance)


def _recorded(call: Callable[[], T]) -> tuple[T, list[Asked]]:
    asked: list[Asked] = []

    def after(machine: Machine[Any, Any], state: StrEnum, event: StrEnum) -> StrEnum:
        then: StrEnum = _AFTER(machine, state, event)
        asked.append((machine.name, state, event, then))
        return then

    with mock.patch.object(Machine, "after", after):
        return call(), asked
