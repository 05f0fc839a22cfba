"""Flags and environment of the webhook: one frozen model, read only by `main`."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from scaler_core.admission import registration
from scaler_kube.settings import ProcessSettings


class Settings(ProcessSettings):
    """Judges writes of ModelDeployments and ModelDeploymentScalers before they are stored.

    Every flag can also be set as an environment variable: --secret-name as MDS_WEBHOOK_SECRET_NAME.
    Exit status: 0 after an orderly stop, 2 for wrong settings or no way to the cluster.
    """

    model_config = SettingsConfigDict(env_prefix="MDS_WEBHOOK_", cli_prog_name="scaler-webhook")

    operator_user: Annotated[tuple[str, ...], NoDecode] = ()
    """User name that may bind, commit and release; repeatable (commas in the environment). Never the account of the
    target's own operator: behind an aggregated API every user arrives as that account."""
    host: str = "0.0.0.0"
    """Address of the admission listener."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9443
    """Port of the admission listener; 0 picks a free one and logs it."""
    health_host: str = "0.0.0.0"
    """Address of the health and metrics listener."""
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """Port of the health and metrics listener; 0 picks a free one and logs it."""
    tls_cert: Path | None = None
    """Certificate file to serve, read again when it changes; self-managed when neither it nor cert-dir is given."""
    tls_key: Path | None = None
    """Key file of tls-cert."""
    cert_dir: Path | None = None
    """Folder with tls.crt and tls.key, as cert-manager mounts them; read again when they change."""
    namespace: str = "default"
    """Namespace of this process, of its Service and of its Secret."""
    service_name: str = "scaler-webhook"
    """Service in front of the replicas; the self-managed certificates are for its names."""
    extra_name: Annotated[tuple[str, ...], NoDecode] = ()
    """Further DNS name or IP address for the self-managed certificates; repeatable (commas in the environment)."""
    secret_name: str = "scaler-webhook-ca"
    """Secret that the replicas share; holds authorities only."""
    configuration_name: str = registration.CONFIGURATION
    """Name of both webhook configurations, whose caBundle is kept when certificates are self-managed."""
    read_timeout_seconds: Annotated[float, Field(gt=0, le=8)] = 3.0
    """The longest that a fresh read of a scaler or a target may take."""
    timeout_seconds: Annotated[float, Field(ge=2, le=30)] = 10.0
    """What the API server waits, where its request does not say so."""
    margin_seconds: Annotated[float, Field(gt=0, le=5)] = 1.0
    """How much earlier an answer is given than the API server gives up."""
    lame_duck_seconds: Annotated[float, Field(ge=0)] = 5.0
    """Time between SIGTERM and closing the listener, for endpoints to be withdrawn."""
    drain_seconds: Annotated[float, Field(ge=0)] = 10.0
    """How long requests in flight may take to finish after that."""
    refresh_seconds: Annotated[float, Field(gt=0)] = 3.0
    """Time between two looks at certificates and configurations."""

    @field_validator("operator_user", "extra_name", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple):
            return value
        return tuple(part.strip() for one in values for part in str(one).split(",") if part.strip())

    @model_validator(mode="after")
    def _certificates_are_complete(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls-cert and tls-key belong together; give both or neither")
        if self.tls_cert is not None and self.cert_dir is not None:
            raise ValueError(f"cert-dir {self.cert_dir} and tls-cert {self.tls_cert} exclude each other; give one")
        return self

    @property
    def certificate_files(self) -> tuple[Path, Path] | None:
        """Certificate and key files, None when certificates are self-managed."""
        if self.cert_dir is not None:
            return self.cert_dir / "tls.crt", self.cert_dir / "tls.key"
        if self.tls_cert is not None and self.tls_key is not None:
            return self.tls_cert, self.tls_key
        return None

    @property
    def served_names(self) -> tuple[str, ...]:
        """Names under which the API server reaches us: the Service's, and those that were added."""
        short = f"{self.service_name}.{self.namespace}.svc"
        return short, f"{short}.cluster.local", f"{self.service_name}.{self.namespace}", *self.extra_name


Settings.__doc__ = cleandoc(Settings.__doc__ or "")  # --help shows it as it stands
