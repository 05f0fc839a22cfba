"""The windows of one scaler: per Pod a baseline, the last delta and the recent latencies.

A window is keyed by Pod UID and engine process. It is a value: `consume` takes a sample and returns the next one.
Nothing of it is persisted; after a restart of the controller the first sample establishes baselines anew.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from scaler_core.api.pod import Pod
from scaler_core.model.scrape import EngineCounters, Histogram, PodScrape, ScrapeFailure, TargetScrape
from scaler_core.signals.deltas import Delta, Restart, compare
from scaler_core.signals.requirements import Requirements

LAST_GOOD_INTERVALS: Final = 2
"""A last good reading serves for so many intervals."""
BASELINE_INTERVALS: Final = 3
MIN_BASELINE_SECONDS: Final = 300.0
"""An older baseline would give the average of a long gap, not a rate of now; the target's own reader uses the same."""
SLACK_SECONDS: Final = 0.5
"""Samples of a stream are due at its interval, give or take the jitter of a timer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Latency observations that one Pod finished by `at`."""

    at: float
    """When the pass began."""
    ttft: Histogram | None
    itl: Histogram | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWindow:
    """What is known of one engine process."""

    process: str
    """Engine container ID and restart count."""
    counters: EngineCounters | None = None
    """The last good read: the baseline of the next delta."""
    read_at: float = 0.0
    """When that was, in Unix seconds; rates are over the time between reads, not between passes."""
    sampled_at: float | None = None
    """When the pass of that read began."""
    delta: Delta | None = None
    """Between the last two good reads of this process."""
    latencies: tuple[Latencies, ...] = ()
    """Not empty ones, within the panic window, oldest first."""
    note: str | None = None
    """What the newest sample lacks of this Pod, in words without its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalMemory:
    """Everything of signals that outlives a pass of one scaler; bounded by the target's Pods."""

    consumed_at: float | None = None
    """Time of the last consumed sample."""
    pods: Mapping[str, PodWindow] = field(default_factory=dict)
    """By Pod UID."""


def is_due(memory: SignalMemory, scrape: TargetScrape, interval_seconds: float) -> bool:
    """Whether this sample is to be consumed: never twice, and not before the scaler's own interval has passed."""
    if memory.consumed_at is None:
        return True
    return scrape.taken_at - memory.consumed_at >= interval_seconds - SLACK_SECONDS


def consume(memory: SignalMemory, scrape: TargetScrape, needs: Requirements) -> SignalMemory:
    """The memory after one more sample."""
    pods = dict(memory.pods)
    for pod in scrape.pods:
        pods[pod.pod_uid] = _next(pods.get(pod.pod_uid), pod, scrape.taken_at, needs)
    return replace(memory, consumed_at=scrape.taken_at, pods=pods)


def forget_gone(memory: SignalMemory, pods: Collection[Pod]) -> SignalMemory:
    """Without the windows of Pods that vanished and of processes that are no more."""
    alive = {pod.metadata.uid: pod.engine_id for pod in pods}
    kept = {uid: window for uid, window in memory.pods.items() if alive.get(uid) == window.process}
    return memory if len(kept) == len(memory.pods) else replace(memory, pods=kept)


def _next(window: PodWindow | None, pod: PodScrape, now: float, needs: Requirements) -> PodWindow:
    outcome = pod.outcome
    restarted = window is not None and window.process != pod.container
    known = PodWindow(process=pod.container) if window is None or restarted else window
    if isinstance(outcome, ScrapeFailure):
        return replace(known, note=outcome.why)
    read_at = now if pod.read_at is None else pod.read_at
    fresh = PodWindow(process=pod.container, counters=outcome, read_at=read_at, sampled_at=now)
    seconds = read_at - known.read_at
    if known.counters is None or not 0 < seconds <= _baseline_seconds(needs):
        why = "the engine restarted; rates need" if restarted else "first sample; rates need"
        return replace(fresh, note=f"{why} one more")
    delta = compare(known.counters, outcome, seconds)
    if isinstance(delta, Restart):
        return replace(fresh, note=f"{delta.why}; rates need one more sample")
    latencies = _latencies(known.latencies, delta, now, needs.panic_window_seconds)
    return replace(fresh, delta=delta, latencies=latencies)


def _baseline_seconds(needs: Requirements) -> float:
    return max(MIN_BASELINE_SECONDS, BASELINE_INTERVALS * needs.interval_seconds + SLACK_SECONDS)


def _latencies(known: tuple[Latencies, ...], delta: Delta, now: float, window: float) -> tuple[Latencies, ...]:
    recent = tuple(entry for entry in known if now - entry.at < window)
    ttft, itl = (h if h is not None and h.count > 0 else None for h in (delta.ttft, delta.itl))
    return recent if ttft is None and itl is None else (*recent, Latencies(at=now, ttft=ttft, itl=itl))
