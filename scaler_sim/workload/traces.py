"""Recorded request traces -> arrivals: Azure's and AIBrix's CSV, Mooncake's JSON lines."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, Final, TextIO

_AZURE: Final = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_AIBRIX: Final = ("t_ms", "in_tokens", "out_tokens")
_MOONCAKE: Final = ("timestamp", "input_length", "output_length")
_JITTER_SECONDS: Final = 0.5
FORMATS: Final = (
    f"a CSV with the columns {','.join(_AZURE)} or {','.join(_AIBRIX)}, "
    f"or JSON lines with the members {', '.join(_MOONCAKE)} and optional hash_ids"
)


class TraceError(ValueError):
    """A trace that cannot be read; the text names file, line, value and remedy in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One request of a trace."""

    at: float
    """Seconds since the trace's first request."""
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()
    """Prefix blocks of 512 tokens; equal ones are shared."""


def load(path: Path) -> tuple[Arrival, ...]:
    """Read a trace in the format that its first line shows, in order of time.

    Raises:
        TraceError: it cannot be read.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            arrivals = [arrival for arrival in _read(path, file) if arrival is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"trace {path}: cannot be read ({error}); give a readable UTF-8 file") from error
    if not arrivals:
        raise TraceError(f"trace {path}: holds no requests; give {FORMATS}")
    arrivals.sort(key=lambda arrival: arrival.at)
    start = arrivals[0].at
    return tuple(replace(arrival, at=arrival.at - start) for arrival in arrivals)


def scaled(arrivals: tuple[Arrival, ...], rate: float, random: Random) -> tuple[Arrival, ...]:
    """The same course with that many times the requests: some are left out, or repeated within half a second.

    Raises:
        ValueError: the rate is not above 0.
    """
    if not rate > 0:
        raise ValueError(f"rate {rate} is not above 0; use 1 for the trace as it is")
    chosen = []
    for arrival in arrivals:
        copies = int(rate) + (random.random() < rate - int(rate))
        for copy in range(copies):
            shift = 0.0 if copy == 0 else random.uniform(0, _JITTER_SECONDS)
            chosen.append(replace(arrival, at=arrival.at + shift))
    return tuple(sorted(chosen, key=lambda arrival: arrival.at))


def between(arrivals: tuple[Arrival, ...], start: float, end: float) -> tuple[Arrival, ...]:
    """A stretch of a trace, from its own beginning on."""
    return tuple(replace(a, at=a.at - start) for a in arrivals if start <= a.at < end)


def _read(path: Path, file: TextIO) -> Iterator[Arrival | None]:
    first = file.readline()
    file.seek(0)
    if first.lstrip().startswith("{"):
        yield from _json_lines(path, file)
        return
    columns = tuple(column.strip() for column in first.strip().split(","))
    reader = _CSV_READERS.get(columns)
    if reader is None:
        raise TraceError(f"trace {path}: first line {first.strip()[:80]!r} is of no known format; give {FORMATS}")
    for row in csv.DictReader(file):
        yield _guarded(path, row, reader)


def _json_lines(path: Path, file: TextIO) -> Iterator[Arrival | None]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise TraceError(f"trace {path}: line {number} is not JSON ({error}); give {FORMATS}") from error
        yield _guarded(path, row, _mooncake)


def _guarded(path: Path, row: Any, reader: Callable[[Mapping[str, Any]], Arrival]) -> Arrival | None:
    """Read a row; a request without prompt or answer is left out, as servers answer it without work."""
    try:
        arrival = reader(row)
    except (KeyError, ValueError, TypeError) as error:
        raise TraceError(f"trace {path}: row {row!r} cannot be read ({error!r}); give {FORMATS}") from error
    return arrival if arrival.prompt_tokens > 0 and arrival.output_tokens > 0 else None


def _azure(row: Mapping[str, Any]) -> Arrival:
    at = datetime.fromisoformat(row["TIMESTAMP"][:26])  # seven decimals, one more than there are microseconds
    return Arrival(
        at=(at - datetime(2000, 1, 1)).total_seconds(),  # noqa: DTZ001 -- only differences count
        prompt_tokens=int(row["ContextTokens"]),
        output_tokens=int(row["GeneratedTokens"]),
    )


def _aibrix(row: Mapping[str, Any]) -> Arrival:
    return Arrival(
        at=float(row["t_ms"]) / 1000, prompt_tokens=int(row["in_tokens"]), output_tokens=int(row["out_tokens"])
    )


def _mooncake(row: Mapping[str, Any]) -> Arrival:
    return Arrival(
        at=float(row["timestamp"]) / 1000,
        prompt_tokens=int(row["input_length"]),
        output_tokens=int(row["output_length"]),
        blocks=tuple(int(block) for block in row.get("hash_ids", ())),
    )


_CSV_READERS: Final[Mapping[tuple[str, ...], Callable[[Mapping[str, Any]], Arrival]]] = {
    _AZURE: _azure,
    _AIBRIX: _aibrix,
}
