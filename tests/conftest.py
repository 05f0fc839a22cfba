"""Settings that every test shares."""

import asyncio

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", deadline=None, max_examples=20_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    # pytest-asyncio's policy otherwise makes a loop that nobody closes, which surfaces as a warning in another test.
    asyncio.set_event_loop(None)
