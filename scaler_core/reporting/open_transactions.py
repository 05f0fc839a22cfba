"""What spans passes and is not over, each in one sentence with its deadline."""

from collections.abc import Iterator

from scaler_core.api.scaler_status import ScalerStatus
from scaler_core.model.action import render_vector
from scaler_core.model.world import World
from scaler_core.reporting.explained import Transaction
from scaler_core.transactions import cohort, exhaustion, rebalance, retirement
from scaler_core.transactions.clock import REQUEST_DEADLINE
from scaler_core.transactions.replicas import Replicas, replicas_of

_NO_REBALANCE = frozenset({rebalance.RebalanceState.NONE, rebalance.RebalanceState.DONATION_ATTEMPTED})


def open_transactions(status: ScalerStatus, world: World) -> tuple[Transaction, ...]:
    """In the order in which they come to a scaler: intent, cohort, retirement, exhaustion, rebalance, refusal."""
    replicas = None if world.target is None else replicas_of(world, world.target)
    return (
        *_intent(status),
        *(() if replicas is None else _cohort(status, world, replicas)),
        *(() if replicas is None else _retirement(status, replicas)),
        *_cooldown(status, world.now),
        *_exhaustion(status, world),
        *_rebalance(status),
        *_refusal(status),
    )


def _intent(status: ScalerStatus) -> Iterator[Transaction]:
    intent = status.pending_commit
    if intent is not None:
        message = f"{render_vector(intent.baseline_vector)} -> {render_vector(intent.vector)} is being written"
        until = intent.timestamp + REQUEST_DEADLINE
        yield Transaction(name="intent", message=message, since=intent.timestamp, until=until)


def _cohort(status: ScalerStatus, world: World, replicas: Replicas) -> Iterator[Transaction]:
    pending, spec = status.pending_cohort, world.scaler.spec
    if pending is not None:
        view = cohort.observe(pending, replicas, spec, world.now)
        until = pending.started_at + spec.sampling.pending_timeout_seconds
        yield Transaction(name="cohort", message=view.describe(), since=pending.started_at, until=until)


def _retirement(status: ScalerStatus, replicas: Replicas) -> Iterator[Transaction]:
    activity = retirement.describe_activity(replicas, status.last_scale_down)
    if activity:
        last = status.last_scale_down
        since = None if last is None or last.is_finished else last.committed_at
        yield Transaction(name="retirement", message=activity, since=since)


def _cooldown(status: ScalerStatus, now: float) -> Iterator[Transaction]:
    last = status.last_scale_down
    if last is not None and last.cooldown_until is not None and last.cooldown_until > now:
        message = f"the retirement of {last.role} {last.ordinal} was aborted; nothing shrinks meanwhile"
        yield Transaction(name="cooldown", message=message, since=last.aborted_at, until=last.cooldown_until)


def _exhaustion(status: ScalerStatus, world: World) -> Iterator[Transaction]:
    episode = status.exhaustion
    if episode is not None:
        message = exhaustion.describe(episode, world.scaler.spec, world.now)
        yield Transaction(name="exhaustion", message=message, until=episode.retry_at)


def _rebalance(status: ScalerStatus) -> Iterator[Transaction]:
    current = status.rebalance
    state = rebalance.state_of(current)
    if current is not None and state not in _NO_REBALANCE:
        message = f"{state}: {current.message}" if current.message else str(state)
        yield Transaction(name="rebalance", message=message, since=current.started_at)


def _refusal(status: ScalerStatus) -> Iterator[Transaction]:
    refusal = status.refusal
    if refusal is not None:
        message = f"the last write was refused, try {refusal.attempts}: {refusal.message}"
        yield Transaction(name="refusal", message=message, until=refusal.retry_at)
