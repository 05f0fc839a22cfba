"""A product process as a child: its log in a file, its end certain."""

import asyncio
import ctypes
import os
import signal
import socket
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp

POLL_SECONDS: Final = 0.05  # real seconds
TAIL_LINES: Final = 15
PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


class ProcessError(RuntimeError):
    """A child that ended or did not answer; the text holds the end of its log."""


def free_port() -> int:
    """A port of loopback that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    """Have the kernel end this child when its parent is killed; where there is no such call, only a stop ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass(kw_only=True)
class Child:
    """`python -m MODULE ARGUMENTS` in a process group of its own, so that Ctrl-C reaches it only through us."""

    name: str
    module: str
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Beside our own; secrets go here, since everybody may read command lines."""
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self.is_running and self._process is not None else None

    @property
    def was_started(self) -> bool:
        """Whether it was ever started."""
        return self._process is not None

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it, or start it anew; the log is continued."""
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self.module,
                *self.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
            )

    async def wait_until_answers(self, url: str, seconds: float, tls: ssl.SSLContext | None = None) -> None:
        """Return once a URL answers 200.

        Args:
            url: such as the readiness address.
            seconds: real ones to wait at most.
            tls: what a server's certificate is verified with.

        Raises:
            ProcessError: the process ended, or did not answer in time.
        """
        last = "no answer"
        deadline = asyncio.get_running_loop().time() + seconds
        timeout = aiohttp.ClientTimeout(total=2)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            while asyncio.get_running_loop().time() < deadline:
                self.require_running()
                try:
                    async with session.get(url, ssl=tls or True) as response:
                        if response.status == 200:
                            return
                        last = f"HTTP {response.status}"
                except (aiohttp.ClientError, TimeoutError) as error:
                    last = str(error) or type(error).__name__
                await asyncio.sleep(POLL_SECONDS)
        raise ProcessError(f"{self.name} was not ready within {seconds:g} s ({url}: {last})\n{self.tail()}")

    def require_running(self) -> None:
        """Check that it runs.

        Raises:
            ProcessError: it does not.
        """
        if not self.is_running:
            code = None if self._process is None else self._process.returncode
            raise ProcessError(f"{self.name} ended with status {code}\n{self.tail()}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its children; one that has ended gets none."""
        if self._process is not None and self.is_running:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                return

    async def wait(self, seconds: float) -> int | None:
        """Wait for its end, that many real seconds at most; the exit status, or None when it still runs."""
        if self._process is None:
            return None
        try:
            return await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return None

    async def stop(self, grace_seconds: float = 5.0) -> None:
        """End it: SIGTERM, and SIGKILL after a grace period of real seconds."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        if await self.wait(grace_seconds) is None:
            self.signal(signal.SIGKILL)
            await self.wait(grace_seconds)

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of the log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        kept = text.splitlines()[-lines:]
        return "\n".join([f"last lines of {self.log}:", *kept]) if kept else f"{self.log} is empty"
