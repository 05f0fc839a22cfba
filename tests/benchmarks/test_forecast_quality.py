"""The computation of docs/forecast-quality.md, on traces of our own and on the recorded ones where they are."""

import math
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

import pytest

from benchmarks.forecast_quality import (
    INTERVAL,
    Quality,
    Series,
    generation_rates,
    prompt_rates,
    qualities,
    table,
    trace_qualities,
)
from scaler_sim.workload.synthetic import waves
from scaler_sim.workload.traces import Arrival, load
from tests.shared_data import shared

RECORDED = [
    ("azure2023", "AzureLLMInferenceTrace_code.csv", {30, 300, 600}),
    ("azure2023", "AzureLLMInferenceTrace_conv.csv", {30, 300, 600}),
    ("mooncake_fast25", "conversation_trace.jsonl", {30, 300, 600}),
    ("aibrix_workloads", "8min_up_and_down.csv", {30}),
]


def product(rows: list[Quality]) -> dict[float, float]:
    return {row.horizon: row.ratios["product"] for row in rows}


def test_prompt_tokens_count_at_arrival_and_output_tokens_while_they_are_decoded() -> None:
    arrivals = [
        Arrival(at=1.0, prompt_tokens=300, output_tokens=1000),
        Arrival(at=45.0, prompt_tokens=1, output_tokens=1),
    ]
    assert prompt_rates(arrivals) == [300 / INTERVAL, 0, 0]
    # 1000 tokens from second 1 to second 31: 14 s of the first interval, 15 of the second, 1 of the third.
    assert generation_rates(arrivals) == pytest.approx([1000 * part / 30 / INTERVAL for part in (14, 15, 1)])


def test_where_there_is_a_trend_the_product_follows_it() -> None:
    hour = waves(Random(7), seconds=7200, period_seconds=3600, low_per_second=1, high_per_second=12)
    rows = qualities("waves", prompt_rates(hour))
    got = product(rows)
    assert got[30] < 0.85
    assert got[300] < 0.9
    assert got[600] < 0.95
    assert all(row.ratios["product"] < row.ratios["180 s mean"] for row in rows)


def test_where_there_is_only_noise_the_product_does_no_worse_than_the_last_value() -> None:
    noise = Random(3)
    flat = [1000 * max(0.0, 1 + 0.2 * noise.gauss(0, 1)) for _ in range(240)]
    assert max(product(qualities("noise", flat)).values()) < 0.9


def test_a_smooth_day_is_forecast_far_better_than_by_the_last_value() -> None:
    day = [4000 - 3000 * math.cos(index / 240 * 2 * math.pi) for index in range(480)]
    assert product(qualities("day", day))[300] < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_where_demand_walks_the_product_does_no_worse_than_the_last_value(seed: int) -> None:
    # The last value is the best forecast that there is.
    chance, walk = Random(seed), [1000.0]
    for _ in range(240):
        walk.append(walk[-1] * math.exp(0.1 * chance.gauss(0, 1)))
    assert product(qualities("walk", walk))[30] < 1.05


@pytest.mark.parametrize("demand", [prompt_rates, generation_rates], ids=["prompts", "generation"])
def test_demand_that_climbs_and_falls_within_minutes_is_followed(demand: Callable[[Sequence[Arrival]], Series]) -> None:
    # Without what misses.py learns the means are 1.15 and 1.17.
    rows = [
        product(qualities("hill", demand(waves(Random(seed), seconds=480, period_seconds=480, high_per_second=12))))
        for seed in range(20)
    ]
    assert fmean(row[30] for row in rows) < 1.07


@pytest.mark.parametrize(("folder", "name", "horizons"), RECORDED, ids=[name for _, name, _ in RECORDED])
def test_no_recorded_demand_is_forecast_worse_than_by_the_last_value(
    folder: str, name: str, horizons: set[float]
) -> None:
    rows = trace_qualities(name, load(shared("data", "traces", folder, name)))
    assert {row.horizon for row in rows} == horizons
    assert len(rows) == 2 * len(horizons)
    for row in rows:
        assert row.ratios["product"] <= 1.05, row


def test_the_table_marks_the_best() -> None:
    row = Quality(
        demand="d",
        horizon=30,
        forecasts=9,
        ratios={"product": 0.5, "level held flat (Dynamo)": 0.7, "180 s mean": 1.0, "level and trend, no gate": 2.0},
    )
    assert table([row]).splitlines()[-1] == "| d | 30 s | 9 | **0.50** | 0.70 | 1.00 | 2.00 |"
