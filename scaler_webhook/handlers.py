"""Which judge answers at which path, and how a verdict that needs a fresh read gets it."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol, TypeAlias

from scaler_core.admission import fence, registration, registry, scaler
from scaler_core.admission.verdict import Allowed, Denied, Lookup, NeedsLookup, Request, Undecided, Verdict

LOG: Final = logging.getLogger(__name__)
Settled: TypeAlias = Allowed | Denied | Undecided


Judge: TypeAlias = Callable[[Request, Lookup | None], Verdict]
"""A pure verdict: asked again with the result when it needs a read."""


class Reads(Protocol):
    """Where fresh reads come from."""

    async def read(self, need: NeedsLookup) -> Lookup:
        """Read what a verdict needs."""
        ...


def judges(operators: Collection[str]) -> Mapping[str, Judge]:
    """Path to judge; the paths stay the same for one release, since replicas of two releases answer side by side."""

    def mutate_scaler(request: Request, _: Lookup | None) -> Verdict:
        return scaler.default(request)

    def mutate_deployment(request: Request, _: Lookup | None) -> Verdict:
        return fence.strip(request)

    def validate_deployment(request: Request, lookup: Lookup | None) -> Verdict:
        return fence.judge(request, operators, lookup)

    return {
        registration.MUTATE_SCALER: mutate_scaler,
        registration.VALIDATE_SCALER: scaler.judge,
        registration.MUTATE_DEPLOYMENT: mutate_deployment,
        registration.VALIDATE_DEPLOYMENT: validate_deployment,
    }


async def decide(judge: Judge, request: Request, reads: Reads, deadline_seconds: float) -> Settled:
    """A verdict within the deadline; whatever goes wrong is a refusal for now, never an admission."""
    try:
        async with asyncio.timeout(deadline_seconds):
            verdict = judge(request, None)
            while isinstance(verdict, NeedsLookup):
                verdict = judge(request, await reads.read(verdict))
            return verdict
    except TimeoutError:
        says = f" cannot be judged within {deadline_seconds:g} s; try again"
        return Undecided(violation=registry.DEADLINE.broken("request", says))
    except Exception:  # the edge of the process: nothing may be admitted unjudged, and every request gets an answer
        LOG.exception("Judging a request", extra={"namespace": request.namespace, "object": request.name})
        says = " cannot be judged: the webhook failed, see its log; try again"
        return Undecided(violation=registry.INTERNAL.broken("request", says))
