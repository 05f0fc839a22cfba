"""One server process of a control plane: started until it answers, stopped for certain."""

import contextlib
import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

READY_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 8.0
_POLL_SECONDS: Final = 0.1
_LOG_TAIL: Final = 3000


class StartupError(RuntimeError):
    """A process ended or stayed silent before it was ready."""


class ServerProcess:
    """A child process with a log file and URLs that tell when it is ready."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        ready_urls: Sequence[str],
        headers: Mapping[str, str] | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._command = list(command)
        self._log = log
        self._ready = [urllib.request.Request(url, headers=dict(headers or {})) for url in ready_urls]
        self._context = context
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        """Start, and wait until every URL answers 200.

        Raises:
            StartupError: with the end of the log.
        """
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                self._command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._child.poll() is not None:
                raise StartupError(f"{self._command[0]} ended with status {self._child.returncode}:\n{self._tail()}")
            if all(map(self._answers, self._ready)):
                return
            time.sleep(_POLL_SECONDS)
        self.stop()
        urls = ", ".join(ask.full_url for ask in self._ready)
        raise StartupError(f"{urls} did not answer within {READY_SECONDS:g} s:\n{self._tail()}")

    def stop(self) -> None:
        """SIGTERM, and SIGKILL to its process group after a grace period."""
        child, self._child = self._child, None
        if child is None or child.poll() is not None:
            return
        child.terminate()
        try:
            child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def kill(self) -> None:
        """SIGKILL, as a crash."""
        child, self._child = self._child, None
        if child is not None and child.poll() is None:
            child.kill()
            child.wait()

    def _answers(self, ask: urllib.request.Request) -> bool:
        try:
            with urllib.request.urlopen(ask, context=self._context, timeout=2) as response:
                return bool(response.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _tail(self) -> str:
        return self._log.read_text(errors="replace")[-_LOG_TAIL:]
