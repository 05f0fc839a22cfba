"""`mds demo`: the product at work on an embedded cluster, in under three minutes."""

import asyncio
import logging
import shutil
import signal
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from scaler_core.api.scaler_spec import AlgorithmType
from scaler_core.model.scrape import Engine
from scaler_sim.demo.settings import DEFAULT_SPEED, DemoSettings

if TYPE_CHECKING:
    from scaler_sim.demo.screen import Screen
    from scaler_sim.demo.summary import Summary

FAILED: Final = 1
INTERRUPTED: Final = 130


class EngineChoice(StrEnum):
    """Engines by their command line names."""

    VLLM = "vllm"
    SGLANG = "sglang"

    @property
    def engine(self) -> Engine:
        """The engine."""
        return Engine[self.name]


def demo(
    engine: Annotated[
        EngineChoice, typer.Option(help="Whose metrics the simulated engines speak.", case_sensitive=False)
    ] = EngineChoice.VLLM,
    algorithm: Annotated[
        AlgorithmType, typer.Option(help="The scaler's algorithm.", case_sensitive=False)
    ] = AlgorithmType.TOKEN_THROUGHPUT,
    speed: Annotated[
        float, typer.Option(min=0.5, max=20, help="Clock seconds in one real second, for every process.")
    ] = DEFAULT_SPEED,
    seed: Annotated[int, typer.Option(help="Of the load and the engines.")] = 1,
) -> None:
    """Play the benchmark's load against real controller and webhook processes on an embedded cluster.

    Exit status 0 when the counts rose with the load and are back at the minimum, 1 with the reason when they did not.
    Where standard output is no terminal, the last line is a summary in JSON.
    """
    settings = DemoSettings(engine=engine.engine, algorithm=algorithm, speed=speed, seed=seed)
    raise typer.Exit(run(settings, Console()))


def run(settings: DemoSettings, console: Console) -> int:
    """Play on a console; the exit status."""
    from scaler_sim.demo.screen import screen_for
    from scaler_sim.demo.stage import DemoError

    logging.basicConfig(level=logging.ERROR)
    logs = Path(tempfile.mkdtemp(prefix="mds-demo-"))
    try:
        with screen_for(console, settings.title) as screen:
            summary = asyncio.run(_interruptible(settings, screen, logs))
    except DemoError as error:
        _print(console, f"The demo failed: {error}\nWhole logs are in {logs}")
        return FAILED
    except (KeyboardInterrupt, asyncio.CancelledError):
        _print(console, f"Stopped; no process is left behind. Logs are in {logs}")
        return INTERRUPTED
    shutil.rmtree(logs)
    for line in summary.lines():
        _print(console, line)
    if not console.is_terminal:
        sys.stdout.write(summary.to_json() + "\n")
    return 0


async def _interruptible(settings: DemoSettings, screen: "Screen", logs: Path) -> "Summary":
    """Play; SIGTERM ends it as tidily as Ctrl-C does."""
    from scaler_sim.demo.performance import perform

    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await perform(settings, screen, logs)


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
