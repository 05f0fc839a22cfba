"""One sampling pass over the engines of a target: bounded in requests, time and bytes; it always has a result."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

import aiohttp

from scaler_controller.sampling.batch import INTERNAL_ERROR, Answer, Batch
from scaler_controller.sampling.endpoints import metrics_url
from scaler_controller.sampling.http import Limits, read_body
from scaler_core.api.deployment import ModelDeployment
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import PodScrape, ScrapeFailure, TargetScrape
from scaler_core.signals.forms import FormReader
from scaler_core.signals.replicas import MAX_PODS, answering_pods, replicas_of, target_pods
from scaler_kube.clock import Clock

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A Pod to be read."""

    role: str
    pod: Pod


class Sampler:
    """Reads engines. One per process: its limit on requests in flight holds for all targets together."""

    def __init__(
        self, session: Callable[[], aiohttp.ClientSession], clock: Clock, limits: Limits | None = None
    ) -> None:
        self._session = session
        self._clock = clock
        self._limits = limits if limits is not None else Limits()
        self._forms = FormReader()
        # Readers of all targets wait here for their turn.
        self._in_flight = asyncio.Semaphore(self._limits.per_process)

    async def sample(
        self, target: ModelDeployment, roles: Collection[str], pods: Iterable[Pod], interval_seconds: float
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
        own = target_pods(target, pods)
        answering = {
            role.name: answering_pods(replicas_of(target, role, own))
            for role in target.spec.roles
            if role.name in roles
        }
        questions = [_Question(role=role, pod=pod) for role, found in answering.items() for pod in found[:MAX_PODS]]
        answers = await self._read_all(questions, min(self._limits.pass_seconds, interval_seconds / 2))
        return TargetScrape(
            target_uid=target.metadata.uid,
            taken_at=taken_at,
            pods=tuple(map(_pod_scrape, questions, answers)),
            answering={role: len(found) for role, found in answering.items()},
        )

    async def _read_all(self, questions: list[_Question], seconds: float) -> list[Answer]:
        batch = Batch(self._forms)
        queue = enumerate(questions)
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as readers:
                for number in range(min(self._limits.per_target, len(questions))):
                    readers.create_task(self._reader(queue, batch), name=f"engine-reader-{number}")
        except TimeoutError:
            pass  # what is unread by now is a failed read, and says so
        late = Answer(outcome=ScrapeFailure(why=f"not read within the {seconds:g} s of a sample"), at=self._clock.now())
        answers = batch.answers()
        return [answers.get(index, late) for index in range(len(questions))]

    async def _reader(self, queue: Iterator[tuple[int, _Question]], batch: Batch) -> None:
        for index, question in queue:
            async with self._in_flight:
                content = await self._read(question)
                await batch.add(index, question.pod.metadata.name, content, self._clock.now())

    async def _read(self, question: _Question) -> bytes | ScrapeFailure:
        url = metrics_url(question.pod)
        if isinstance(url, ScrapeFailure):
            return url
        try:
            return await read_body(self._session(), url, self._limits)
        except Exception:  # one engine's connection must not end the reading of all others
            logger.exception("Reading an engine failed", extra={"pod": question.pod.metadata.name})
            return ScrapeFailure(why=INTERNAL_ERROR)


def _pod_scrape(question: _Question, answer: Answer) -> PodScrape:
    pod = question.pod
    return PodScrape(
        pod_uid=pod.metadata.uid,
        pod_name=pod.metadata.name,
        role=question.role,
        ordinal=pod.ordinal or 0,
        member=pod.member,
        container=pod.engine_id,
        outcome=answer.outcome,
        read_at=answer.at,
    )
