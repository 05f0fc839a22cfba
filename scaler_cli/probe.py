"""`mds probe`: what the scaler reads from an engine, by the very code that the controller runs."""

import asyncio
import json
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from scaler_cli import solo, two_texts
from scaler_core.api.deployment import RoleKind
from scaler_core.api.scaler_status import SignalState
from scaler_core.model.reading import RoleReading
from scaler_core.model.scrape import EngineCounters, Histogram, ScrapeFailure
from scaler_core.signals.exposition import MalformedLineError
from scaler_core.signals.forms import FormReader
from scaler_core.signals.histograms import p95_milliseconds
from scaler_core.signals.requirements import WORDS, Signal, missing_signals

FINE: Final = 0
FOUND_A_PROBLEM: Final = 1
URL_STARTS: Final = ("http://", "https://")
STDIN: Final = "-"
_NO_URL: Final = "no URL; write one such as http://10.0.0.7:8000/metrics"


class Output(StrEnum):
    """For people or for programs."""

    TEXT = "text"
    JSON = "json"


class UnreadableError(Exception):
    """A source that gives no counters; the message names it and says why."""


def probe(
    source: Annotated[str, typer.Argument(metavar="URL|FILE", help="An engine's metrics; - is standard input.")],
    second: Annotated[str | None, typer.Argument(metavar="SECOND", help="The same engine's metrics, later.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds between the two; URLs are read so far apart, one URL twice."),
    ] = None,
    kind: Annotated[RoleKind, typer.Option(case_sensitive=False, help="Role that the engine plays.")] = RoleKind.SERVER,
    output: Annotated[Output, typer.Option("--output", "-o", help="text or json.")] = Output.TEXT,
    ca: Annotated[
        Path | None, typer.Option(help="Certificate authority that an https engine is verified with.")
    ] = None,
) -> None:
    """Show what the scaler reads from an engine; two texts of one engine give rates and latency.

    Exit status: 0 fine, 1 a signal is missing or a text is unreadable, 2 wrong use.
    """
    _check_use(source, second, seconds)
    again = second if second is not None else source
    try:
        tls = _tls(ca)
        first = _counters(source, tls)
        if seconds is None:
            found = _Finding(kind=kind, counters=first)
        else:
            if _is_url(source) and _is_url(again):
                asyncio.run(_wait(seconds))
            current = _counters(again, tls)
            reading = solo.read_pair(first, current, seconds, kind)
            found = _Finding(kind=kind, counters=current, earlier=first, reading=reading)
    except UnreadableError as error:
        if output is Output.JSON:
            typer.echo(json.dumps({"error": str(error)}))
        typer.echo(f"mds probe: {error}", err=True)
        raise typer.Exit(FOUND_A_PROBLEM) from None
    typer.echo(json.dumps(found.document(), indent=2) if output is Output.JSON else found.text())
    for problem in [*found.problems(), *found.remarks()]:
        typer.echo(f"mds probe: {again}: {problem}", err=True)
    raise typer.Exit(FOUND_A_PROBLEM if found.problems() else FINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What one or two texts say."""

    kind: RoleKind
    counters: EngineCounters
    """Of the newer text."""
    earlier: EngineCounters | None = None
    """Of the older text, with two."""
    reading: RoleReading | None = None
    """With two texts."""

    def problems(self) -> list[str]:
        """Everything that makes the exit status 1, one line each."""
        missing = missing_signals(self.counters, self.kind)
        if self.counters.engine is None:
            return ["no vLLM or SGLang signal in its metrics"]
        found = [f"missing: {', '.join(WORDS[signal] for signal in missing)}"] if missing else []
        if self.earlier is None or self.reading is None:
            return found
        if self.earlier.engine is None:
            return [*found, "the text before it has no vLLM or SGLang signal"]
        mismatch = two_texts.mismatch(self.earlier, self.counters)
        if mismatch is not None:
            return [*found, mismatch]
        return [*found, *(solo.problems(self.reading) if self.reading.state is SignalState.MISSING else ())]

    def remarks(self) -> list[str]:
        """What is odd and leaves the exit status alone, one line each."""
        odd = None if self.earlier is None else two_texts.stillness(self.earlier, self.counters)
        return [] if odd is None else [odd]

    def document(self) -> dict[str, Any]:
        """The names that others rely on."""
        counters = self.counters
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
            "missing": list(missing_signals(counters, self.kind)),
            **(_rates(self.reading) if self.reading is not None else {}),
        }

    def text(self) -> str:
        """The same for people."""
        document = self.document()
        lines = [(label, show(document[name])) for name, (label, show) in _ROWS.items() if name in document]
        width = max(len(label) for label, _ in lines)
        return "\n".join(f"{label:{width}}  {value}" for label, value in lines)


def _rates(reading: RoleReading) -> dict[str, Any]:
    return {
        "promptTokensPerSecond": reading.prompt_rate,
        "generationTokensPerSecond": reading.generation_rate,
        "ttftMilliseconds": _number(reading.ttft_milliseconds),
        "itlMilliseconds": _number(reading.itl_milliseconds),
        "signalState": reading.state,
    }


def _latency(histogram: Histogram | None) -> dict[str, int | float | None]:
    """A histogram since the engine's start; its members are null where it is absent."""
    return {
        "count": _number(histogram.count) if histogram is not None else None,
        "sum": _number(histogram.sum_seconds) if histogram is not None else None,
        "p95Milliseconds": _number(p95_milliseconds(histogram)),
    }


def _number(value: float | Decimal | Fraction | None) -> int | float | None:
    if value is None:
        return None
    return int(value) if value == int(value) else float(value)


def _plain(value: object) -> str:
    return "missing" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _shown_latency(value: Mapping[str, float | None]) -> str:
    if value["count"] is None:
        return "missing"
    p95 = "unknown" if value["p95Milliseconds"] is None else f"{value['p95Milliseconds']:.6g} ms"
    return f"p95 {p95} of {value['count']} observations since the engine started"


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
    "promptTokens": ("prompt tokens", _plain),
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


def _check_use(source: str, second: str | None, seconds: float | None) -> None:
    if second is not None and seconds is None:
        raise typer.BadParameter("two texts need --seconds: the time between them", param_hint="--seconds")
    if seconds is not None and second is None and not _is_url(source):
        raise typer.BadParameter("a file is read once; name a second one", param_hint="SECOND")
    if second == source and not _is_url(source):
        what = "standard input is read once" if source == STDIN else f"{source} is named twice"
        raise typer.BadParameter(f"{what}; name a text that was taken later", param_hint="SECOND")


def _is_url(source: str) -> bool:
    return source.lower().startswith(URL_STARTS)


def _looks_like_address(source: str) -> bool:
    return source.partition("/")[0].rpartition(":")[2].isdecimal()


def _tls(ca: Path | None) -> ssl.SSLContext | None:
    try:
        return ssl.create_default_context(cafile=str(ca)) if ca is not None else None
    except OSError as error:
        raise UnreadableError(f"{ca}: no certificate authority: {error.strerror or error}") from None


def _counters(source: str, tls: ssl.SSLContext | None) -> EngineCounters:
    body = asyncio.run(_fetch(source, tls)) if _is_url(source) else _read_file(source)
    try:
        return FormReader().read(body)
    except MalformedLineError as error:
        raise UnreadableError(f"{source}: {error}") from None


def _read_file(source: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        hint = f"; for an engine's address write http://{source}" if _looks_like_address(source) else ""
        raise UnreadableError(f"{source}: {error.strerror or error}{hint}") from None


def _address(source: str) -> str:
    """The URL to read; `/metrics` where it names no path."""
    try:
        parts = urlsplit(source)
        is_whole = bool(parts.hostname) and parts.port != 0  # looking at a port that is none raises
    except ValueError:
        raise UnreadableError(f"{source}: {_NO_URL}") from None
    if not is_whole:
        raise UnreadableError(f"{source}: {_NO_URL}")
    return source if parts.path not in {"", "/"} else f"{source.rstrip('/')}/metrics"


async def _fetch(source: str, tls: ssl.SSLContext | None) -> bytes:
    from scaler_controller.sampling.http import BodyReader, Limits, make_session  # the HTTP client takes its time

    url = _address(source)
    async with make_session(tls) as session:
        body = await BodyReader(Limits()).read(session, url)
    if isinstance(body, ScrapeFailure):
        raise UnreadableError(f"{url}: {body.why}")
    return body


async def _wait(seconds: float) -> None:
    typer.echo(f"waiting {seconds:g} s for the second read", err=True)
    await asyncio.sleep(seconds)
