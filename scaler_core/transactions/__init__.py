"""What spans passes: binding, intent, cohort, retirement, exhaustion, rebalance, as pure state machines.

    settle   before planning: what the transactions demand and allow    (settling.py, owner.py)
    propose  after planning: the plan, or a donation, as a write        (proposing.py, donors.py)
    record   after the write: what its outcome leaves in the status     (recording.py, landing.py)

What became of a write that nobody confirmed is in resolving.py, what remains when a binding ends in ending.py.

Each machine's table of (state, event) to state is data in its module; `machines` lists them for diagrams and tests.
"""

from scaler_core.transactions.proposing import propose
from scaler_core.transactions.recording import record
from scaler_core.transactions.settled import Planning, Proposal, Settled, Standing
from scaler_core.transactions.settling import settle

__all__ = ["Planning", "Proposal", "Settled", "Standing", "propose", "record", "settle"]
