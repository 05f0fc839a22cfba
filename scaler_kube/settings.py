"""What the settings of every process have in common: the way to the API server, versions, logs, and their errors."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from scaler_core.api import scaler
from scaler_kube.access import Access, Endpoint, InCluster, KubeConfig

SettingsT = TypeVar("SettingsT", bound="ProcessSettings")


class SettingError(Exception):
    """A setting that proved wrong when it was used; the message names the flag, its value and what to do."""


def cannot_listen(flag: str, host: str, port: int, error: OSError) -> SettingError:
    """An address that cannot be listened at.

    Args:
        flag: start of the flags of host and port, such as `health-`.
        host: the address.
        port: the port.
        error: what the system said.
    """
    why = error.strerror or str(error)
    found = why.rpartition(": ")[2] if error.errno is not None else why
    return SettingError(
        f"--{flag}host {host}, --{flag}port {port}: {found}; give a free port and an address of this host"
    )


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class ProcessSettings(BaseSettings):
    """Flags and environment that both processes understand; each adds its own, a prefix and a name."""

    model_config = SettingsConfigDict(
        frozen=True,
        cli_parse_args=False,
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_hide_none_type=True,
        use_attribute_docstrings=True,
        extra="forbid",
    )

    kubeconfig: Path | None = None
    """Kubeconfig file; without it and without a URL the Pod's service account is used."""
    kube_url: str = ""
    """API server to talk to directly, with kube-token and kube-ca."""
    kube_token: SecretStr = SecretStr("")
    """Bearer token for kube-url; by environment, since everybody on the host may read command lines."""
    kube_ca: Path | None = None
    """CA file for kube-url."""
    api_group: str = scaler.GROUP
    """Group of both kinds."""
    scaler_version: str = scaler.VERSION
    """Version in which ModelDeploymentScalers are read and written."""
    target_version: str = scaler.VERSION
    """Version in which ModelDeployments are read and written; v1alpha1 where v1 is an aggregated API."""
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_upper)] = "INFO"
    """The least severe that is logged: DEBUG, INFO, WARNING or ERROR."""

    @property
    def access(self) -> Access:
        """How the API server is reached."""
        if self.kube_url:
            ca_file = str(self.kube_ca) if self.kube_ca else None
            return Endpoint(url=self.kube_url, token=self.kube_token.get_secret_value(), ca_file=ca_file)
        return KubeConfig(path=str(self.kubeconfig)) if self.kubeconfig is not None else InCluster()


def read_settings(model: type[SettingsT], arguments: Sequence[str] | None = None) -> SettingsT | None:
    """Settings from flags and environment; None after wrong values were told on standard error, a line each.

    Args:
        model: the process's settings.
        arguments: flags; those of the process when None.

    Raises:
        SystemExit: 2 for a flag that does not exist, 0 after help.
    """
    program = model.model_config.get("cli_prog_name") or model.__name__
    flags = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return model(_cli_parse_args=flags)
    except ValidationError as error:
        lines = [_line(problem["loc"], problem["input"], problem["msg"]) for problem in error.errors()]
    except SettingsError as error:
        lines = [" ".join(str(error).split())]
    sys.stderr.writelines(f"{program}: {line}\n" for line in lines)
    return None


def _line(place: Sequence[int | str], value: object, message: str) -> str:
    text = message.removeprefix("Value error, ")
    if not place:  # a rule over several flags names them itself
        return text
    flag = "--" + "-".join(str(part) for part in place).replace("_", "-")
    return f"{flag}: {value!r}: {text}"
