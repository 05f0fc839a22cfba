"""Where metric texts come from: an engine, a file or standard input."""

import asyncio
import gzip
import io
import re
import ssl
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from scaler_cli.lookalikes import GZIP, resemblance
from scaler_core.model.scrape import EngineCounters, ScrapeFailure
from scaler_core.signals.engines import read_body
from scaler_core.signals.exposition import MalformedLineError
from scaler_core.signals.inspection import Inspection, inspect

URL_STARTS: Final = ("http://", "https://")
STDIN: Final = "-"
_NO_URL: Final = "no URL; write one such as http://10.0.0.7:8000/metrics"
_USER: Final = re.compile(r"([a-z][a-z0-9+.-]*://)[^/?#]*@|[^/?#@]*:[^/?#]*@", re.IGNORECASE)
"""Credentials at the beginning of an address, with its scheme or without."""
_MEBIBYTE: Final = 1024 * 1024
_MOST_UNPACKED: Final = 64 * _MEBIBYTE


class UnreadableError(Exception):
    """A source that gives no counters; the message names it and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One metric text."""

    name: str
    """Its source as messages show it: without credentials."""
    counters: EngineCounters
    """What the controller would read of it."""
    inspection: Inspection
    resembles: str | None
    """What it is instead, where it is no metrics."""


def read(source: str, tls: ssl.SSLContext | None) -> Text:
    """Read one source.

    Raises:
        UnreadableError: there is nothing to be had from it.
    """
    name = shown(source)
    body = asyncio.run(_fetch(source, tls)) if is_url(source) else _unpacked(name, _read_file(source))
    looks = resemblance(body)
    try:
        counters, inspection = read_body(body), inspect(body.decode("utf-8", errors="replace"))
    except MalformedLineError as error:
        raise UnreadableError(f"{name}: {error}{f'; {looks}' if looks is not None else ''}") from None
    return Text(name=name, counters=counters, inspection=inspection, resembles=looks)


def is_url(source: str) -> bool:
    """Whether it is to be asked, rather than opened."""
    return source.lower().startswith(URL_STARTS)


def shown(source: str) -> str:
    """The source without the credentials that an address may carry."""
    found = _USER.match(source)
    return f"{found[1] or ''}***@{source[found.end() :]}" if found is not None else source


def _looks_like_address(source: str) -> bool:
    return source.partition("/")[0].rpartition(":")[2].isdecimal()


def _read_file(source: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        hint = f"; for an engine's address write http://{shown(source)}" if _looks_like_address(source) else ""
        raise UnreadableError(f"{shown(source)}: {error.strerror or error}{hint}") from None


def _unpacked(name: str, content: bytes) -> bytes:
    """A text that was saved as the engine sent it, packed."""
    if not content.startswith(GZIP):
        return content
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(content)).read(_MOST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error):
        raise UnreadableError(f"{name}: a gzip file that is broken or cut off; save it anew") from None
    if len(text) > _MOST_UNPACKED:
        raise UnreadableError(f"{name}: larger than {_MOST_UNPACKED // _MEBIBYTE} MiB unpacked; no engine says so much")
    return text


def _address(source: str) -> str:
    """The URL to read; `/metrics` where it names no path."""
    parts = _parts(source)
    if parts is None:
        raise UnreadableError(f"{shown(source)}: {_NO_URL}")
    if parts.fragment:
        raise UnreadableError(f"{shown(source)}: what stands behind # never reaches an engine; leave it out")
    return source if parts.path not in {"", "/"} else urlunsplit(parts._replace(path="/metrics"))


def _parts(source: str) -> SplitResult | None:
    try:
        parts = urlsplit(source)
        return parts if parts.hostname and parts.port != 0 else None  # looking at a port that is none raises
    except ValueError:
        return None


async def _fetch(source: str, tls: ssl.SSLContext | None) -> bytes:
    from scaler_controller.sampling.http import BodyReader, Limits, make_session  # the HTTP client takes its time

    url = _address(source)
    async with make_session(tls) as session:
        body = await BodyReader(Limits()).read(session, url)
    if isinstance(body, ScrapeFailure):
        raise UnreadableError(f"{shown(url)}: {body.why}")
    return body
