"""Every machine of this package, for diagrams and for the tests that hold each pass to the tables."""

from typing import Any, Final

from scaler_core.transactions.binding import BINDING
from scaler_core.transactions.cohort import COHORT
from scaler_core.transactions.exhaustion import EXHAUSTION
from scaler_core.transactions.intent import INTENT
from scaler_core.transactions.machine import Machine
from scaler_core.transactions.rebalance import REBALANCE
from scaler_core.transactions.retirement import RETIREMENT

MACHINES: Final[tuple[Machine[Any, Any], ...]] = (BINDING, INTENT, COHORT, RETIREMENT, EXHAUSTION, REBALANCE)
