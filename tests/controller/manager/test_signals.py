import asyncio
import os
import signal

from scaler_controller.manager.signals import EXIT_FORCED, stop_on_signals


async def test_the_first_signal_stops_and_the_second_ends_at_once() -> None:
    stop, over, ended = asyncio.Event(), asyncio.Event(), []

    def end_now(status: int) -> None:
        ended.append(status)
        over.set()

    stop_on_signals(stop, end_now)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 5)
        assert ended == []
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(over.wait(), 5)
        assert ended == [EXIT_FORCED]
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(number)
