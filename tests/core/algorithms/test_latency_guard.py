from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from scaler_core.algorithms.memory import AlgorithmMemory
from scaler_core.algorithms.recommend import recommend
from scaler_core.api.deployment import RoleKind
from scaler_core.api.reasons import RoleReason
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.counts import RoleCounts, WarmingReplica
from tests.core.algorithms.builders import START, idle, reading, token_spec

HOLD = RoleReason.LATENCY_GUARD_HOLD
GROW = RoleReason.LATENCY_GUARD_SCALE_UP
TOKENS = RoleReason.TOKEN_THROUGHPUT
PREFILL, DECODE, SERVER = RoleKind.PREFILL, RoleKind.DECODE, RoleKind.SERVER


def warming(ordinal: int, *, minutes: float | None, restarts: int = 0) -> WarmingReplica:
    admitted_at = None if minutes is None else START - 60 * minutes
    return WarmingReplica(ordinal=ordinal, admitted_at=admitted_at, engine_restarts=restarts)


@dataclass(frozen=True)
class Case:
    name: str
    replicas: int
    reason: RoleReason
    kind: RoleKind = PREFILL
    ttft: Fraction | float | None = 100
    itl: Fraction | float | None = 10
    rate: float = 1500.0
    ready: int = 3
    current: int = 3
    warming: tuple[WarmingReplica, ...] = ()
    seen: dict[str, Any] = field(default_factory=dict)
    holds: bool = True


