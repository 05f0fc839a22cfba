"""etcd, kube-apiserver and kube-controller-manager on loopback, with certificates and an audit log of their own."""

import asyncio
import atexit
import json
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import trustme
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from e2e.controlplane.endpoint import Endpoint
from e2e.controlplane.process import ServerProcess

_CONTROLLERS: Final = (
    *("garbagecollector", "namespace", "serviceaccount", "deployment", "replicaset", "statefulset"),
    *("disruption", "endpoint", "root-ca-cert-publisher"),
)
_LAST_MINOR_WITH_INSECURE_PORT: Final = 23
_AUDIT_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}


@dataclass(frozen=True, slots=True)
class TokenUser:
    """A user of the token file."""

    token: str
    groups: tuple[str, ...] = ()


DEFAULT_USERS: Final[Mapping[str, TokenUser]] = {
    "e2e-admin": TokenUser("e2e-admin-token", ("system:masters",)),
    "alice": TokenUser("alice-token", ("developers",)),
    "bob": TokenUser("bob-token"),
}
"""RBAC is on: everybody but the administrator needs bindings."""


class LocalControlPlane:
    """A control plane of this process; sync `start` and `stop`, or `async with`.

    Args:
        assets: folder with the binaries.
        users: name to token and groups, fixed at start.
        controllers: controllers to run when kube-controller-manager is there; empty runs none.
        flags: further flags of kube-apiserver.
    """

    def __init__(
        self,
        assets: Path,
        *,
        users: Mapping[str, TokenUser] = DEFAULT_USERS,
        controllers: tuple[str, ...] = _CONTROLLERS,
        flags: tuple[str, ...] = (),
    ) -> None:
        self._assets = assets
        self._users = users
        self._controllers = controllers
        self._flags = flags
        self._folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        self._etcd_port, self._peer_port, self._api_port, self._manager_port = _free_ports(4)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    @cached_property
    def endpoint(self) -> Endpoint:
        """The API server, with the administrator's client certificate and token."""
        return Endpoint(
            url=f"https://127.0.0.1:{self._api_port}",
            kubeconfig=self._folder / "kubeconfig",
            ca_file=self._folder / "ca.pem",
            token=self.token("e2e-admin") if "e2e-admin" in self._users else "",
            certificate=self._folder / "admin.pem",
            key=self._folder / "admin.pem",
            webhook_host="127.0.0.1",
        )

    @property
    def etcd_url(self) -> str:
        """Where etcd listens for clients, plain HTTP."""
        return f"http://127.0.0.1:{self._etcd_port}"

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that run."""
        processes = [self._etcd, self._api_server, *([self._manager] if self._manager else [])]
        return tuple(process.pid for process in processes if process.pid is not None)

    def token(self, user: str) -> str:
        """The bearer token of a user."""
        return self._users[user].token

    def kubeconfig(self, path: Path, *, token: str) -> Path:
        """Write a kubeconfig for a bearer token; returns the absolute path."""
        return _write_kubeconfig(path.absolute(), self.endpoint, {"token": token})

    def audit(self, user: str = "") -> list[dict[str, Any]]:
        """Audit events so far, of one user or of all; the log is written a moment after the answer."""
        path = self._folder / "audit.log"
        lines = path.read_text().splitlines() if path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [event for event in events if not user or event["user"]["username"] == user]

    def start(self) -> None:
        """Start everything; a failure leaves nothing behind."""
        atexit.register(self.stop)
        try:
            self._write_files()
            self._etcd.start()
            self._api_server.start()
            if self._manager is not None:
                self._manager.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything, the API server before etcd, and remove the files."""
        atexit.unregister(self.stop)
        if self._manager is not None:
            self._manager.kill()
        self._api_server.stop()
        self._etcd.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def stop_api_server(self) -> None:
        """Stop the API server; clients see refused connections."""
        await asyncio.to_thread(self._api_server.stop)

    async def start_api_server(self) -> None:
        """Start the API server again, on the same port."""
        await asyncio.to_thread(self._api_server.start)

    async def restart_api_server(self) -> None:
        """Stop and start the API server."""
        await self.stop_api_server()
        await self.start_api_server()

    async def stop_etcd(self) -> None:
        """Stop etcd; the API server answers errors until it is back."""
        await asyncio.to_thread(self._etcd.stop)

    async def start_etcd(self) -> None:
        """Start etcd again, with its data."""
        await asyncio.to_thread(self._etcd.start)

    @cached_property
    def _etcd(self) -> ServerProcess:
        peer = f"http://127.0.0.1:{self._peer_port}"
        command = [
            str(self._assets / "etcd"),
            "--name=e2e",
            f"--data-dir={self._folder}/etcd",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=e2e={peer}",
        ]
        return ServerProcess(command, log=self._folder / "etcd.log", ready_urls=[f"{self.etcd_url}/health"])

    @cached_property
    def _api_server(self) -> ServerProcess:
        folder = self._folder
        command = [
            str(self._assets / "kube-apiserver"),
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._api_port}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--min-request-timeout=300",
            "--profiling=false",
            f"--client-ca-file={folder}/ca.pem",
            f"--tls-cert-file={folder}/server.pem",
            f"--tls-private-key-file={folder}/server.pem",
            f"--cert-dir={folder}/certificates",
            f"--token-auth-file={folder}/tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder}/accounts.pem",
            f"--service-account-signing-key-file={folder}/accounts.pem",
            f"--audit-policy-file={folder}/audit.yaml",
            f"--audit-log-path={folder}/audit.log",
            *self._flags,
        ]
        # It is ready a moment before it has made the namespace that everything goes into.
        ready = [f"{self.endpoint.url}/{path}" for path in ("readyz", "api/v1/namespaces/default")]
        return ServerProcess(
            command,
            log=folder / "apiserver.log",
            ready_urls=ready,
            headers=self.endpoint.headers(),
            context=self.endpoint.client_context(),
        )

    @cached_property
    def _manager(self) -> ServerProcess | None:
        binary = self._assets / "kube-controller-manager"
        if not self._controllers or not binary.exists():
            return None
        folder = self._folder
        command = [
            str(binary),
            f"--kubeconfig={self.endpoint.kubeconfig}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._manager_port}",
            f"--cert-dir={folder}/certificates",
            f"--controllers={','.join(self._controllers)}",
            f"--service-account-private-key-file={folder}/accounts.pem",
            f"--root-ca-file={folder}/ca.pem",
            *(["--port=0"] if _minor_version(binary) <= _LAST_MINOR_WITH_INSECURE_PORT else []),
        ]
        ready = f"https://127.0.0.1:{self._manager_port}/healthz"
        # It signs its own certificate, and health is open to everybody.
        return ServerProcess(command, log=folder / "manager.log", ready_urls=[ready], context=_unverified())

    def _write_files(self) -> None:
        folder = self._folder
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "10.0.0.1")
        server = authority.issue_cert(*names)
        server.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
        admin = authority.issue_cert("admin@e2e.invalid", common_name="e2e-admin", organization_name="system:masters")
        admin.private_key_and_cert_chain_pem.write_to_path(folder / "admin.pem")
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        (folder / "accounts.pem").write_bytes(private)
        rows = [f'{user.token},{name},{name},"{",".join(user.groups)}"' for name, user in self._users.items()]
        (folder / "tokens.csv").write_text("\n".join(rows) + "\n")
        (folder / "audit.yaml").write_text(yaml.safe_dump(_AUDIT_POLICY))
        pem = str(folder / "admin.pem")
        _write_kubeconfig(self.endpoint.kubeconfig, self.endpoint, {"client-certificate": pem, "client-key": pem})


def _write_kubeconfig(path: Path, endpoint: Endpoint, user: dict[str, str]) -> Path:
    cluster = {"server": endpoint.url, "certificate-authority": str(endpoint.ca_file)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "user"}}],
        "current-context": "e2e",
    }
    path.write_text(yaml.safe_dump(document))
    path.chmod(0o600)
    return path


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [held.getsockname()[1] for held in sockets]
    for held in sockets:
        held.close()
    return ports


def _minor_version(binary: Path) -> int:
    shown = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v\d+\.(\d+)", shown)
    return int(found[1]) if found else 0


def _unverified() -> Any:
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
