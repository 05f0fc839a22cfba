"""Where a control plane listens, and how to be its administrator."""

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An API server as a client needs it; files are absolute paths in PEM."""

    url: str
    kubeconfig: Path
    ca_file: Path | None = None
    token: str = ""
    certificate: Path | None = None
    key: Path | None = None
    webhook_host: str | None = None
    """A host of this machine that the API server can reach; None when webhooks cannot be tested there."""

    def client_context(self) -> ssl.SSLContext:
        """Trusts the server, and carries the client certificate where there is no token."""
        context = ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file else None)
        if self.certificate and not self.token:
            context.load_cert_chain(self.certificate, self.key)
        return context

    def headers(self) -> dict[str, str]:
        """The bearer token, where there is one."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}
