"""Ctrl-C in a process that is still importing its modules: one line and status 130, and no traceback.

Importing a program takes a second or two, in which Python answers Ctrl-C with a traceback, or prints one and goes on
where a callback of the import system is what it met. So the programs are imported in here, and this module imports
next to nothing.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

STATUS: Final = 130
"""What shells report of a process that SIGINT ended: 128 + 2."""


def start(program: str, load: Callable[[], Callable[[], object]]) -> None:
    """Import a program and run it.

    Args:
        program: its name, for people.
        load: imports it and returns what runs it.
    """
    try:
        with _leaving_at_once(program):
            run = load()
        run()
    except KeyboardInterrupt:
        sys.stderr.write(_line(program))
        sys.exit(STATUS)


@contextmanager
def _leaving_at_once(program: str) -> Iterator[None]:
    """SIGINT ends the process in here, unless whoever started it had it ignored."""

    def leave(_number: int, _frame: object) -> None:
        os.write(2, _line(program).encode())
        os._exit(STATUS)  # nothing has begun that could be ended in order

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _line(program: str) -> str:
    return f"{program}: interrupted\n"
