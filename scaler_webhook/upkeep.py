"""The loop beside the listeners: certificates current, configurations healed, readiness honest."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Never

from scaler_core.admission.verdict import NeedsLookup, Unread
from scaler_core.api import scaler
from scaler_kube import errors
from scaler_kube.clock import Clock
from scaler_webhook.authority import is_trusted
from scaler_webhook.bundles import Bundles
from scaler_webhook.certificates import CertificateError, FileSource, SecretSource
from scaler_webhook.handlers import Reads
from scaler_webhook.metrics import WebhookMetrics
from scaler_webhook.server import Readiness

LOG: Final = logging.getLogger(__name__)
PROBED: Final = "readiness-probe"
"""Name of an object that nobody has: its absence, told by name, proves that fresh reads work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What has to hold for a verdict, looked at again and again."""

    source: FileSource | SecretSource
    bundles: Bundles | None
    """None where nobody can know the bundles: certificate files that were given by hand."""
    reads: Reads
    namespace: str
    clock: Clock
    readiness: Readiness
    metrics: WebhookMetrics
    interval_seconds: float

    async def forever(self) -> Never:
        """Look now and then again after each interval."""
        while True:
            await self.once()
            await self.clock.sleep(self.interval_seconds)

    async def once(self) -> None:
        """One look at everything."""
        self._note("certificate", await self._certificate())
        self._note("reads", await self._fresh_reads())

    async def _certificate(self) -> str | None:
        try:
            if isinstance(self.source, SecretSource):
                is_new = await self.source.refresh(self.clock.now())
            else:
                is_new = self.source.refresh()
            self.metrics.certificate_expiry.set(self.source.expires)
            if is_new:
                LOG.info("Serving a new certificate", extra={"expires": self.source.expires})
            return await self._bundles()
        except (CertificateError, errors.KubeError) as error:
            return str(error)

    async def _bundles(self) -> str | None:
        """Whether the API server will trust what we serve."""
        if self.bundles is None:
            return None
        if isinstance(self.source, SecretSource):
            return await self.bundles.heal(self.source.trusted)
        if all(is_trusted(self.source.chain, bundle) for bundle in await self.bundles.read()):
            return None
        return f"the caBundle of {self.bundles.name} does not trust {self.source.certificate}; wait for its injector"

    async def _fresh_reads(self) -> str | None:
        """Whether both kinds can be read, permissions included."""
        found: Mapping[str, object] = {
            kind: await self.reads.read(NeedsLookup(kind=kind, namespace=self.namespace, name=PROBED))
            for kind in (scaler.KIND, scaler.TARGET_KIND)
        }
        failed = [f"{kind} cannot be read: {one.reason}" for kind, one in found.items() if isinstance(one, Unread)]
        return "; ".join(failed) or None

    def _note(self, what: str, why_not: str | None) -> None:
        if why_not != self.readiness.obstacles.get(what):
            message = "Not ready" if why_not is not None else "Ready again"
            LOG.log(logging.WARNING if why_not else logging.INFO, message, extra={"what": what, "why": why_not})
        self.readiness.set(what, why_not)


async def stop_quietly(task: "asyncio.Task[Never]") -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
