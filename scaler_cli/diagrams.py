"""The page of state machines in the documentation, rendered from the tables that the code is held to."""

from collections.abc import Iterator
from typing import Any, Final

from scaler_controller.runtime.lease_states import LEASE
from scaler_core.transactions.machine import Machine
from scaler_core.transactions.machines import MACHINES

_INTRODUCTION: Final = """\
<!-- Generated from scaler_core/transactions and scaler_controller/runtime by `make generate`; do not edit. -->

# State machines

What spans passes is a handful of small state machines. Each is a table of (state, event) to next state, and this page
is drawn from those tables. The code runs through them: whatever begins, moves or ends one asks its table, which raises
for what cannot happen, and every pass in the tests of transactions fails where the status moved otherwise than the
tables were asked. Their whole state is in the scaler's status and in the target's two annotations, so a new leader goes
on where the last one stopped. Who leads is the lease's matter, at the end: its state is what one process knows of a
Lease object, and tests hold the elector to its table.
"""
PAGE: Final[tuple[Machine[Any, Any], ...]] = (*MACHINES, LEASE)
_MEANINGS: Final = {
    "binding": (
        "Who owns the counts. Read from `status.binding` and the `scaler-binding` annotation of the target. The term "
        "is stored before it is asked for, and only ever rises."
    ),
    "intent": (
        "The write-ahead record of one commit, `status.pendingCommit`: stored first, then one write of the target, "
        "then the outcome. The decision annotation on the target tells whether it happened."
    ),
    "cohort": (
        "The replicas that one commit added, `status.pendingCohort`, until every one of them is admitted, or all of "
        "them are rolled back together after `sampling.pendingTimeoutSeconds`."
    ),
    "retirement": (
        "The replicas that one commit removed, `status.lastScaleDown`, until every one is gone, or all of them are "
        "restored because the target aborted a retirement."
    ),
    "exhaustion": (
        "Growth that found no capacity, `status.exhaustion`. While it runs, the same growth waits longer after every "
        "attempt, up to 30 minutes."
    ),
    "rebalance": (
        "One replica from a donor to a receiver, `status.rebalance`. The names of its states are the reasons that the "
        "status shows."
    ),
    "lease": (
        "Who may write: one of the controller's replicas, over a Lease object. A holder stops before anybody else may "
        "begin, whatever happens to the network or to its own clock."
    ),
}
"""What each machine is about; a machine without an entry fails the generation."""


def page() -> str:
    """The text of `docs/explanation/state-machines.md`."""
    return "\n".join([_INTRODUCTION, *(line for machine in PAGE for line in _section(machine))])


def _section(machine: Machine[Any, Any]) -> Iterator[str]:
    yield f"## {machine.name.capitalize()}"
    yield ""
    yield _MEANINGS[machine.name]
    yield ""
    yield "```mermaid"
    yield machine.mermaid()
    yield "```"
    yield ""
