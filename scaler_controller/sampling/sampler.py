"""One sampling pass over the engines of a target: bounded in requests, time and bytes; it always has a result."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import aiohttp

from scaler_controller.sampling.batch import Batch, Outcome, read_text
from scaler_controller.sampling.http import BodyReader, Limits
from scaler_controller.sampling.roster import INTERNAL_ERROR, Question, Rosters
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import PodScrape, ScrapeFailure, TargetScrape
from scaler_core.signals.engines import read_body
from scaler_core.signals.forms import FormReader
from scaler_kube.clock import Clock

logger = logging.getLogger(__name__)

LARGE_BODY: Final = 256 * 1024
"""Bytes above which a body is read in another thread: a few milliseconds of the event loop."""


class Sampler:
    """Reads engines. One per process: its limit on requests in flight holds for all targets together."""

    def __init__(
        self, session: Callable[[], aiohttp.ClientSession], clock: Clock, limits: Limits | None = None
    ) -> None:
        self._session = session
        self._clock = clock
        self._limits = limits if limits is not None else Limits()
        self._bodies = BodyReader(self._limits)
        self._forms = FormReader()
        self._rosters = Rosters()
        # Readers of all targets wait here for their turn.
        self._in_flight = asyncio.Semaphore(self._limits.per_process)

    async def sample(
        self, target: ModelDeployment, roles: Collection[str], pods: Collection[Pod], interval_seconds: float
    ) -> TargetScrape:
        """Read the ready answering Pods of these roles, at most 64 of each.

        Args:
            target: the deployment.
            roles: names of the scaled roles.
            pods: Pods around the target.
            interval_seconds: of the stream; the pass takes at most half of it, in real seconds.

        Returns:
            One outcome for each Pod; what was not read in time is a failed read. `taken_at` is the start of the pass.
        """
        taken_at = self._clock.now()
        roster = self._rosters.roster(target, roles, pods)
        scrapes = await self._read_all(roster.questions, min(self._limits.pass_seconds, interval_seconds / 2))
        return TargetScrape(
            target_uid=target.metadata.uid, taken_at=taken_at, pods=tuple(scrapes), answering=roster.answering
        )

    async def _read_all(self, questions: Sequence[Question], seconds: float) -> list[PodScrape]:
        batch = Batch(self._forms)
        queue = enumerate(questions)
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as readers:
                for number in range(min(self._limits.per_target, len(questions))):
                    readers.create_task(self._reader(queue, batch), name=f"engine-reader-{number}")
        except TimeoutError:
            pass  # what is unread by now is a failed read, and says so
        answers, now = batch.answers(), self._clock.now()
        late = ScrapeFailure(why=f"not read within the {seconds:g} s of a sample")
        return [answers.get(place) or question.answered(late, now) for place, question in enumerate(questions)]

    async def _reader(self, queue: Iterator[tuple[int, Question]], batch: Batch) -> None:
        for place, question in queue:
            async with self._in_flight:
                content = await self._ask(question)
                at = self._clock.now()
                if isinstance(content, bytes) and len(content) <= LARGE_BODY:
                    batch.add(place, question, content, at)
                else:
                    batch.add_outcome(place, question, await _read_alone(question, content), at)

    async def _ask(self, question: Question) -> bytes | ScrapeFailure:
        if isinstance(question.url, ScrapeFailure):
            return question.url
        try:
            return await self._bodies.read(self._session(), question.url)
        except Exception:  # one engine's connection must not end the reading of all others
            logger.exception("Reading an engine failed", extra={"pod": question.pod_name})
            return ScrapeFailure(why=INTERNAL_ERROR)


async def _read_alone(question: Question, content: bytes | ScrapeFailure) -> Outcome:
    """What a large body says; the forms that are remembered belong to the event loop's thread."""
    if isinstance(content, ScrapeFailure):
        return content
    return await asyncio.to_thread(read_text, read_body, question.pod_name, content)
