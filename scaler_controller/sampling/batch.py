"""The bodies of one sampling pass, read in batches.

Between two requests the processor's caches forget the reader, and reading one body alone then takes half as long again.
So bodies wait for some others.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from scaler_controller.sampling.roster import INTERNAL_ERROR, Question
from scaler_core.model.scrape import EngineCounters, PodScrape, ScrapeFailure
from scaler_core.signals.exposition import MalformedLineError
from scaler_core.signals.forms import FormReader

logger = logging.getLogger(__name__)

BATCH: Final = 32

Outcome = EngineCounters | ScrapeFailure


class _Body(NamedTuple):
    place: int
    question: Question
    content: bytes
    at: float


class Batch:
    """Collects what the Pods of one pass answered, by their place in the pass."""

    def __init__(self, forms: FormReader) -> None:
        self._forms = forms
        self._waiting: list[_Body] = []
        self._answers: dict[int, PodScrape] = {}

    def add(self, place: int, question: Question, content: bytes, at: float) -> None:
        """One Pod's body."""
        self._waiting.append(_Body(place, question, content, at))
        if len(self._waiting) >= BATCH:
            self._read_waiting()

    def add_outcome(self, place: int, question: Question, outcome: Outcome, at: float) -> None:
        """What came of one Pod, where that is known already."""
        self._answers[place] = question.answered(outcome, at)

    def answers(self) -> Mapping[int, PodScrape]:
        """Everything that was added."""
        self._read_waiting()
        return self._answers

    def _read_waiting(self) -> None:
        for place, question, content, at in self._waiting:
            self.add_outcome(place, question, read_text(self._forms.read, question.pod_name, content), at)
        self._waiting.clear()


def read_text(read: Callable[[bytes], EngineCounters], pod_name: str, content: bytes) -> Outcome:
    """What the body of one Pod's answer says; whatever is wrong with it is a failed read."""
    try:
        return read(content)
    except MalformedLineError as error:
        return ScrapeFailure(why=f"its metrics are unreadable: {error}")
    except Exception:  # one engine's answer must not end the reading of all others
        logger.exception("Reading an engine failed", extra={"pod": pod_name})
        return ScrapeFailure(why=INTERNAL_ERROR)
