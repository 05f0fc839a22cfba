import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.controller.recovery.stage import Stage

Begin = Callable[..., Stage]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Makes stages: counts by role, a quota of replicas, members of the scaler's spec."""
    loop = asyncio.new_event_loop()

    def make(counts: dict[str, int] | None = None, quota: int = 100, **spec: Any) -> Stage:
        return Stage(loop, counts or {"prefill": 2, "decode": 2}, quota, **spec)

    yield make
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
