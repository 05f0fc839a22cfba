from pathlib import Path
from typing import Self

import pytest
from pydantic import model_validator
from pydantic_settings import SettingsConfigDict

from scaler_kube.access import Access, Endpoint, InCluster, KubeConfig
from scaler_kube.settings import ProcessSettings, read_settings


class Settings(ProcessSettings):
    """Settings of a test."""

    model_config = SettingsConfigDict(env_prefix="MDS_TEST_", cli_prog_name="a-process")

    low: int = 1
    high: int = 2

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}; give them in order")
        return self


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([], InCluster(), id="nothing said means the Pod's service account"),
        pytest.param(["--kubeconfig", "/a/b"], KubeConfig(path="/a/b"), id="a kubeconfig"),
        pytest.param(
            ["--kube-url", "https://a", "--kube-token", "t", "--kubeconfig", "/a/b"],
            Endpoint(url="https://a", token="t", ca_file=None),
            id="an address wins over a kubeconfig",
        ),
    ],
)
def test_ways_to_the_api_server(flags: list[str], expected: Access) -> None:
    settings = read_settings(Settings, flags)
    assert settings is not None
    assert settings.access == expected


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        pytest.param(
            ["--low", "x"],
            "a-process: --low: 'x': Input should be a valid integer, unable to parse string as an integer\n",
            id="a wrong value names flag and value",
        ),
        pytest.param(
            ["--low", "3"],
            "a-process: low 3 is above high 2; give them in order\n",
            id="a rule over several flags speaks for itself",
        ),
        pytest.param(
            ["--log-level", "loud"],
            "a-process: --log-level: 'LOUD': Input should be 'DEBUG', 'INFO', 'WARNING' or 'ERROR'\n",
            id="a log level that does not exist",
        ),
    ],
)
def test_wrong_settings_are_told_in_a_line(flags: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_settings(Settings, flags) is None
    assert capsys.readouterr().err == line


def test_flags_win_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MDS_TEST_LOW", "0")
    monkeypatch.setenv("MDS_TEST_KUBECONFIG", str(tmp_path))
    settings = read_settings(Settings, ["--low", "2"])
    assert settings is not None
    assert (settings.low, settings.kubeconfig) == (2, tmp_path)


def test_a_token_is_not_shown() -> None:
    settings = read_settings(Settings, ["--kube-url", "https://a", "--kube-token", "secret"])
    assert "secret" not in repr(settings)
    assert settings is not None
    assert "secret" not in repr(settings.access)


def test_the_log_level_may_be_in_small_letters() -> None:
    settings = read_settings(Settings, ["--log-level", "debug"])
    assert settings is not None
    assert settings.log_level == "DEBUG"
