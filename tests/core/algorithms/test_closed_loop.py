"""The real recommend and plan around a small plant: no overshoot, no flapping, no fleet that stays where it was."""

import pytest

from scaler_core.api.reasons import RoleReason
from tests.core.algorithms.closed_loop_cases import CASES, EVENT, MAXIMUM, PREDICTIVE, TOKENS, Case, run

PAIRS = [pytest.param(case, kind, id=f"{case.name}, {kind}") for case in CASES for kind in case.bounds]
SEEDS = range(3)


@pytest.mark.parametrize(("case", "algorithm"), PAIRS)
def test_the_loop_stays_within_its_bound(case: Case, algorithm: str) -> None:
    bound, seen = case.bounds[algorithm], run(case.name, algorithm)
    assert seen.peak <= bound.peak
    assert seen.changes <= bound.changes
    assert seen.enough_after(EVENT) <= bound.enough_within
    assert bound.last[0] <= seen.counts[-1] <= bound.last[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_predictive_moves_no_more_often_under_noise(seed: int) -> None:
    case = "20 % noise"
    assert run(case, PREDICTIVE, seed).changes <= run(case, TOKENS, seed).changes


@pytest.mark.parametrize("seed", SEEDS)
def test_predictive_adds_at_most_one_more_after_an_outlier(seed: int) -> None:
    case = "single outlier"
    assert run(case, PREDICTIVE, seed).peak <= run(case, TOKENS, seed).peak + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_predictive_is_never_short_for_longer_on_a_ramp(seed: int) -> None:
    case = "ramp over 10 minutes"
    ahead, token = run(case, PREDICTIVE, seed), run(case, TOKENS, seed)
    assert ahead.short_seconds() <= token.short_seconds()
    assert ahead.short_seconds() < 0.75 * token.short_seconds()


@pytest.mark.parametrize("seed", SEEDS)
def test_predictive_is_never_short_for_longer_on_a_noisy_day(seed: int) -> None:
    case = "diurnal hour with 10 % noise"
    assert run(case, PREDICTIVE, seed).short_seconds() < 0.5 * run(case, TOKENS, seed).short_seconds()


def test_a_slow_start_grows_by_latency_and_waits_for_what_is_on_the_way() -> None:
    seen = run("starts of 5 minutes", TOKENS)
    reasons = {answer.reason for answer in seen.answers}
    assert {RoleReason.LATENCY_GUARD_SCALE_UP, RoleReason.LATENCY_GUARD_HOLD} <= reasons
    assert seen.peak < MAXIMUM / 2


def test_served_tokens_that_saturate_still_grow_the_role() -> None:
    seen = run("served tokens saturate", TOKENS)
    assert seen.counts[-1] * 700 >= 3000
    assert RoleReason.LATENCY_GUARD_SCALE_UP in {answer.reason for answer in seen.answers}


@pytest.mark.parametrize("algorithm", [TOKENS, PREDICTIVE])
def test_an_idle_role_reaches_its_minimum_within_windows_and_steps(algorithm: str) -> None:
    seen = run("traffic to zero", algorithm)
    at_minimum = 15 * next(index for index, count in enumerate(seen.counts) if count == 1)
    # 600 s of load, 180 s of token window, 300 s of shrink window, 8 steps of 15 s, and two samples of slack.
    assert at_minimum <= EVENT + 180 + 300 + 8 * 15 + 30
