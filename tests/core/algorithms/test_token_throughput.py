from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.recommend import Advice, recommend
from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.recommendation import Recommendation
from tests.core.algorithms.builders import INTERVAL, START, counts, idle, reading, token_spec

TOKENS = RoleReason.TOKEN_THROUGHPUT
PANIC = RoleReason.PANIC


def feed(
    rates: list[float], *, current: int = 2, ready: int = 2, spec: ScalerSpec | None = None, **seen: Any
) -> Advice:
    """Samples of a Server role at the default cadence, the newest last."""
    advice = Advice(recommendations={}, memory=AlgorithmMemory())
    for index, rate in enumerate(rates):
        now = START + index * INTERVAL
        sample = reading(ready=ready, taken_at=now, prompt_rate=rate, **seen)
        advice = recommend({"server": sample}, {"server": counts(current)}, spec or token_spec(), advice.memory, now)
    return advice


def last(rates: list[float], **kwargs: Any) -> Recommendation:
    return feed(rates, **kwargs).recommendations["server"]


@dataclass(frozen=True)
class Case:
    name: str
    replicas: int
    reason: RoleReason
    rates: list[float]
    ready: int = 2
    current: int = 2
    tokens: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("the stable average over the capacity, rounded up", 3, TOKENS, [2100.0] * 12),
    Case("exactly the capacity needs no further replica", 2, TOKENS, [2000.0] * 12),
    Case("rounding noise of a rate needs no further replica", 2, TOKENS, [2000.0000000000002] * 12),
    Case("no load needs one replica", 1, TOKENS, [0.0] * 12),
    Case("a short burst stays below the panic threshold", 2, TOKENS, [1000.0] * 8 + [3900.0] * 4),
    Case("panic exactly at the threshold", 4, PANIC, [1000.0] * 8 + [4000.0] * 4),
    Case("panic uses the recent average where it is larger", 6, PANIC, [1000.0] * 8 + [6000.0] * 4),
    Case("panic uses the stable average where it is larger", 5, PANIC, [5500.0] * 8 + [4000.0] * 4),
    Case("panic never goes below the current count", 9, PANIC, [4000.0] * 12, current=9),
    Case("a threshold of one panics at capacity", 2, PANIC, [2000.0] * 12, tokens={"panicThreshold": "1"}),
    Case("a threshold below one panics before capacity", 2, PANIC, [1000.0] * 12, tokens={"panicThreshold": "0.5"}),
    Case("an idle role does not panic at any threshold", 1, TOKENS, [0.0] * 12, tokens={"panicThreshold": "0.001"}),
    Case("the panic window may be the longer one", 2, TOKENS, [4000.0] * 6 + [2000.0] * 2,
         tokens={"stableWindowSeconds": 30, "panicWindowSeconds": 300}),
    Case("a longer panic window still starts panic", 5, PANIC, [4500.0] * 18 + [2000.0] * 2,
         tokens={"stableWindowSeconds": 30, "panicWindowSeconds": 300}),
    Case("a panic window shorter than the interval looks at the newest sample", 4, PANIC, [0.0] * 11 + [4000.0],
         tokens={"panicWindowSeconds": 10}),
    Case("panic counts ready replicas only", 3, PANIC, [3000.0] * 12, ready=1, current=3),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_windows_against_capacity(case: Case) -> None:
    answer = last(case.rates, ready=case.ready, current=case.current, spec=token_spec(**case.tokens))
    assert (answer.replicas, answer.reason) == (case.replicas, case.reason)
    assert answer.holds_scale_down == (case.reason is PANIC)


def test_the_defaults_are_180_and_60_seconds_and_a_threshold_of_two() -> None:
    tokens = token_spec().algorithm.tokens
    assert tokens is not None
    assert (tokens.stable_window_seconds, tokens.panic_window_seconds, tokens.panic_threshold.value) == (180, 60, 2)
    assert (tokens.ttft_target_milliseconds.value, tokens.itl_target_milliseconds.value) == (500, 50)


def test_the_message_of_a_stable_answer() -> None:
    assert last([2400.0] * 12).message == (
        "2400 tokens/s over 180 s against a capacity of 1000 for each replica: ceil(2400 / 1000) = 3"
    )


def test_the_message_of_a_panic_has_both_sides_of_the_comparison() -> None:
    message = last([1000.0] * 8 + [6000.0] * 4).message
    assert message == "6000 tokens/s over 60 s reach 2 x 2 ready replicas x 1000 = 4000: ceil(6000 / 1000) = 6"


@pytest.mark.parametrize(
    ("kind", "demand"), [(RoleKind.PREFILL, 4000.0), (RoleKind.DECODE, 800.0), (RoleKind.SERVER, 4800.0)]
)
def test_demand_by_kind(kind: RoleKind, demand: float) -> None:
    sample = reading("role", kind, ready=9, prompt_rate=4000.0, generation_rate=800.0)
    answer = recommend({"role": sample}, {"role": counts(9, kind)}, token_spec(), AlgorithmMemory(), START)
    assert answer.recommendations["role"].demand == demand


def test_a_gap_is_neither_load_nor_its_absence() -> None:
    spec = token_spec()
    memory = feed([3000.0] * 6, spec=spec).memory
    later = START + 5 * INTERVAL + 105.0  # 105 s without a sample; the next covers two intervals of it at most
    sample = reading(taken_at=later, prompt_rate=1500.0, covered_seconds=105.0)
    answer = recommend({"server": sample}, {"server": counts(2)}, spec, memory, later).recommendations["server"]
    # 75 s of 3000 are left of the window (180 s), and 30 s of 1500.
    assert answer.demand == pytest.approx((75 * 3000 + 30 * 1500) / 105)


