"""Whether two metric texts are of one engine, in the order in which they were taken."""

from collections.abc import Set
from datetime import UTC, datetime

from scaler_core.model.scrape import EngineCounters
from scaler_core.signals.deltas import Restart, compare

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
        return f"the process of the first began {_moment(starts[0])}, that of the second {_moment(starts[1])}"
    return None


def _named(models: Set[str]) -> str:
    return ", ".join(repr(name[:80]) for name in sorted(models)[:3])


def _moment(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"at {seconds:g} s"
