"""Fixtures of the end-to-end tests."""

import pytest

from e2e.controlplane import Endpoint, require_control_plane


@pytest.fixture(scope="session")
def control_plane() -> Endpoint:
    """The session's real control plane, or a skip that says how to get one."""
    return require_control_plane()
