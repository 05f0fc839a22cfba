"""Leadership: drives the elector over a Lease object, and tells writers until when they may write."""

import asyncio
import logging
import math
from typing import Final, Never

from scaler_controller.runtime.lease import Acquire, Elector, LeaseTimes, Lost, Renew, Wait
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.clock import Clock
from scaler_kube.leases import LeaseRecord, read_lease, write_lease
from scaler_kube.resources import LEASES

_log = logging.getLogger(__name__)
RELEASE_SECONDS: Final = 3.0


class LeadershipLostError(Exception):
    """Another process may lead by now: stop at once, write nothing, exit and let Kubernetes start us anew."""


class Leadership:
    """One candidate for one lease."""

    def __init__(self, *, client: KubeClient, key: ObjectKey, identity: str, times: LeaseTimes, clock: Clock) -> None:
        """Prepare; nothing is read yet.

        Args:
            client: for the Lease object alone.
            key: where the Lease is.
            identity: unique among all candidates and their earlier lives.
            times: how long a lease is valid.
            clock: `monotonic` must be the event loop's.
        """
        self._client: Final = client
        self._key: Final = key
        self._clock: Final = clock
        self._elector = Elector(identity=identity, times=times)

    @property
    def valid_until(self) -> float:
        """Until when we may write, in seconds of the event loop's clock; minus infinity while we do not lead."""
        return self._elector.held_until

    @property
    def is_leader(self) -> bool:
        """Whether we may write now."""
        return self._clock.monotonic() < self.valid_until

    @property
    def holder(self) -> str:
        """Who leads as far as was seen; empty when nobody does."""
        return self._elector.seen.holder if self._elector.seen else ""

    @property
    def had_predecessor(self) -> bool:
        """Whether anybody, an earlier life of ours included, led before we did."""
        return self._elector.seen is not None and self._elector.seen.transitions > 0

    def write_deadline(self, seconds: float) -> float:
        """The moment by which a write must have been answered: after so many real seconds, or when we stop leading."""
        return min(self._clock.monotonic() + seconds, self.valid_until)

    async def acquire(self) -> None:
        """Wait until we lead."""
        while not self._elector.is_holder:
            await self._look()
            await self._step()
        _log.info("Acquired the lease", extra={"lease": str(self._key), "identity": self._elector.identity})

    async def keep(self) -> Never:
        """Renew for as long as that works.

        Raises:
            LeadershipLostError: we do not lead any more, or cannot know.
        """
        while True:
            await self._step()

    async def release(self) -> None:
        """Let others in at once; call it only when nothing of ours can write any more. Never raises."""
        record = self._elector.release(self._clock.now())
        self._elector = Elector(identity=self._elector.identity, times=self._elector.times)
        if record is None:
            return
        try:
            deadline = self._clock.monotonic() + RELEASE_SECONDS
            await self._client.replace(LEASES, self._key, write_lease(self._key, record), deadline=deadline)
            _log.info("Released the lease", extra={"lease": str(self._key)})
        except errors.KubeError as error:
            _log.warning("Lease was not released and will run out", extra={"error": str(error)})

    async def _step(self) -> None:
        step = self._elector.decide(self._clock.monotonic(), self._clock.now())
        match step:
            case Wait(seconds=seconds):
                await asyncio.sleep(seconds)
            case Acquire(record=record) | Renew(record=record):
                await self._write(record)
            case Lost(why=why):
                raise LeadershipLostError(f"lease {self._key} was lost: {why}")

    async def _write(self, record: LeaseRecord) -> None:
        self._elector = self._elector.sending(record, self._clock.monotonic())
        # A holder waits for no answer beyond its own end; a candidate for as long as any call.
        deadline = self.valid_until if self._elector.is_holder else None
        body = write_lease(self._key, record)
        try:
            if record.resource_version:
                answer = await self._client.replace(LEASES, self._key, body, deadline=deadline)
            else:
                answer = await self._client.create(LEASES, self._key.namespace, body, deadline=deadline)
        except errors.KubeError as error:
            await self._failed(error)
        else:
            self._elector = self._elector.wrote(read_lease(answer), self._clock.monotonic())

    async def _failed(self, error: errors.KubeError) -> None:
        # A conflict may be with ourselves: aiohttp repeats a PUT once when a connection that it used before was closed.
        is_unknown = isinstance(error, errors.UnavailableError) and error.may_have_happened
        if not is_unknown and not isinstance(error, errors.ConflictError):
            self._elector = self._elector.refused()
        _log.log(self._level(error), "Lease was not written", extra={"error": str(error)})
        is_vanished = isinstance(error, errors.NotFoundError) and self._elector.is_holder
        if not is_vanished and not isinstance(error, errors.ConflictError):
            await self._pause()
        await self._look()

    async def _look(self) -> None:
        deadline = self.valid_until if self._elector.is_holder else None
        try:
            document = await self._client.get(LEASES, self._key, deadline=deadline)
            record: LeaseRecord | None = read_lease(document)
        except errors.NotFoundError as error:
            if not error.is_absent(self._key.name):
                await self._pause()
                return
            record = None
        except errors.KubeError as error:
            _log.log(self._level(error), "Lease was not read", extra={"error": str(error)})
            await self._pause()
            return
        self._elector = self._elector.observe(record, self._clock.monotonic())

    async def _pause(self) -> None:
        remaining = self.valid_until - self._clock.monotonic()
        retry = self._elector.times.retry_seconds
        # A holder must notice its own end in time, whatever fails meanwhile.
        await asyncio.sleep(min(retry, max(0.0, remaining)) if math.isfinite(remaining) else retry)

    def _level(self, error: errors.KubeError) -> int:
        return logging.DEBUG if isinstance(error, errors.ConflictError) else logging.WARNING
