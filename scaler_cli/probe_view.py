"""What one or two metric texts say, for people and for programs."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from scaler_cli import solo, two_texts
from scaler_cli.sources import Text
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.reading import RoleReading
from scaler_core.model.scrape import Histogram
from scaler_core.signals.deltas import Delta, compare
from scaler_core.signals.histograms import p95_milliseconds, statistic
from scaler_core.signals.requirements import RATES, WORDS, Signal, absent_signals, missing_signals

_Said = tuple[str, str]
"""A source and what is said of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one or two texts say."""

    kind: RoleKind
    newest: Text
    earlier: Text | None = None
    """The older text, with two."""
    reading: RoleReading | None = None
    """With two texts."""
    seconds: float = 0.0
    """Between the two."""

    def problems(self) -> list[_Said]:
        """Everything that makes the exit status 1: a source with one line."""
        found = [*self._lacks(self.newest, frozenset(Signal))]
        if self.earlier is None or self.reading is None or self.newest.counters.engine is None:
            return found
        known = missing_signals(self.newest.counters, self.kind)
        found += self._lacks(self.earlier, RATES.difference(known))
        mismatch = two_texts.mismatch(self.earlier.counters, self.newest.counters)
        if mismatch is not None and self.earlier.counters.engine is not None:
            found.append((self.newest.name, mismatch))
        if not found and self.reading.state is SignalState.MISSING:
            found += [(self.newest.name, problem) for problem in solo.problems(self.reading)]
        return found

    def _lacks(self, text: Text, asked: Collection[Signal]) -> Iterator[_Said]:
        """What planning would lack of these signals in one text."""
        missing = [signal for signal in missing_signals(text.counters, self.kind) if signal in asked]
        if text.counters.engine is None:
            if missing:
                what = "no vLLM or SGLang signal in its metrics"
                yield text.name, what if text.resembles is None else f"{what}: {text.resembles}"
        elif missing:
            words = [f"{WORDS[signal]} ({text.inspection.absent[signal]})" for signal in missing]
            yield text.name, f"missing: {', '.join(words)}"

    def remarks(self) -> list[_Said]:
        """What is odd and leaves the exit status alone: a source with one line."""
        found = [(self.newest.name, remark) for remark in self.newest.inspection.remarks]
        if self.newest.counters.engine is None and not missing_signals(self.newest.counters, self.kind):
            looks = f": {self.newest.resembles}" if self.newest.resembles is not None else ""
            found.append((self.newest.name, f"no vLLM or SGLang signal, and this kind of role needs none{looks}"))
        if self.earlier is None:
            return found
        news = [remark for remark in self.earlier.inspection.remarks if remark not in self.newest.inspection.remarks]
        found += [(self.earlier.name, remark) for remark in news]
        return found + [(self.newest.name, remark) for remark in two_texts.oddities(self.earlier, self.newest)]

    def document(self) -> dict[str, Any]:
        """The names that others rely on."""
        counters = self.newest.counters
        missing = missing_signals(counters, self.kind)
        return {
            "engine": counters.engine,
            "running": _number(counters.running),
            "waiting": _number(solo.waiting(counters, self.kind)),
            "kvCacheUsage": counters.kv_cache_usage,
            "promptTokens": _number(counters.prompt_tokens),
            "generationTokens": _number(counters.generation_tokens),
            "prefixHits": _number(counters.prefix_hits),
            "prefillEffective": {mode: _number(count) for mode, count in counters.prefill_effective.items()},
            "ttft": _latency(counters.ttft),
            "itl": _latency(counters.itl),
            "missing": list(missing),
            "absent": [signal for signal in absent_signals(counters) if signal not in missing],
            "unusable": dict(self.newest.inspection.unusable),
            **(self._rates(self.reading) if self.reading is not None else {}),
        }

    def _rates(self, reading: RoleReading) -> dict[str, Any]:
        return {
            "promptTokensPerSecond": reading.prompt_rate,
            "generationTokensPerSecond": reading.generation_rate,
            "ttftMilliseconds": _number(reading.ttft_milliseconds),
            "ttftStatistic": self._statistic(reading.ttft_milliseconds, lambda delta: delta.ttft),
            "itlMilliseconds": _number(reading.itl_milliseconds),
            "itlStatistic": self._statistic(reading.itl_milliseconds, lambda delta: delta.itl),
            "signalState": reading.state,
        }

    def _statistic(self, latency: Fraction | None, pick: Callable[[Delta], Histogram | None]) -> str | None:
        """What the latency between the two texts is."""
        if self.earlier is None or latency is None:
            return None
        change = compare(self.earlier.counters, self.newest.counters, self.seconds)
        return statistic(pick(change)) if isinstance(change, Delta) else None

    def text(self) -> str:
        """The same for people."""
        document = self.document()
        lines = [(label, self._shown(name, document, show)) for name, (label, show) in _ROWS.items()]
        width = max(len(label) for label, value in lines if value)
        return "\n".join(f"{label:{width}}  {value}" for label, value in lines if value)

    def _shown(self, name: str, document: Mapping[str, Any], show: Callable[[Any], str]) -> str:
        """A row's value; empty where there is no such row."""
        if name in {*document["missing"], *document["absent"]}:
            unusable = document["unusable"].get(name)
            absent = "missing" if name in document["missing"] else "not there"
            return absent if unusable is None else f"{absent}: {unusable} does not count"
        if name not in document:
            return ""
        mean = " (mean)" if document.get(name.replace("Milliseconds", "Statistic")) == "mean" else ""
        return show(document[name]) + mean


