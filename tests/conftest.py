"""Settings that every test shares."""

import asyncio
import os

import pytest
from hypothesis import HealthCheck, settings

IS_CI = os.environ.get("CI") == "true"
"""A merge must not depend on chance: there the examples are always the same, everywhere else they are new ones."""

settings.register_profile("default", deadline=None, derandomize=IS_CI, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    # pytest-asyncio's policy otherwise makes a loop that nobody closes, which surfaces as a warning in another test.
    asyncio.set_event_loop(None)
