"""The elector: what was seen of a lease -> what to do next. Pure; only local observation times are compared.

Two rules keep leaders apart, with clocks that need not agree and may run at slightly different rates:

- A holder counts itself as one for `renew_seconds` from *before* it sent the write that was accepted last.
- Anyone else waits for the lease's whole length since it *saw* the record change last.

The second wait begins after the first and is longer (15 s against 10 s by default), so it ends later unless one clock
runs faster than another by the ratio of the two, half again. A record that names us but that this process did not
write is another's: an earlier life of ours or a twin with our name may still act on it.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

from scaler_kube.leases import LeaseRecord

SHORTEST_WAIT_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """Seconds; `lease > renew > 1.2 x retry`."""

    lease_seconds: float = 15.0
    """How long others wait."""
    renew_seconds: float = 10.0
    """How long a holder acts without a renewal."""
    retry_seconds: float = 2.0
    """Between two attempts."""

    def __post_init__(self) -> None:
        if not self.lease_seconds > self.renew_seconds > 1.2 * self.retry_seconds > 0:
            raise ValueError(
                f"lease {self.lease_seconds} s, renew {self.renew_seconds} s and retry {self.retry_seconds} s "
                "must fall in this order, renew above 1.2 times retry; for example 15, 10 and 2"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquire:
    """Write this record; it makes us the holder if it is accepted."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """Write this record; it prolongs our holding if it is accepted."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Look again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """We were the holder and are not any more: nothing may be written."""

    why: str


Step = Acquire | Renew | Wait | Lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A write of ours whose answer is not known yet, or never came."""

    record: LeaseRecord
    sent_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Elector:
    """What one candidate knows; all moments are of its own monotonic clock."""

    identity: str
    times: LeaseTimes
    seen: LeaseRecord | None = None
    """The last record; None before the first look and while there is no object."""
    seen_at: float = -math.inf
    """When the record was seen to change last."""
    attempt: Attempt | None = None
    held_until: float = -math.inf
    """Until when we may write; minus infinity when we do not hold the lease."""
    renewed_at: float = -math.inf

    @property
    def is_holder(self) -> bool:
        """Whether we acquired the lease and did not lose it, as far as we know."""
        return self.held_until > -math.inf

    def observe(self, record: LeaseRecord | None, now: float) -> "Elector":
        """Take what was read; None when there is no object."""
        attempt = self.attempt
        if record is not None and attempt is not None and self._confirms(record, attempt, now):
            return self._hold(record, attempt.sent_at, now)
        if self.seen is not None and record == self.seen:
            return self
        return replace(self, seen=record, seen_at=now)

    def sending(self, record: LeaseRecord, now: float) -> "Elector":
        """Note a write before it is sent."""
        return replace(self, attempt=Attempt(record=record, sent_at=now))

    def wrote(self, record: LeaseRecord, now: float) -> "Elector":
        """The noted write was accepted; `record` is the answer, with its new resourceVersion."""
        if self.attempt is None:
            raise ValueError("a lease write was accepted that was never noted; call sending() first")
        return self._hold(record, self.attempt.sent_at, now)

    def refused(self) -> "Elector":
        """The noted write was refused for sure."""
        return replace(self, attempt=None)

    def decide(self, now: float, unix_now: float) -> Step:
        """What to do now.

        Args:
            now: monotonic seconds.
            unix_now: for the times in the record, which only people read.
        """
        if self.is_holder:
            return self._keep(now, unix_now)
        if self.seen is None or not self.seen.holder:
            return Acquire(record=self._record(unix_now, acquired=unix_now))
        patience = max(self.seen.lease_seconds, self.times.lease_seconds)
        remaining = self.seen_at + patience - now
        if remaining > 0:
            return Wait(seconds=max(SHORTEST_WAIT_SECONDS, min(remaining, self.times.retry_seconds)))
        return Acquire(record=self._record(unix_now, acquired=unix_now))

    def release(self, unix_now: float) -> LeaseRecord | None:
        """The record that lets others in at once; None when we hold nothing."""
        if not self.is_holder or self.seen is None:
            return None
        return replace(self.seen, holder="", lease_seconds=1.0, renew_time=unix_now)

    def _keep(self, now: float, unix_now: float) -> Step:
        if now >= self.held_until:
            return Lost(why=f"not renewed for {self.times.renew_seconds:g} s")
        if self.seen is None or self.seen.holder != self.identity:
            return Lost(why=f"taken by {self.seen.holder or 'nobody'}" if self.seen else "the lease was deleted")
        remaining = self.renewed_at + self.times.retry_seconds - now
        if remaining > 0:
            return Wait(seconds=remaining)
        return Renew(record=self._record(unix_now, acquired=self.seen.acquire_time))

    def _confirms(self, record: LeaseRecord, attempt: Attempt, now: float) -> bool:
        # Found out too late, it is a record like another's: we never acted on it.
        return _is_same_write(record, attempt.record) and attempt.sent_at + self.times.renew_seconds > now

    def _hold(self, record: LeaseRecord, sent_at: float, now: float) -> "Elector":
        held_until = sent_at + self.times.renew_seconds
        return replace(self, seen=record, seen_at=now, attempt=None, held_until=held_until, renewed_at=sent_at)

    def _record(self, unix_now: float, *, acquired: float) -> LeaseRecord:
        changes = not self.is_holder and self.seen is not None
        return LeaseRecord(
            holder=self.identity,
            lease_seconds=self.times.lease_seconds,
            acquire_time=acquired,
            renew_time=unix_now,
            transitions=(self.seen.transitions if self.seen else 0) + changes,
            resource_version=self.seen.resource_version if self.seen else "",
        )


def _is_same_write(record: LeaseRecord, ours: LeaseRecord) -> bool:
    # Times come back in microseconds; a twin with our name would have to hit the same one.
    return (
        record.holder == ours.holder
        and record.transitions == ours.transitions
        and abs(record.renew_time - ours.renew_time) < 1e-5
        and abs(record.acquire_time - ours.acquire_time) < 1e-5
    )
