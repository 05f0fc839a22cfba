"""Reads texts of a form that was met before, without a look at the lines that are not wanted.

Between two samples of an engine its values change and its series hardly ever do. So the form of a text is remembered:
the first bytes of every line, and name, labels and place of those that may be wanted. A text with the same beginnings
of lines can only have wanted samples in the same places; where the names and labels in these places are the same too,
nothing is left to read but the values. Any other text, and any value that is not a plain number, goes to `read_engine`,
so a form saves time and never changes what is read (property test).
"""

from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from scaler_core.model.scrape import EngineCounters
from scaler_core.signals.engines import counters_of, read_body
from scaler_core.signals.exposition import Series, name_of, series_of
from scaler_core.signals.layout import Layout, lay_out
from scaler_core.signals.names import WANTED

Feeds = NDArray[np.intp]
"""Places of line feeds in a padded text, the end of the last line included. One stands in front of the body, so the
place of the feed before a line is that of the line's first byte in the body."""

_SEEN: Final = 12
"""First bytes of a line that are compared: fewer than the shortest wanted name has, and few enough to reach into the
next line only where a line is very short."""
_ROW: Final = np.dtype(f"V{_SEEN}")
_LONGEST: Final = 512
"""Bytes of a wanted line's name and labels; a form with a longer one is not remembered."""
_PADDING: Final = b"\n".ljust(_LONGEST, b"\0")
_WORD: Final = 8
_LINE_FEED: Final = 10
_UNUSUAL: Final = frozenset({b" ", b"\t", b"{"})
"""First bytes of lines whose name stands further to the right."""
_NUMERIC: Final = b"0123456789.eE+-NaInf\r"
_BEGINNINGS: Final = frozenset(name.encode()[:_SEEN] for name in WANTED)
_KEY_STEP: Final = 61  # a part of the beginnings is enough to find a form; then all of them are compared
_REMEMBERED: Final = 512  # a form is some 20 KiB, and the engines of one version and model share it
_Key = tuple[bytes, bytes]


