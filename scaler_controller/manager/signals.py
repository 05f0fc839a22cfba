"""Signals: the first asks for an orderly stop, the second ends the process at once."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
EXIT_FORCED: Final = 130
_log = logging.getLogger(__name__)


def stop_on_signals(stop: asyncio.Event, end_now: Callable[[int], None] = os._exit) -> None:
    """Set `stop` at the first of SIGTERM and SIGINT, and end without any cleaning up at the second.

    Args:
        stop: what `Manager.run` waits for.
        end_now: ends the process with a status.
    """

    def received(number: signal.Signals) -> None:
        if stop.is_set():
            _log.warning("Second signal, ending at once", extra={"signal": number.name})
            end_now(EXIT_FORCED)
            return
        _log.info("Stopping", extra={"signal": number.name})
        stop.set()

    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, received, number)
