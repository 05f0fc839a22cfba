"""Flags and environment of the webhook."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import CliApp

from scaler_webhook.settings import Settings


def parse(*arguments: str) -> Settings:
    return CliApp.run(Settings, cli_args=list(arguments))


def test_operators_are_repeatable_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    users = parse("--operator-user", "system:serviceaccount:a:b", "--operator-user", "c").operator_user
    assert users == ("system:serviceaccount:a:b", "c")
    monkeypatch.setenv("MDS_WEBHOOK_OPERATOR_USER", "a, b")
    assert parse().operator_user == ("a", "b")
    assert parse("--operator-user", "c").operator_user == ("c",)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"tls_cert": Path("a")}, "belong together"),
        ({"tls_cert": Path("a"), "tls_key": Path("b"), "cert_dir": Path("c")}, "exclude each other"),
        ({"port": 70000}, "less than or equal to 65535"),
    ],
)
def test_settings_that_do_not_fit_are_named(members: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Settings(**members)


def test_certificate_files_come_from_either_place() -> None:
    assert Settings().certificate_files is None
    assert Settings(cert_dir=Path("/c")).certificate_files == (Path("/c/tls.crt"), Path("/c/tls.key"))
    assert Settings(tls_cert=Path("a"), tls_key=Path("b")).certificate_files == (Path("a"), Path("b"))


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_wrong_use_is_one_line_and_status_2() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "scaler_webhook", "--port", "x"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("scaler-webhook: --port: 'x': ")
    assert ended.stderr.count("\n") == 1