class FormReader:
    """Reads the answers of engines, and remembers their forms."""

    def __init__(self) -> None:
        self._forms: dict[_Key, _Form] = {}

    def read(self, body: bytes) -> EngineCounters:
        """What `read_body` reads of the same answer.

        Raises:
            MalformedLineError: a line that we need cannot be read.
        """
        body = body.removeprefix(BOM_UTF8)
        text = b"\n%b%b" % (body, _PADDING)
        feeds, beginnings = _survey(text)
        # The last line's labels tell apart the models of one engine's version, whose lines begin alike.
        key = (beginnings[::_KEY_STEP], _last_head(body))
        form = self._forms.get(key)
        counters = form.read(text, feeds) if form is not None and form.beginnings == beginnings else None
        if counters is not None:
            return counters
        counters = read_body(body)
        self._remember(key, _Form.of(body, feeds, beginnings))
        return counters

    def _remember(self, key: _Key, form: "_Form | None") -> None:
        self._forms.pop(key, None)
        if form is not None:
            self._forms[key] = form
        if len(self._forms) > _REMEMBERED:
            del self._forms[next(iter(self._forms))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """What some lines begin with, compared at once."""

    places: Feeds
    """The feeds before these lines."""
    row: np.dtype[np.void]
    """As many bytes as the longest has."""
    mask: NDArray[np.uint64]
    """All bits of the bytes that count in each row."""
    rows: bytes
    """What is left of these lines' rows behind the mask."""

    @classmethod
    def of(cls, heads: Sequence[tuple[int, bytes]]) -> Self:
        """Of lines by their places; heads have at most `_LONGEST` bytes."""
        width = -(-max((len(head) for _, head in heads), default=1) // _WORD) * _WORD
        mask = b"".join((b"\xff" * len(head)).ljust(width, b"\0") for _, head in heads)
        return cls(
            places=np.array([place for place, _ in heads], dtype=np.intp),
            row=np.dtype(f"V{width}"),
            mask=np.frombuffer(mask, dtype=np.uint64),
            rows=b"".join(head.ljust(width, b"\0") for _, head in heads),
        )

    def stand_in(self, text: bytes, feeds: Feeds) -> bool:
        """Whether the lines of this text begin so."""
        rows = _rows(text, feeds.take(self.places), self.row)
        return (rows.view(np.uint64) & self.mask).tobytes() == self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """Where a text of this form has its wanted samples."""

    beginnings: bytes
    heads: _Heads
    """Of the lines that may be wanted: name and labels, or as much as tells that one is not wanted."""
    edge_feeds: Feeds
    """The feed that each edge of a wanted value is measured from. First the edges where values begin, then, in the same
    order, those where they end; one array for both takes one look-up."""
    edge_offsets: Feeds
    """Bytes from that feed to the edge: past name and labels to a value's beginning, none from the feed behind a line
    to its value's end."""
    layout: Layout

    @classmethod
    def of(cls, body: bytes, feeds: Feeds, beginnings: bytes) -> Self | None:
        """The form of a readable text; None where a wanted line is not `name{labels} value`."""
        candidates = list(_candidates(body, feeds))
        lines = [_line(text) for _, text in candidates]
        known = [line for line in lines if line is not None and len(line[0]) <= _LONGEST]
        if len(known) < len(lines):
            return None
        found = [(place, head, series) for (place, _), (head, series) in zip(candidates, known, strict=True)]
        wanted = [(place, len(head), series) for place, head, series in found if series is not None]
        beginnings_of_values = [(place, length + 1) for place, length, _ in wanted]
        ends_of_values = [(place + 1, 0) for place, _, _ in wanted]
        edges = beginnings_of_values + ends_of_values
        return cls(
            beginnings=beginnings,
            heads=_Heads.of([(place, head) for place, head, _ in found]),
            edge_feeds=np.array([place for place, _ in edges], dtype=np.intp),
            edge_offsets=np.array([offset for _, offset in edges], dtype=np.intp),
            layout=lay_out(tuple(series for _, _, series in wanted)),
        )

    def read(self, text: bytes, feeds: Feeds) -> EngineCounters | None:
        """The counters of a text whose lines begin alike; None where it takes more than its values to read it."""
        if not self.heads.stand_in(text, feeds):
            return None
        edges = (feeds.take(self.edge_feeds) + self.edge_offsets).tolist()
        half = len(edges) // 2
        numbers = _numbers([text[start:end] for start, end in zip(edges[:half], edges[half:], strict=True)])
        return counters_of(numbers, self.layout) if numbers is not None else None


def _survey(text: bytes) -> tuple[Feeds, bytes]:
    """Where the line feeds of a padded text are, and the first bytes of every line."""
    feeds = (np.frombuffer(text, dtype=np.uint8) == _LINE_FEED).nonzero()[0]
    return feeds, _rows(text, feeds[:-1], _ROW).tobytes()


def _rows(text: bytes, feeds: Feeds, row: np.dtype[np.void]) -> NDArray[np.void]:
    """The first bytes of the lines behind these feeds."""
    return np.ndarray(len(text) - row.itemsize, dtype=row, buffer=text, offset=1, strides=(1,))[feeds]


def _last_head(body: bytes) -> bytes:
    """Name and labels of the last line."""
    end = len(body) - body.endswith(b"\n")
    return body[body.rfind(b"\n", 0, end) + 1 : end].rpartition(b" ")[0]


def _candidates(body: bytes, feeds: Feeds) -> list[tuple[int, bytes]]:
    """The lines that may be wanted, with their places."""
    begins = feeds.tolist()
    return [
        (place, body[begin : begins[place + 1] - 1])
        for place, begin in enumerate(begins[:-1])
        if body[begin : begin + _SEEN] in _BEGINNINGS or body[begin : begin + 1] in _UNUSUAL
    ]


def _line(text: bytes) -> tuple[bytes, Series | None] | None:
    """How a line begins, up to the value of a wanted sample; None where that is not all of the line."""
    line = text.decode("utf-8", errors="replace")
    name = name_of(line)
    if name is None or len(name) == len(text):
        return None
    if name not in WANTED:
        return text[: len(name) + 1], None
    head, _, _ = text.rpartition(b" ")
    series = series_of(line.rpartition(" ")[0])
    return (head + b" ", series) if series is not None else None


def _numbers(texts: list[bytes]) -> list[float] | None:
    """What `float` makes of these texts; None where one of them is not a plain number."""
    listed = b"[%b]" % b",".join(texts)
    # Python's own number syntax allows more than the format does.
    if listed.translate(None, _NUMERIC) != b"[%b]" % (b"," * (len(texts) - 1)):
        return None
    try:
        return list(map(float, _decoded(listed) or texts))
    except ValueError:
        return None


def _decoded(listed: bytes) -> list[float] | None:
    """The numbers as JSON's reader sees them, six times as fast as `float`; None where it might see others.

    It knows no signs but a minus, and takes `-0` for a whole number, which has no negative zero.
    """
    if listed.count(b"-") > listed.count(b"e-"):
        return None
    try:
        numbers: list[float] = orjson.loads(listed)
    except orjson.JSONDecodeError:
        return None
    return numbers
