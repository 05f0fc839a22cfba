"""Structured logs: one JSON object a line; the ids of a pass ride along from a context variable."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

_PASS: Final[ContextVar[Mapping[str, Any]]] = ContextVar("pass", default=MappingProxyType({}))
_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


@contextmanager
def pass_context(**identifiers: str) -> Iterator[None]:
    """Attach identifiers of one pass (scaler, pass id) to every line logged within."""
    token = _PASS.set({**_PASS.get(), **identifiers})
    try:
        yield
    finally:
        _PASS.reset(token)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON with its extra members at the top level."""

    def format(self, record: logging.LogRecord) -> str:
        """Render the record."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_PASS.get(),
            **{name: value for name, value in record.__dict__.items() if name not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_logs(level: str) -> None:
    """Send every record to standard error as JSON."""
    import time

    handler = logging.StreamHandler(sys.stderr)
    formatter = JsonFormatter()
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
