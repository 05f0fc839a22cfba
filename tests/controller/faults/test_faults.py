"""A crash, an error or a change of leader at any write and read (issue 6, acceptance 1).

`make test` plays a few interleavings, `make long` as many as `MDS_INTERLEAVINGS` says.
"""

import os
import random

import pytest

from tests.controller.faults.playing import play

INTERLEAVINGS = int(os.environ.get("MDS_INTERLEAVINGS", "5000"))
PARTS = 20
"""Of the long run, so that several cores share it."""


def test_a_few_orders_of_faults_keep_the_invariants() -> None:
    play(interleavings=25, seed=1 if os.environ.get("CI") == "true" else random.randrange(2**32))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_many_orders_of_faults_keep_the_invariants(part: int) -> None:
    play(interleavings=INTERLEAVINGS // PARTS, seed=random.randrange(2**32) if os.environ.get("MDS_SEED") else part)