CASES = [
    Case("a good latency changes nothing", 2, TOKENS, ttft=500, holds=False),
    Case("a latency exactly on its target does not hold", 2, TOKENS, kind=DECODE, itl=50, holds=False),
    Case("above the target nothing shrinks", 3, HOLD, ttft=Fraction(5001, 10)),
    Case("600 ms on 500 ms is not above 1.2 times the target", 3, HOLD, ttft=600),
    Case("a hair above 1.2 times the target grows by one", 4, GROW, ttft=Fraction(600_000_001, 1_000_000)),
    Case("60 ms on 50 ms is not above 1.2 times the target", 3, HOLD, kind=DECODE, itl=60),
    Case("ITL of a Decode role grows it", 4, GROW, kind=DECODE, itl=61),
    Case("TTFT does not concern a Decode role", 2, TOKENS, kind=DECODE, ttft=9000, holds=False),
    Case("ITL does not concern a Prefill role", 2, TOKENS, itl=9000, holds=False),
    Case("a Server role takes the larger relative breach, here ITL", 4, GROW, kind=SERVER, ttft=550, itl=70),
    Case("a Server role takes the larger relative breach, here TTFT", 4, GROW, kind=SERVER, ttft=900, itl=55),
    Case("a missing latency of a role with work holds and says nothing of the load", 2, HOLD, ttft=None),
    Case("a missing latency lets throughput grow the role", 5, TOKENS, ttft=None, rate=4500.0),
    Case("one missing latency of a Server role holds", 2, HOLD, kind=SERVER, ttft=None),
    Case("one missing latency does not hide the breach of the other", 4, GROW, kind=SERVER, ttft=None, itl=100),
    Case("a breach never asks for less than throughput does", 5, TOKENS, ttft=900, rate=4500.0),
    Case("a breach without any rate still grows", 4, GROW, ttft=900,
         seen={"prompt_rate": None, "state": SignalState.MISSING}),
    Case("a breach of partial readings still grows", 4, GROW, ttft=900, seen={"is_complete": False}),
    Case("replicas that warm up satisfy a breach", 5, HOLD, ttft=900, current=5,
         warming=(warming(3, minutes=2), warming(4, minutes=None))),
    Case("with one of two given up, the other still satisfies it", 5, HOLD, ttft=900, current=5,
         warming=(warming(3, minutes=31), warming(4, minutes=2))),
    Case("the credit ends 30 minutes after admission", 5, GROW, ttft=900, current=4, warming=(warming(3, minutes=30),)),
    Case("the credit lasts until then", 4, HOLD, ttft=900, current=4, warming=(warming(3, minutes=29.99),)),
    Case("the credit ends with an engine restart", 5, GROW, ttft=900, current=4,
         warming=(warming(3, minutes=1, restarts=1),)),
    Case("the credit never lowers a recommendation", 6, TOKENS, ttft=900, rate=5500.0, current=5,
         warming=(warming(3, minutes=1), warming(4, minutes=1))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_guard(case: Case) -> None:
    seen = {
        "ttft_milliseconds": None if case.ttft is None else Fraction(case.ttft),
        "itl_milliseconds": None if case.itl is None else Fraction(case.itl),
        "prompt_rate": 0.0 if case.kind is DECODE else case.rate,
        "generation_rate": case.rate if case.kind is DECODE else 0.0,
    }
    sample = reading("role", case.kind, ready=case.ready, **(seen | case.seen))
    count = RoleCounts(kind=case.kind, current=case.current, warming=case.warming)
    answer = recommend({"role": sample}, {"role": count}, token_spec(), AlgorithmMemory(), START).recommendations[
        "role"
    ]
    assert (answer.replicas, answer.reason, answer.holds_scale_down) == (case.replicas, case.reason, case.holds)
    assert not answer.holds_growth


@pytest.mark.parametrize("kind", [PREFILL, DECODE, SERVER])
def test_an_idle_role_needs_no_latency_to_shrink(kind: RoleKind) -> None:
    sample = idle("role", kind, ready=8)
    count = RoleCounts(kind=kind, current=8)
    answer = recommend({"role": sample}, {"role": count}, token_spec(), AlgorithmMemory(), START).recommendations[
        "role"
    ]
    assert (answer.replicas, answer.holds_scale_down) == (1, False)


def test_an_engine_that_cannot_serve_its_stated_capacity_grows_by_latency() -> None:
    # Served rates saturate at 600 tokens/s for each replica, far below the stated 1000: throughput alone asks for 2.
    saturated = reading("role", DECODE, ready=2, generation_rate=1200.0, itl_milliseconds=Fraction(400), waiting=80.0)
    count = RoleCounts(kind=DECODE, current=2)
    answer = recommend({"role": saturated}, {"role": count}, token_spec(), AlgorithmMemory(), START).recommendations[
        "role"
    ]
    assert (answer.replicas, answer.reason) == (3, GROW)


def test_an_engine_that_cannot_serve_its_stated_capacity_grows_by_panic() -> None:
    saturated = reading("role", DECODE, ready=2, generation_rate=1200.0, itl_milliseconds=None)
    count = RoleCounts(kind=DECODE, current=1)
    spec = token_spec(panicThreshold="0.6")
    answer = recommend({"role": saturated}, {"role": count}, spec, AlgorithmMemory(), START).recommendations["role"]
    assert (answer.replicas, answer.reason) == (2, RoleReason.PANIC)


def test_the_message_of_growth() -> None:
    sample = reading("role", PREFILL, ready=3, prompt_rate=1500.0, ttft_milliseconds=Fraction(900))
    count = RoleCounts(kind=PREFILL, current=3)
    answer = recommend({"role": sample}, {"role": count}, token_spec(), AlgorithmMemory(), START).recommendations[
        "role"
    ]
    assert answer.message == (
        "p95 TTFT of 900 ms is 1.8 x its target of 500 ms, above 1.2 x: one more than the current 3 replicas = 4; "
        "otherwise 1500 tokens/s over the 15 s measured of 180 s against a capacity of 1000 for each replica: "
        "ceil(1500 / 1000) = 2"
    )


def test_the_message_of_a_breach_that_waits_for_warming_replicas() -> None:
    sample = reading("role", PREFILL, ready=3, prompt_rate=1500.0, ttft_milliseconds=Fraction(900))
    count = RoleCounts(kind=PREFILL, current=5, warming=(warming(3, minutes=1), warming(4, minutes=1)))
    answer = recommend({"role": sample}, {"role": count}, token_spec(), AlgorithmMemory(), START).recommendations[
        "role"
    ]
    assert "2 replicas beyond the 3 ready replicas already on the way: holding 5" in answer.message


def test_a_prefill_that_takes_minutes_holds_and_then_grows_by_one() -> None:
    # One prompt of 400,000 tokens: nothing is counted while it runs, and everything when it is done.
    count, memory, now = RoleCounts(kind=PREFILL, current=3), AlgorithmMemory(), START
    for _ in range(40):
        busy = reading("role", PREFILL, ready=3, taken_at=now, running=1.0, prompt_rate=0.0, ttft_milliseconds=None)
        advice = recommend({"role": busy}, {"role": count}, token_spec(), memory, now)
        answer, memory, now = advice.recommendations["role"], advice.memory, now + 15
        assert (answer.reason, answer.holds_scale_down, answer.holds_growth) == (HOLD, True, False)
    done = reading(
        "role", PREFILL, ready=3, taken_at=now, prompt_rate=400_000 / 15, ttft_milliseconds=Fraction(600_000)
    )
    answer = recommend({"role": done}, {"role": count}, token_spec(), memory, now).recommendations["role"]
    # The panic window holds a quarter of the burst: 6667 tokens/s, above 2 x 3 x 1000.
    assert (answer.replicas, answer.reason) == (7, RoleReason.PANIC)
