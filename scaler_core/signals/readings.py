"""Windows to role readings: what the algorithms see of the load (spec, Engine signals and Role observations)."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from scaler_core.api.deployment import ModelDeployment, Role, RoleKind
from scaler_core.api.pod import Pod
from scaler_core.api.scaler_spec import ScalerSpec
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.reading import RoleReading
from scaler_core.model.scrape import Engine, EngineCounters, Histogram, TargetScrape
from scaler_core.signals import histograms
from scaler_core.signals.deltas import Delta
from scaler_core.signals.replicas import (
    MAX_PODS,
    Replica,
    answering_pods,
    ready_replicas,
    replicas_of,
    target_pods,
)
from scaler_core.signals.requirements import RATES, WORDS, Requirements, Signal
from scaler_core.signals.windows import (
    LAST_GOOD_INTERVALS,
    SLACK_SECONDS,
    Latencies,
    PodWindow,
    SignalMemory,
    consume,
    forget_gone,
    is_due,
)


def read_roles(
    scrape: TargetScrape | None,
    target: ModelDeployment,
    pods: Iterable[Pod],
    spec: ScalerSpec,
    memory: SignalMemory,
    now: float,
) -> tuple[tuple[RoleReading, ...], SignalMemory]:
    """What is known of every role of the target at `now`.

    Consumes the sample if the scaler has not consumed it and its own interval has passed; otherwise the last readings
    are judged again, so that a Pod that vanished leaves every sum at once and old readings expire.

    Args:
        scrape: the newest sample of this target, None before the first.
        target: the deployment, as the pass sees it.
        pods: Pods around the target, as the pass sees them.
        spec: the scaler's defaulted spec.
        memory: the scaler's windows; an empty one establishes baselines.
        now: Unix seconds, not before `scrape.taken_at`.

    Returns:
        One reading for each role in the target's order, and the windows to keep.
    """
    return read_needed(scrape, target, pods, Requirements.of(spec), memory, now)


def read_needed(
    scrape: TargetScrape | None,
    target: ModelDeployment,
    pods: Iterable[Pod],
    needs: Requirements,
    memory: SignalMemory,
    now: float,
) -> tuple[tuple[RoleReading, ...], SignalMemory]:
    """As `read_roles`, for requirements that are not those of a scaler."""
    own = target_pods(target, pods)
    if (
        scrape is not None
        and scrape.target_uid == target.metadata.uid
        and is_due(memory, scrape, needs.interval_seconds)
    ):
        memory = consume(memory, scrape, needs)
    memory = forget_gone(memory, own)
    views = [_view(target, role, own, memory, needs, now) for role in target.spec.roles]
    return tuple(_lend_ttft(_reading(view), view, views) for view in views), memory


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """One role's Pods beside their windows."""

    role: Role
    replicas: tuple[Replica, ...]
    answering: tuple[Pod, ...]
    asked: tuple[Pod, ...]
    """The first `MAX_PODS` of them."""
    windows: dict[str, PodWindow]
    """Good reads of the asked Pods that have not expired, by UID."""
    known: dict[str, PodWindow]
    """Windows of the asked Pods, expired or without a good read."""
    sampled_at: float | None
    needs: Requirements
    now: float

    @property
    def signals(self) -> frozenset[Signal]:
        return self.needs.signals(self.role.kind)

    def fresh(self) -> list[PodWindow]:
        """Windows that the newest sample filled."""
        return [window for window in self.windows.values() if window.sampled_at == self.sampled_at]


def _view(
    target: ModelDeployment, role: Role, pods: Sequence[Pod], memory: SignalMemory, needs: Requirements, now: float
) -> _View:
    replicas = replicas_of(target, role, pods)
    answering = answering_pods(replicas)
    asked = answering[:MAX_PODS]
    known = {pod.metadata.uid: memory.pods[pod.metadata.uid] for pod in asked if pod.metadata.uid in memory.pods}
    oldest = now - LAST_GOOD_INTERVALS * needs.interval_seconds - SLACK_SECONDS
    return _View(
        role=role,
        replicas=replicas,
        answering=answering,
        asked=asked,
        windows={uid: w for uid, w in known.items() if w.counters is not None and (w.sampled_at or 0.0) >= oldest},
        known=known,
        sampled_at=memory.consumed_at,
        needs=needs,
        now=now,
    )


def _reading(view: _View) -> RoleReading:
    windows = tuple(view.windows.values())
    counters = [window.counters for window in windows if window.counters is not None]
    deltas = [window.delta for window in windows if window.delta is not None]
    problems = tuple(_problems(view))
    state = _state(view, counters, deltas, complete=not problems)
    idle = state is SignalState.IDLE
    return RoleReading(
        role=view.role.name,
        kind=view.role.kind,
        taken_at=view.sampled_at if view.sampled_at is not None else view.now,
        state=state,
        is_complete=not problems,
        ready_replicas=ready_replicas(view.role, view.replicas),
        read_replicas=_read_replicas(view),
        read_share=Fraction(len(view.asked), len(view.answering)) if view.answering else Fraction(1),
        running=_sum(c.running for c in counters),
        waiting=_waiting(view.role.kind, counters),
        prompt_rate=_rate(deltas, lambda delta: delta.prompt_tokens),
        generation_rate=_rate(deltas, lambda delta: delta.generation_tokens),
        kv_cache_usage=_mean([c.kv_cache_usage for c in counters if c.kv_cache_usage is not None]),
        ttft_milliseconds=None if idle else _latency(view, lambda entry: entry.ttft),
        itl_milliseconds=None if idle else _latency(view, lambda entry: entry.itl),
        covered_seconds=min((w.delta.seconds for w in view.fresh() if w.delta is not None), default=0.0),
        problems=problems,
    )


