"""Growth that is never admitted: attempts come further and further apart, whoever leads."""

from collections.abc import Callable

import pytest

from scaler_core.transactions.clock import retry_wait
from tests.controller.recovery.conftest import Begin
from tests.controller.recovery.stage import TIMEOUT, Stage

PAIR = {"prefill": 2, "decode": 2}
STEP = 60.0
ATTEMPTS = 6


def stay(_stage: Stage) -> None:
    return None


def lose_every_other_sample(stage: Stage) -> None:
    stage.failing = set() if stage.failing else {"prefill"}


@pytest.mark.parametrize(
    ("between", "policy"),
    [
        pytest.param(stay, "Opposing", id="under one leader"),
        pytest.param(Stage.fail_over, "Disabled", id="under a new leader before every sample"),
        pytest.param(lose_every_other_sample, "Disabled", id="with engines that fall silent again and again"),
    ],
)
def test_growth_without_capacity_backs_off_to_half_an_hour(
    begin: Begin, between: Callable[[Stage], None], policy: str
) -> None:
    stage = begin(PAIR, 4, rebalance={"policy": policy})
    stage.live()
    stage.live()
    begins, ends = attempts(stage, between)
    waits = [after - before for before, after in zip(ends, begins[1:], strict=True)]
    for attempt, wait in enumerate(waits, start=1):
        least = min(1800.0, TIMEOUT * 2 ** (attempt - 1))
        assert retry_wait(attempt, TIMEOUT) == least
        assert least <= wait <= least + 3 * STEP, f"after attempt {attempt}"


def attempts(stage: Stage, between: Callable[[Stage], None]) -> tuple[list[float], list[float]]:
    """When growth was committed and when it was rolled back, while the load asks for twice as much."""
    begins: list[float] = []
    ends: list[float] = []
    before = stage.counts
    while len(begins) <= ATTEMPTS:
        between(stage)
        stage.live(STEP, prefill=4)
        if stage.counts != before:
            (begins if before == PAIR else ends).append(stage.clock.now())
            before = stage.counts
    return begins, ends
