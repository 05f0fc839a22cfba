"""Peers' numeric cases (shared data, skipped where absent); where we differ on purpose a sentence says why."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from scaler_core.algorithms import token_throughput
from scaler_core.algorithms.history import DemandHistory, DemandSample
from scaler_core.algorithms.kalman import Estimate, Noise, predict, update
from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.recommend import recommend
from scaler_core.algorithms.sizing import exact
from scaler_core.algorithms.token_throughput import WindowAverages
from scaler_core.algorithms.tracker import Tracker, observe
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import TokenThroughput
from scaler_core.model.recommendation import Recommendation
from tests.core.algorithms.builders import INTERVAL, START, counts, proportional_spec, reading
from tests.shared_data import shared


def group(name: str) -> list[dict[str, Any]]:
    return json.loads(shared("data", "vectors.json").read_text())[name]


def proportion(total: float, *, target: float, ready: int, current: int, tolerance: float = 0.1) -> Recommendation:
    spec = proportional_spec(target=str(target), tolerance=str(tolerance))
    sample = reading(ready=ready, running=total)
    return recommend({"server": sample}, {"server": counts(current)}, spec, AlgorithmMemory(), START).recommendations[
        "server"
    ]


HPA_DIFFERENCES = {
    "up, one unready pod ignored": 4,
    "up, two unready, hot ready pod: direction flips -> hold": 2,  # HPA counts unready Pods as empty and holds
    "missing 2 of 4, scale-down: missing assumed at target": 1,  # coverage is incomplete, so the planner holds at 4
    "missing 1 of 2, 60% -> .8 -> ceil 1.6 = 2 hold": 1,  # likewise
    "missing + unready, hot 2000% -> 4": 4,
}
"""Where HPA guesses the load of Pods without a reading, we do not: growth looks at the sum of what was read, and
incomplete coverage prevents shrinkage in the planner."""


def test_the_pods_metric_of_the_horizontal_pod_autoscaler() -> None:
    for case in group("hpa_pods_ratio"):
        got = proportion(
            sum(case["levels"]),
            target=case["target"],
            ready=case["ready"] + case["missing"],
            current=case["current"],
            tolerance=case["tolerance"],
        )
        is_complete = not case["missing"]
        if case["name"].startswith("PEER DEFECT"):
            # HPA halves a role at exactly its target with one Pod missing; here incomplete coverage shrinks nothing.
            assert not is_complete
            continue
        wanted = HPA_DIFFERENCES.get(case["name"], case["expect"])
        assert got.replicas == wanted, case["name"]
        if got.replicas < case["expect"]:
            assert not is_complete or case["ignored"], case["name"]


def test_the_object_metric_of_the_horizontal_pod_autoscaler_as_an_average_value() -> None:
    cases = [case for case in group("hpa_object_external") if case["kind"] == "AverageValue"]
    assert cases
    for case in cases:
        got = proportion(case["metric"], target=case["target"], ready=case["current"], current=case["current"])
        assert got.replicas == case["expect"], case["name"]


def windows(stable: float, panic: float, *, target: float, ready: int, threshold: float) -> Recommendation:
    spec = TokenThroughput.from_wire({"panicThreshold": str(threshold)})
    averages = WindowAverages(stable=exact(stable), panic=exact(panic))
    return token_throughput.recommend(averages, spec, ready=ready, capacity=Fraction(str(target)), current=ready)


def test_knative_pod_autoscaler() -> None:
    for case in group("knative_kpa"):
        if case["ready"] == 0:
            continue  # Knative counts zero ready as one; we hold with NoReadyReplicas (test_proportional)
        got = windows(
            case["stable"], case["panic"], target=case["target"], ready=case["ready"], threshold=case["threshold"]
        )
        if got.reason is RoleReason.PANIC:
            # Knative clamps growth by a rate, we pace in the planner; in panic nothing shrinks on either side.
            assert got.replicas == max(case["expect"], case["ready"])
            continue
        # Knative may go to zero and limits each step down by a rate; here one replica is the least, pacing is later.
        unclamped = max(1, math.ceil(case["stable"] / case["target"]))
        assert got.replicas == unclamped
        assert case["expect"] in {unclamped, 0, math.floor(case["ready"] / case["down_rate"])}, case


def test_knative_window_average() -> None:
    history = DemandHistory()
    for second in range(1, 6):
        sample = DemandSample(at=START + second, covered_seconds=1, tokens_per_second=float(second))
        history = history.append(sample, keep_seconds=5)
        if second == 1:
            # Divided by the filled part of the window alone, as Knative does.
            assert history.average(end=START + 1, seconds=5) == group("knative_bucket_average_5s")[0]["expect"]
    assert history.average(end=START + 5, seconds=5) == group("knative_bucket_average_5s")[1]["expect"]
    # Knative answers 0 for a window without data; no data is no load here, and no absence of it either.
    assert history.average(end=START + 15, seconds=5) is None


def test_aibrix_pod_autoscaler_divides_a_mean_where_we_divide_a_total() -> None:
    for case in group("aibrix_kpa"):
        per_pod = case["panic"] if case["inpanic"] else case["stable"]
        total = per_pod * case["current"]
        got = windows(total, total, target=case["target"], ready=case["current"], threshold=2)
        # The peer divides the mean of its Pods by the target of one Pod, so twice the load on two Pods asks for two.
        assert got.replicas >= min(case["expect"], math.ceil(total / case["target"]))
        assert got.replicas == max(1, math.ceil(total / case["target"])) or got.reason is RoleReason.PANIC


def test_aibrix_proportional_autoscaler_before_its_rate_limits() -> None:
    for case in group("aibrix_apa"):
        got = proportion(
            case["use_per_pod"] * case["current"], target=case["target"], ready=case["current"], current=case["current"]
        )
        ratio = case["use_per_pod"] / case["target"]
        up, down = math.ceil(case["up_rate"] * case["current"]), math.floor(case["current"] / case["down_rate"])
        limited = max(min(got.replicas, up), down) if abs(ratio - 1) > 0.1 else got.replicas
        assert limited == case["expect"], case


def test_dynamo_kalman_filter() -> None:
    for case in group("dynamo_kalman"):
        noise = Noise(level=case["q_level"], trend=case["q_trend"], measurement=case["r"])
        if any(value == "NaN" for value in case["series"]):
            continue  # the peer feeds NaN as zero and forecasts 148 after six times 100; see the next test
        values = _without_leading_zeros(case["series"])
        offset = len(case["series"]) - len(values)
        estimate, seen = Estimate(level=values[0]), 1
        for index, value in enumerate(values):
            if index:
                prior = predict(estimate, steps=1.0, noise=noise)
                estimate = update(prior, value - prior.level, noise)
                seen += 1
            if seen >= case["min_points"]:
                one_ahead = max(0.0, predict(estimate, steps=1.0, noise=noise).level)
                assert one_ahead == pytest.approx(case["expect_after_each"][offset + index], abs=1e-3)


def test_a_missing_observation_does_not_move_the_forecast_where_dynamo_jumps() -> None:
    tracker = Tracker()
    for index, value in enumerate([100.0, math.nan, 100.0, 100.0, 100.0, 100.0, 100.0]):
        tracker = observe(tracker, value, at=START + index * INTERVAL, interval_seconds=INTERVAL, noise=Noise())
    assert tracker.estimate is not None
    assert tracker.estimate.level == pytest.approx(100.0)
    assert tracker.estimate.trend == pytest.approx(0.0)


def _without_leading_zeros(series: list[float]) -> list[float]:
    first = next(index for index, value in enumerate(series) if value)
    return [float(value) for value in series[first:]]


def test_the_sequence_of_a_burst_through_knative_s_windows() -> None:
    # The peer goes to 25 in panic, to 41 in panic, and to 50 without panic.
    assert group("knative_kpa_sequences")[0].endswith("50 and panic ends")
    burst = windows(11, 25, target=1, ready=10, threshold=2)
    after = windows(30, 41, target=1, ready=25, threshold=2)
    end = windows(50, 56, target=1, ready=55, threshold=2)
    assert (burst.replicas, burst.reason) == (25, RoleReason.PANIC)
    # Knative stays in panic for a stable window after the threshold was last reached; here panic is the threshold alone
    # (spec), and what was granted is kept by the planner's downward window of 300 s.
    assert (after.replicas, after.reason) == (30, RoleReason.TOKEN_THROUGHPUT)
    assert (end.replicas, end.reason) == (50, RoleReason.TOKEN_THROUGHPUT)


def test_after_a_burst_knative_holds_by_panic_and_we_by_the_downward_window() -> None:
    # The peer stays at 100 for half a minute and is at one after a whole.
    assert group("knative_kpa_sequences")[1].startswith("panic at 100 then load 1")
    answer = windows(1, 1, target=1, ready=100, threshold=2)
    assert (answer.replicas, answer.reason, answer.holds_scale_down) == (1, RoleReason.TOKEN_THROUGHPUT, False)


def test_old_samples_weigh_as_much_as_new_ones_where_knative_may_let_them_fade() -> None:
    case = group("knative_weighted_average")[0]
    history = DemandHistory()
    for second, value in enumerate(case["values"], start=1):
        sample = DemandSample(at=START + second, covered_seconds=1, tokens_per_second=float(value))
        history = history.append(sample, keep_seconds=60)
    # The spec averages over the window, so it is the plain mean; the fading one is near the newest sample.
    assert history.average(end=START + 5, seconds=60) == 4.0 < case["expect"]
