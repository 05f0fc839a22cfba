"""The tables of transitions: what the documentation says is what the code runs (tables.py holds every pass to them)."""

import importlib
from collections.abc import Callable

import pytest

from scaler_core.api.ownership import DECISION, DecisionRecord
from scaler_core.transactions import binding, cohort, exhaustion, intent, retirement
from scaler_core.transactions.machine import Machine
from scaler_core.transactions.machines import MACHINES
from tests.core.transactions import tables
from tests.core.transactions.cluster import Cluster, Fault, bound

TABLED = [binding, intent, cohort, retirement, exhaustion]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_state_is_reached_and_every_state_can_be_left(machine: Machine) -> None:  # type: ignore[type-arg]
    reached = {machine.start, *machine.table.values()}
    left = {state for state, _ in machine.table}
    assert reached == left == set(type(machine.start))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_event_happens_somewhere(machine: Machine) -> None:  # type: ignore[type-arg]
    events = {event for _, event in machine.table}
    assert events == set(type(next(iter(events))))


@pytest.mark.parametrize("module", TABLED, ids=lambda module: module.__name__.rsplit(".", 1)[1])
def test_the_documented_table_is_the_table(module: object) -> None:
    name = module.__name__.rsplit(".", 1)[1]  # type: ignore[attr-defined]
    machine = next(machine for machine in MACHINES if machine.name == name)
    documented = set()
    for line in (module.__doc__ or "").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if line.startswith("|") and len(cells) >= 3 and cells[0] != "State" and not cells[0].startswith("-"):
            states = set(type(machine.start)) if cells[0] == "any" else {cells[0]}
            documented |= {(state, cells[1], cells[2]) for state in states}
    assert documented == {(state, event, after) for (state, event), after in machine.table.items()}


def test_a_diagram_has_one_line_for_each_transition() -> None:
    machine = importlib.import_module("scaler_core.transactions.intent").INTENT
    lines = machine.mermaid().splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> None"]
    assert len(lines) == 2 + len(machine.table)
    assert "    Stored --> None: Landed" in lines


def test_what_cannot_happen_raises() -> None:
    with pytest.raises(KeyError):
        intent.INTENT.after(intent.IntentState.NONE, intent.IntentEvent.LANDED)


def test_a_status_that_moved_without_its_table_is_found() -> None:
    before = bound().status
    grown = bound()
    grown.plan({"prefill": 3})
    with pytest.raises(AssertionError, match="cohort is Pending, and its table says None"):
        tables.check(before, grown.status, [])


def test_a_binding_that_was_outbid_is_asked_for_anew() -> None:
    cluster = Cluster()
    cluster.run(fault=Fault.CRASH_BEFORE_TARGET)
    cluster.annotations[DECISION] = DecisionRecord(decision_id="d", term=4, vector=cluster.vector).render()
    cluster.run()
    assert cluster.term == 5
    assert ("binding", binding.BindingState.ASKED, binding.BindingEvent.OUTBID) in tables.SEEN


@pytest.mark.parametrize("begin", [Cluster, bound])
def test_a_target_that_was_replaced_ends_a_binding_in_any_state(begin: Callable[[], Cluster]) -> None:
    cluster = begin()
    cluster.run(fault=Fault.CRASH_BEFORE_TARGET)
    was = binding.state_of(cluster.status.binding)
    cluster.replace_target()
    cluster.run()
    cluster.edit_scaler()
    cluster.run()
    assert ("binding", was, binding.BindingEvent.REPLACED) in tables.SEEN
