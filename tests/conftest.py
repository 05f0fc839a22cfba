"""Settings that every test shares."""

import asyncio
import os

import pytest
from hypothesis import HealthCheck, settings

IS_CI = os.environ.get("CI") == "true"
"""A merge must not depend on chance: there the examples are always the same, everywhere else they are new ones."""

settings.register_profile("default", deadline=None, derandomize=IS_CI, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")
LONG_SECONDS = 3600.0
"""What a long test has that names no limit: it is there to end one that hangs, on a machine that others share."""


def pytest_configure(config: pytest.Config) -> None:
    # pytest-asyncio's policy otherwise makes a loop that nobody closes, which surfaces as a warning in another test.
    asyncio.set_event_loop(None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long") is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LONG_SECONDS))