def _latency(histogram: Histogram | None) -> dict[str, int | float | str | None]:
    """A histogram since the engine's start; its members are null where it is absent."""
    return {
        "count": _number(histogram.count) if histogram is not None else None,
        "sum": _number(histogram.sum_seconds) if histogram is not None else None,
        "p95Milliseconds": _number(p95_milliseconds(histogram)),
        "statistic": statistic(histogram),
    }


def _number(value: float | Decimal | Fraction | None) -> int | float | None:
    if value is None:
        return None
    return int(value) if value == int(value) else float(value)


def _plain(value: object) -> str:
    return "unknown" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _shown_latency(value: Mapping[str, Any]) -> str:
    of = f"of {value['count']} observations since the engine started"
    if value["p95Milliseconds"] is None:
        return f"p95 unknown {of}"
    return f"{value['statistic']} {value['p95Milliseconds']:.6g} ms {of}"


def _shown_signals(value: list[Signal]) -> str:
    return ", ".join(WORDS[signal] for signal in value) or "nothing"


def _shown_modes(value: Mapping[str, float]) -> str:
    return ", ".join(f"{mode} {count}" for mode, count in value.items()) or "not exported"


def _unless_absent(value: object) -> str:
    return "not exported" if value is None else _plain(value)


_ROWS: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "engine": ("engine", lambda value: value or "neither vLLM nor SGLang"),
    "running": ("running requests", _plain),
    "waiting": ("waiting requests", _plain),
    "kvCacheUsage": ("KV cache usage", _plain),
    "promptTokens": ("prompt tokens", _unless_absent),
    "generationTokens": ("generation tokens", _plain),
    "prefixHits": ("prefix cache hits", _unless_absent),
    "prefillEffective": ("prefill by source", _shown_modes),
    "ttft": ("time to first token", _shown_latency),
    "itl": ("inter-token latency", _shown_latency),
    "missing": ("missing", _shown_signals),
    "promptTokensPerSecond": ("prompt tokens/s (cache-missed)", _plain),
    "generationTokensPerSecond": ("generation tokens/s", _plain),
    "ttftMilliseconds": ("TTFT between the two, ms", _plain),
    "itlMilliseconds": ("ITL between the two, ms", _plain),
    "signalState": ("signal state", str),
}
