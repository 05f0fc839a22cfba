"""The bodies of one sampling pass, read in batches.

Between two requests the processor's caches forget the reader, and reading one body alone then takes half as long again.
So bodies wait for some others; a large one is read at once and beside the event loop.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from scaler_core.model.scrape import EngineCounters, ScrapeFailure
from scaler_core.signals.exposition import MalformedLineError
from scaler_core.signals.forms import FormReader

logger = logging.getLogger(__name__)

BATCH: Final = 16
LARGE_BODY: Final = 256 * 1024
"""Bytes above which a body is read in another thread: a few milliseconds of the event loop."""
INTERNAL_ERROR: Final = "it could not be read because of an internal error; see the controller's log"

Outcome = EngineCounters | ScrapeFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one Pod, and when."""

    outcome: Outcome
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    index: int
    pod_name: str
    content: bytes
    at: float


class Batch:
    """Collects what the Pods of one pass answered, by their place in the pass."""

    def __init__(self, forms: FormReader) -> None:
        self._forms = forms
        self._waiting: list[_Body] = []
        self._answers: dict[int, Answer] = {}

    async def add(self, index: int, pod_name: str, content: bytes | ScrapeFailure, at: float) -> None:
        """One Pod's body, or why there is none."""
        if isinstance(content, ScrapeFailure):
            self._answers[index] = Answer(outcome=content, at=at)
            return
        body = _Body(index=index, pod_name=pod_name, content=content, at=at)
        if len(content) > LARGE_BODY:
            # A reader belongs to one thread, so this one gets its own.
            self._answers[index] = await asyncio.to_thread(_read, FormReader(), body)
            return
        self._waiting.append(body)
        if len(self._waiting) >= BATCH:
            self._read_waiting()

    def answers(self) -> dict[int, Answer]:
        """Everything that was added."""
        self._read_waiting()
        return self._answers

    def _read_waiting(self) -> None:
        for body in self._waiting:
            self._answers[body.index] = _read(self._forms, body)
        self._waiting.clear()


def _read(forms: FormReader, body: _Body) -> Answer:
    outcome: Outcome
    try:
        outcome = forms.read(body.content)
    except MalformedLineError as error:
        outcome = ScrapeFailure(why=f"its metrics are unreadable: {error}")
    except Exception:  # one engine's answer must not end the reading of all others
        logger.exception("Reading an engine failed", extra={"pod": body.pod_name})
        outcome = ScrapeFailure(why=INTERNAL_ERROR)
    return Answer(outcome=outcome, at=body.at)
