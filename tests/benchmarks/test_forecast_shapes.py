"""The tables of made-up demands of docs/forecast-quality.md: what has no chance in it stands there as computed."""

from pathlib import Path
from random import Random

import pytest

from benchmarks import forecast_shapes
from benchmarks.forecast_quality import ours
from benchmarks.forecast_shapes import (
    Demand,
    coarse,
    demands,
    errors_ratio,
    forecasts,
    gate_table,
    miss_table,
    untaught,
)

PAGE = (Path(__file__).parents[2] / "docs/forecast-quality.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast_shapes, "SEEDS", range(1))


@pytest.mark.parametrize("demand", ["Step from 1000 to 4000", "One outlier of five times 1000"])
def test_the_page_has_the_peaks_that_are_computed(demand: str) -> None:
    (row,) = (line for line in gate_table().splitlines() if line.startswith(f"| {demand} |"))
    assert row in PAGE


def test_the_page_has_a_row_for_every_demand() -> None:
    for demand in demands():
        assert f"| {demand.name} |" in PAGE


def test_misses_help_where_the_filter_lags(monkeypatch: pytest.MonkeyPatch) -> None:
    (lagging,) = (demand for demand in demands() if demand.name == "Step from 4000 to 1000, 5 % noise")
    monkeypatch.setattr(forecast_shapes, "demands", lambda: iter([lagging]))
    _, without, learned, *_ = miss_table().splitlines()[-1].strip("| ").split(" | ")
    assert float(learned) < float(without)


def test_a_demand_that_is_too_short_for_the_horizon_has_no_ratio() -> None:
    short = Demand(name="short", make=lambda chance: [chance.random() for _ in range(20)])
    assert errors_ratio(short, 300.0, untaught) is None


def test_the_forecast_is_that_of_the_table_of_traces() -> None:
    chance = Random(1)
    series = [1000 * chance.random() for _ in range(30)]
    assert forecasts(series, 30.0, 15.0, lambda tracker: tracker) == ours(series, 30.0)


def test_half_the_cadence_has_half_the_samples_of_the_same_demand() -> None:
    assert coarse([1.0, 3.0, 5.0, 7.0, 9.0]) == [2.0, 6.0]
