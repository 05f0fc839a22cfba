"""Demand histories and filters between memory and `status.predictors[]`.

In memory the filter's unit of time is one sampling interval; status reports per second, so `trend`, `p01` and `p10`
are divided by the interval and `p11` by its square. The covered time of a sample is not stored: it is the distance to
the sample before, at most two intervals.
"""

import math
from collections.abc import Iterable
from typing import Final

from scaler_core.algorithms.gate import Gate, usable_trend
from scaler_core.algorithms.history import MAX_SAMPLES, DemandHistory, DemandSample
from scaler_core.algorithms.kalman import Estimate
from scaler_core.algorithms.memory import AlgorithmMemory, Fingerprint, RoleMemory
from scaler_core.algorithms.misses import Misses
from scaler_core.algorithms.token_roles import MAX_COVERED_INTERVALS
from scaler_core.algorithms.tracker import Tracker
from scaler_core.api.quantity import Quantity
from scaler_core.api.scaler_spec import AlgorithmType, ScalerSpec
from scaler_core.api.scaler_status import Covariance, Predictor, ScalerStatus
from scaler_core.api.scaler_status import DemandSample as WireSample

LARGEST: Final = 1e60
"""Filter numbers beyond this are not written: they have no use, and a quantity has an end."""


def restore(status: ScalerStatus, spec: ScalerSpec, now: float) -> AlgorithmMemory:
    """What status remembers of this spec's algorithm; times in the future count as now.

    State of another type, metric or interval is left behind, and so is a filter whose numbers make no sense.
    """
    fingerprint = Fingerprint.of(spec)
    interval = float(spec.sampling.interval_seconds)
    roles = {
        predictor.name: RoleMemory(
            history=_history(predictor, interval, now),
            tracker=_tracker(predictor, interval, now) if spec.algorithm.predictive is not None else Tracker(),
        )
        for predictor in status.predictors
        if predictor.fingerprint in {"", str(fingerprint)}
    }
    return AlgorithmMemory(fingerprint=fingerprint, roles=roles)


def predictors(memory: AlgorithmMemory) -> tuple[Predictor, ...]:
    """`status.predictors[]`: one entry for each role with a history or a filter, none under `Proportional`."""
    fingerprint = memory.fingerprint
    if fingerprint is None or fingerprint.type is AlgorithmType.PROPORTIONAL:
        return ()
    return tuple(
        _predictor(name, role, fingerprint)
        for name, role in memory.roles.items()
        if role.history.samples or role.tracker.estimate is not None
    )


def _predictor(name: str, role: RoleMemory, fingerprint: Fingerprint) -> Predictor:
    history = tuple(
        WireSample(
            timestamp=sample.at,
            tokens_per_second=Quantity.of(sample.tokens_per_second),
            is_partial=True if sample.is_partial else None,
        )
        for sample in role.history.samples
    )
    plain = Predictor(name=name, history=history, fingerprint=str(fingerprint))
    tracker, interval = role.tracker, float(fingerprint.interval_seconds)
    estimate = tracker.estimate
    if estimate is None or not _is_writable(tracker, estimate):
        return plain
    spread = _quantity(estimate.p01 / interval)
    return plain.model_copy(
        update={
            "level": _quantity(estimate.level),
            "trend": _quantity(estimate.trend / interval),
            "covariance": Covariance(
                p00=_quantity(estimate.p00), p01=spread, p10=spread, p11=_quantity(estimate.p11 / interval**2)
            ),
            "sample_count": tracker.count,
            "innovation_ratio": None if tracker.gate.ratio is None else _quantity(tracker.gate.ratio),
            "surprise": tracker.gate.surprise,
            "trend_since": tracker.trend_since,
            "updated_at": tracker.at,
            "last_demand": _quantity(tracker.last),
            "miss_squares": _quantity(tracker.misses.squares),
            "miss_products": _quantity(tracker.misses.products),
            "shown_since": tracker.shown_since if math.isfinite(tracker.shown_since) else None,
        }
    )


def _history(predictor: Predictor, interval: float, now: float) -> DemandHistory:
    known = sorted(predictor.history, key=lambda sample: sample.timestamp)[-MAX_SAMPLES:]
    return DemandHistory(samples=tuple(_samples(known, interval, now)))


def _samples(known: Iterable[WireSample], interval: float, now: float) -> Iterable[DemandSample]:
    before = None
    for sample in known:
        distance = interval if before is None else sample.timestamp - before
        before = sample.timestamp
        if distance > 0:
            yield DemandSample(
                at=min(sample.timestamp, now),
                covered_seconds=min(distance, MAX_COVERED_INTERVALS * interval),
                tokens_per_second=max(0.0, float(sample.tokens_per_second.value)),
                is_partial=bool(sample.is_partial),
            )


def _tracker(predictor: Predictor, interval: float, now: float) -> Tracker:
    if predictor.level is None or predictor.trend is None or predictor.covariance is None:
        return Tracker()
    estimate = Estimate(
        level=float(predictor.level.value),
        trend=float(predictor.trend.value) * interval,
        p00=float(predictor.covariance.p00.value),
        p01=float(predictor.covariance.p01.value) * interval,
        p11=float(predictor.covariance.p11.value) * interval**2,
    )
    at = predictor.updated_at or max((sample.timestamp for sample in predictor.history), default=None)
    if at is None or not estimate.is_sound:
        return Tracker()
    ratio = None if predictor.innovation_ratio is None else max(0.0, float(predictor.innovation_ratio.value))
    gate = Gate(ratio=ratio, surprise=predictor.surprise)
    # A trend that nothing says the beginning of was not believed: the latency was in breach.
    is_believed = ratio is not None and predictor.trend_since is not None
    trend = usable_trend(estimate.trend, estimate.p11, gate) if is_believed else 0.0
    since = predictor.trend_since if trend else None
    return Tracker(
        estimate=estimate,
        at=min(at, now),
        last=estimate.level if predictor.last_demand is None else float(predictor.last_demand.value),
        count=predictor.sample_count,
        gate=gate,
        misses=_misses(predictor),
        trend=trend,
        trend_since=None if since is None else min(since, at, now),
        shown_since=-math.inf if predictor.shown_since is None else min(predictor.shown_since, now),
    )


def _misses(predictor: Predictor) -> Misses:
    squares, products = predictor.miss_squares, predictor.miss_products
    if squares is None or products is None:
        return Misses()
    return Misses(squares=max(0.0, float(squares.value)), products=float(products.value))


def _is_writable(tracker: Tracker, estimate: Estimate) -> bool:
    filtered = (estimate.level, estimate.trend, estimate.p00, estimate.p01, estimate.p11)
    numbers = (*filtered, tracker.gate.ratio or 0.0, tracker.last, tracker.misses.squares, tracker.misses.products)
    return all(math.isfinite(number) and abs(number) < LARGEST for number in numbers)


def _quantity(value: float) -> Quantity:
    """Twelve significant digits: what a restored filter needs to go on as if it had never stopped."""
    return Quantity(f"{value:.12g}".replace("e+", "e")) if abs(value) > 1 / LARGEST else Quantity("0")
