"""What the elector can be in, as a table: for the diagram in the documentation, and for tests that hold it to that.

| State     | Event     | State     | Then                                                                            |
|-----------|-----------|-----------|---------------------------------------------------------------------------------|
| Candidate | Seen      | Candidate | a record that changed starts the wait for the lease's length anew               |
| Candidate | Sent      | Asked     | nobody holds it, or its holder was silent for that length                       |
| Asked     | Seen      | Asked     | the record is another's, and our write may still arrive                         |
| Asked     | Sent      | Asked     | the next attempt replaces the one without an answer                             |
| Asked     | Refused   | Candidate | somebody was faster                                                             |
| Asked     | Accepted  | Holding   | writes are allowed for `renew_seconds` from before it was sent                  |
| Asked     | Confirmed | Holding   | the answer was lost, but the record shows our write, in time                    |
| Holding   | Seen      | Holding   | what is seen decides whether the lease is kept                                  |
| Holding   | Sent      | Renewing  | every `retry_seconds`                                                           |
| Holding   | Lost      | Candidate | taken, deleted or not renewed in time: the process ends, its next life waits    |
| Holding   | Released  | Candidate | the record is emptied, so that nobody has to wait                               |
| Renewing  | Seen      | Renewing  | without an answer the holder goes on until its time is over                     |
| Renewing  | Sent      | Renewing  | the next attempt replaces the one without an answer                             |
| Renewing  | Refused   | Holding   | until its time is over, or until another's record is seen                       |
| Renewing  | Accepted  | Holding   | for `renew_seconds` from before it was sent                                     |
| Renewing  | Confirmed | Holding   | the same                                                                        |
| Renewing  | Lost      | Candidate | as from Holding                                                                 |
| Renewing  | Released  | Candidate | as from Holding                                                                 |
"""

from enum import StrEnum
from typing import Final

from scaler_controller.runtime.lease import Elector
from scaler_core.transactions.machine import Machine


class LeaseState(StrEnum):
    """Where a candidate for the lease stands."""

    CANDIDATE = "Candidate"
    ASKED = "Asked"
    HOLDING = "Holding"
    RENEWING = "Renewing"


class LeaseEvent(StrEnum):
    """What happens to it."""

    SEEN = "Seen"
    SENT = "Sent"
    REFUSED = "Refused"
    ACCEPTED = "Accepted"
    CONFIRMED = "Confirmed"
    LOST = "Lost"
    RELEASED = "Released"


_S, _E = LeaseState, LeaseEvent
LEASE: Final = Machine(
    name="lease",
    start=_S.CANDIDATE,
    table={
        (_S.CANDIDATE, _E.SEEN): _S.CANDIDATE,
        (_S.CANDIDATE, _E.SENT): _S.ASKED,
        (_S.ASKED, _E.SEEN): _S.ASKED,
        (_S.ASKED, _E.REFUSED): _S.CANDIDATE,
        (_S.HOLDING, _E.SEEN): _S.HOLDING,
        (_S.HOLDING, _E.SENT): _S.RENEWING,
        (_S.RENEWING, _E.SEEN): _S.RENEWING,
        (_S.RENEWING, _E.REFUSED): _S.HOLDING,
        **{(state, _E.SENT): state for state in (_S.ASKED, _S.RENEWING)},
        **{(state, event): _S.HOLDING for state in (_S.ASKED, _S.RENEWING) for event in (_E.ACCEPTED, _E.CONFIRMED)},
        **{(state, event): _S.CANDIDATE for state in (_S.HOLDING, _S.RENEWING) for event in (_E.LOST, _E.RELEASED)},
    },
)


def state_of(elector: Elector) -> LeaseState:
    """The state that an elector is in."""
    if elector.is_holder:
        return _S.HOLDING if elector.attempt is None else _S.RENEWING
    return _S.CANDIDATE if elector.attempt is None else _S.ASKED