def test_samples_that_left_the_window_do_not_count() -> None:
    memory = feed([9000.0] * 4).memory
    later = START + 3 * INTERVAL + 600.0
    sample = reading(taken_at=later, prompt_rate=500.0)
    answer = recommend({"server": sample}, {"server": counts(2)}, token_spec(), memory, later).recommendations["server"]
    assert answer.replicas == 1


def test_a_repeated_or_older_sample_changes_nothing() -> None:
    memory = feed([3000.0] * 3).memory
    for at in (START + 2 * INTERVAL, START):
        again = recommend(
            {"server": reading(taken_at=at, prompt_rate=9e9)}, {"server": counts(2)}, token_spec(), memory, at
        )
        assert again.memory.roles == memory.roles


def test_failed_reads_grow_on_what_they_show() -> None:
    answer = last([2400.0] * 4, is_complete=False)
    assert answer.replicas == 3


def test_failed_reads_never_pull_the_average_down() -> None:
    spec = token_spec()
    memory = feed([3000.0] * 6, ready=3, current=3, spec=spec).memory
    for step in range(6, 11):
        now = START + step * INTERVAL
        partial = reading(ready=3, taken_at=now, prompt_rate=100.0, is_complete=False)
        memory = recommend({"server": partial}, {"server": counts(3)}, spec, memory, now).memory
    now = START + 11 * INTERVAL
    whole = reading(ready=3, taken_at=now, prompt_rate=3000.0)
    answer = recommend({"server": whole}, {"server": counts(3)}, spec, memory, now).recommendations["server"]
    assert answer.replicas == 3


def test_a_role_above_the_cap_is_averaged_as_a_whole() -> None:
    share = {"is_complete": False, "read_share": Fraction(1, 2), "read_replicas": Fraction(64)}
    answer = last([40_000.0] * 12, ready=128, current=128, **share)
    assert answer.replicas == 80


def test_failed_reads_of_a_role_above_the_cap_are_a_lower_bound_too() -> None:
    capped = {"read_share": Fraction(1, 2), "is_complete": False, "prompt_rate": 32_000.0, "taken_at": START}
    spec = token_spec()
    for read, is_partial in ((64, False), (63, True)):
        sample = reading(ready=128, read_replicas=Fraction(read), **capped)
        memory = recommend({"server": sample}, {"server": counts(128)}, spec, AlgorithmMemory(), START).memory
        assert memory.roles["server"].history.samples[-1].is_partial is is_partial


@pytest.mark.parametrize("state", [SignalState.MISSING, SignalState.STALE])
def test_an_unknown_rate_neither_grows_nor_shrinks(state: SignalState) -> None:
    now = START + 12 * INTERVAL
    sample = reading(taken_at=now, state=state, prompt_rate=None, generation_rate=None, itl_milliseconds=None)
    answer = recommend({"server": sample}, {"server": counts(2)}, token_spec(), feed([9000.0] * 12).memory, now)
    got = answer.recommendations["server"]
    assert (got.replicas, got.reason) == (2, RoleReason.WAITING_FOR_METRICS)
    assert got.holds_growth
    assert got.holds_scale_down


def test_a_kind_without_capacity_names_the_field() -> None:
    answer = last([100.0], spec=token_spec(serverTargetTokensPerSecond=None))
    assert answer.reason is RoleReason.WAITING_FOR_METRICS
    assert "tokenThroughput.serverTargetTokensPerSecond is not set" in answer.message


def test_an_idle_role_reaches_one_replica_within_the_stable_window() -> None:
    memory = feed([2800.0] * 12, current=3, ready=3).memory
    answer = None
    for step in range(12, 24):
        now = START + step * INTERVAL
        sample = idle(ready=3, taken_at=now, prompt_rate=None, generation_rate=None)
        advice = recommend({"server": sample}, {"server": counts(3)}, token_spec(), memory, now)
        memory, answer = advice.memory, advice.recommendations["server"]
    assert answer is not None
    assert (answer.replicas, answer.reason, answer.holds_scale_down) == (1, TOKENS, False)


def test_an_edited_target_keeps_the_history_and_an_edited_interval_drops_it() -> None:
    memory = feed([3000.0] * 12).memory
    edited = token_spec(serverTargetTokensPerSecond="1500")
    assert memory.for_spec(edited).roles == memory.roles
    faster = edited.model_copy(update={"sampling": edited.sampling.model_copy(update={"interval_seconds": 10})})
    assert not memory.for_spec(faster).roles


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=15), st.lists(st.floats(0, 1e6), min_size=15, max_size=15))
def test_more_demand_never_asks_for_fewer_and_never_for_less_than_one(base: list[float], extra: list[float]) -> None:
    less = last(base)
    more = last([rate + added for rate, added in zip(base, extra, strict=False)])
    assert 1 <= less.replicas <= more.replicas


def test_the_history_stays_bounded() -> None:
    memory = feed([1.0] * 400, spec=token_spec(stableWindowSeconds=600)).memory
    assert len(memory.roles["server"].history.samples) == 40


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        pytest.param(1, "over the 15 s measured of 180 s", id="a young window names what it rests on"),
        pytest.param(12, "over 180 s", id="a full window is its length"),
    ],
)
def test_the_sentence_says_how_much_of_the_window_was_measured(samples: int, words: str) -> None:
    assert words in feed([900.0] * samples).recommendations["server"].message