def _state(view: _View, counters: Sequence[EngineCounters], deltas: Sequence[Delta], *, complete: bool) -> SignalState:
    if not counters:
        read_before = any(window.counters is not None for window in view.known.values())
        return SignalState.STALE if read_before else SignalState.MISSING
    if all(_lack(window, view.signals) is not None for window in view.windows.values()):
        return SignalState.MISSING
    quiet = all(c.running == 0 and _waiting(view.role.kind, [c]) == 0 for c in counters)
    still = len(deltas) == len(counters) and not any(delta.has_moved for delta in deltas)
    return SignalState.IDLE if complete and quiet and still else SignalState.FRESH


def _problems(view: _View) -> Iterator[str]:
    """Why the coverage is incomplete, in words; empty when every answering Pod was read with a usable window."""
    if view.sampled_at is None:
        yield "no sample yet"
        return
    yield from (replica.problem for replica in view.replicas if replica.problem is not None)
    if not view.answering:
        yield "no Pod is ready to be read"
    if len(view.answering) > MAX_PODS:
        yield f"{len(view.answering)} Pods answer, at most {MAX_PODS} are read"
    for pod in view.asked:
        problem = _pod_problem(view.known.get(pod.metadata.uid), view)
        if problem is not None:
            yield f"Pod {pod.metadata.name}: {problem}"


def _pod_problem(window: PodWindow | None, view: _View) -> str | None:
    if window is None:
        return "not sampled yet"
    if window.counters is None or window.sampled_at != view.sampled_at:
        return window.note or "not in the newest sample"
    return _lack(window, view.signals)


def _lack(window: PodWindow, signals: frozenset[Signal]) -> str | None:
    """What a good read lacks of the required signals, in words."""
    counters = window.counters
    if counters is None or (counters.engine is None and signals):
        return "its metrics have no vLLM or SGLang signal"
    gauges = {Signal.RUNNING: counters.running, Signal.WAITING: counters.waiting}
    absent: list[Signal] = [signal for signal in gauges if signal in signals and gauges[signal] is None]
    if not absent and signals & RATES and window.delta is None:
        return window.note
    if window.delta is not None:
        rates = {
            Signal.PROMPT_TOKENS: window.delta.prompt_tokens,
            Signal.GENERATION_TOKENS: window.delta.generation_tokens,
        }
        absent += [signal for signal in rates if signal in signals and rates[signal] is None]
    return f"its metrics lack {' and '.join(WORDS[signal] for signal in absent)}" if absent else None


def _read_replicas(view: _View) -> Fraction:
    """Replicas whose load is in the sums; a member of several answering ones is its share."""
    usable = {uid for uid, window in view.windows.items() if _lack(window, view.signals) is None}
    return sum(
        (
            Fraction(sum(pod.metadata.uid in usable for pod in replica.answering), len(replica.answering))
            for replica in view.replicas
            if replica.answering
        ),
        start=Fraction(0),
    )


def _waiting(kind: RoleKind, counters: Iterable[EngineCounters]) -> float | None:
    """Waiting requests; a decode engine's transfer queue waits too (spec, Engine signals)."""
    with_transfer = kind is RoleKind.DECODE
    return _sum(
        None if c.waiting is None else c.waiting + ((c.transfer_queue or 0.0) if with_transfer else 0.0)
        for c in counters
    )


def _rate(deltas: Iterable[Delta], tokens: Callable[[Delta], float | None]) -> float | None:
    """Tokens per second of the role: each Pod over its own time."""
    pairs = ((tokens(delta), delta.seconds) for delta in deltas)
    return _sum(None if count is None else count / seconds for count, seconds in pairs)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _latency(view: _View, pick: Callable[[Latencies], Histogram | None]) -> Fraction | None:
    """p95 of what finished in the newest sample, or else of what finished within the panic window."""
    found = [
        (entry.at, histogram)
        for window in view.windows.values()
        for entry in window.latencies
        if view.now - entry.at < view.needs.panic_window_seconds and (histogram := pick(entry)) is not None
    ]
    newest = [histogram for at, histogram in found if at == view.sampled_at]
    return histograms.p95_milliseconds(histograms.total(newest or [histogram for _, histogram in found]))


def _lend_ttft(reading: RoleReading, view: _View, views: Sequence[_View]) -> RoleReading:
    """An SGLang pair records TTFT on its decode half: without it a prefill role could never shrink."""
    engines = {window.counters.engine for window in view.windows.values() if window.counters is not None}
    borrows = (
        reading.kind is RoleKind.PREFILL
        and reading.state is not SignalState.IDLE
        and reading.ttft_milliseconds is None
        and Engine.SGLANG in engines
    )
    lender = next((other for other in views if other.role.kind is RoleKind.DECODE), None)
    if not borrows or lender is None:
        return reading
    return replace(reading, ttft_milliseconds=_latency(lender, lambda entry: entry.ttft))
