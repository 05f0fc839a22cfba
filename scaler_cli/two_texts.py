"""Whether two metric texts are of one engine, in the order in which they were taken."""

from collections.abc import Iterator, Set
from datetime import UTC, datetime

from scaler_cli.sources import Text
from scaler_core.model.scrape import EngineCounters
from scaler_core.signals.deltas import Restart, compare
from scaler_core.signals.exposition import Labels
from scaler_core.signals.requirements import LATENCIES, WORDS, absent_signals

_AGAIN = "give two texts of one engine that did not restart in between"


def mismatch(first: EngineCounters, second: EngineCounters) -> str | None:
    """Why no rate can be had of the two, with the remedy, in one line; None where nothing speaks against it."""
    if not isinstance(compare(first, second, seconds=1.0), Restart):
        return None
    different = _different(first, second)
    if different is not None:
        return f"not two texts of the same engine: {different}; {_AGAIN}"
    if isinstance(compare(second, first, seconds=1.0), Restart):
        return f"not two texts of the same engine: some counters fell and others rose; {_AGAIN}"
    if first.process_start is not None and second.process_start is not None:
        return "the second text is the older one: its counters are lower, of the same process; give the older one first"
    return (
        "the counters of the second text are lower: give the older one first; "
        "if the engine restarted in between, take both anew"
    )


def oddities(first: Text, second: Text) -> Iterator[str]:
    """What is odd about a pair and leaves its rates alone, one line each."""
    odd = stillness(first.counters, second.counters)
    if odd is not None:
        yield odd
    if first.counters.engine is None or isinstance(compare(first.counters, second.counters, seconds=1.0), Restart):
        return
    for name, labels in sorted(second.inspection.counters - first.inspection.counters):
        if any(name == other for other, _ in first.inspection.counters):
            yield f"{_series(name, labels)} is new, so it counts from zero: its whole value fell between the two texts"
    for name, labels in sorted(first.inspection.counters - second.inspection.counters):
        if any(name == other for other, _ in second.inspection.counters):
            yield f"{_series(name, labels)} is gone; a process keeps its series, so see that both texts are of one"
    for signal in sorted(LATENCIES.intersection(absent_signals(first.counters))):
        if signal not in absent_signals(second.counters):
            yield f"{WORDS[signal]} is only in the newer text, so there is none between the two"


def stillness(first: EngineCounters, second: EngineCounters) -> str | None:
    """What is odd about two equal texts of an engine at work; None where nothing is."""
    requests = (second.running or 0.0) + (second.waiting or 0.0)
    if first != second or not requests:
        return None
    return f"both texts say the same with {requests:g} requests there: one text twice, or nothing was done in between"


def _different(first: EngineCounters, second: EngineCounters) -> str | None:
    """What the two say of their engine that cannot be true of one."""
    if first.engine is not None and second.engine is not None and first.engine != second.engine:
        return f"the first is of {first.engine}, the second of {second.engine}"
    if first.models and second.models and first.models.isdisjoint(second.models):
        return f"the first is of model {_named(first.models)}, the second of {_named(second.models)}"
    starts = first.process_start, second.process_start
    if starts[0] is not None and starts[1] is not None and starts[0] != starts[1]:
        one, two = _moments(starts[0], starts[1])
        return f"the process of the first began {one}, that of the second {two}"
    return None


def _named(models: Set[str]) -> str:
    return ", ".join(repr(name[:80]) for name in sorted(models)[:3])


def _series(name: str, labels: Labels) -> str:
    return f"{name}{{{','.join(f'{label}={value[:80]!r}' for label, value in labels)}}}"


def _moments(first: float, second: float) -> tuple[str, str]:
    """Two moments that differ, with as many digits as show it."""
    for timespec in ("seconds", "milliseconds", "microseconds"):
        one, two = _moment(first, timespec), _moment(second, timespec)
        if one != two:
            return one, two
    return f"at {first!r} s", f"at {second!r} s"


def _moment(seconds: float, timespec: str) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(' ', timespec)} UTC"
    except (OverflowError, ValueError, OSError):
        return f"at {seconds:g} s"
