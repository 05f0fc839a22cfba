"""Running the state machine: how many interleavings, from which seed."""

import logging

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import get_state_machine_test

from tests.controller.faults.machine import Faults

STEPS = 12
"""Most steps of one interleaving; each is several passes."""
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def play(*, interleavings: int, seed: int, shrinks: bool = True) -> None:
    """Play so many interleavings; one seed gives the same ones again.

    Raises:
        AssertionError: an invariant did not hold; the steps that led there are printed, after minutes of making them
            few where `shrinks`.
    """
    settings = hypothesis.settings(
        max_examples=interleavings,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(*PHASES, Phase.shrink) if shrinks else PHASES,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    logging.disable(logging.CRITICAL)  # what the product logs of injected faults says nothing about the invariants
    try:
        hypothesis.seed(seed)(get_state_machine_test(Faults, settings=settings))()
    finally:
        logging.disable(logging.NOTSET)
