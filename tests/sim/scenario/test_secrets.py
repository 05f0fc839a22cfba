"""No credential is on a command line, where everybody on the host may read it."""

from pathlib import Path

import pytest

from scaler_controller.settings import Settings as ControllerSettings
from scaler_kube.access import Endpoint
from scaler_kube.settings import ProcessSettings, read_settings
from scaler_sim.scenario.plane import Identity
from scaler_sim.scenario.process import Child
from scaler_sim.scenario.scenario import ScenarioSettings, playing
from scaler_webhook.settings import Settings as WebhookSettings


async def test_the_processes_get_their_tokens_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(ScenarioSettings(logs=tmp_path)) as scenario:
        programs: list[tuple[Child, Identity, type[ProcessSettings]]] = [
            (scenario.controller, Identity.CONTROLLER, ControllerSettings),
            (scenario.webhook, Identity.WEBHOOK, WebhookSettings),
        ]
        for child, identity, model in programs:
            endpoint = scenario.credentials(identity).access
            assert isinstance(endpoint, Endpoint)
            assert endpoint.token
            assert not any(endpoint.token in argument for argument in child.arguments)
            assert endpoint.token not in repr(child)
            for name, value in child.environment.items():
                monkeypatch.setenv(name, value)
            settings = read_settings(model, child.arguments)
            assert settings is not None
            assert settings.access == endpoint
        assert (tmp_path / "webhook.key").stat().st_mode & 0o077 == 0
