"""Where the served certificate comes from: a CA of our own in a Secret, or files that somebody else writes.

Either source keeps one TLS context current: `load_cert_chain` on the live context is what the next handshake uses, so
nothing restarts.
"""

import os
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.resources import SECRETS
from scaler_kube.transport import Document
from scaler_webhook import rotation
from scaler_webhook.authority import LEAF_LIFETIME, KeyPair, new_leaf

RENEW_BEFORE_SECONDS: Final = LEAF_LIFETIME.total_seconds() / 2
_ATTEMPTS: Final = 5


class CertificateError(Exception):
    """No certificate can be served; the text names what to set or repair."""


def tls_context() -> ssl.SSLContext:
    """A server context without a certificate yet."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


@dataclass(slots=True, kw_only=True)
class FileSource:
    """Certificate files, mounted or given; read again when they change (projected volumes swap links)."""

    certificate: Path
    key: Path
    context: ssl.SSLContext
    expires: float = 0.0
    chain: bytes = b""
    """What is served, in PEM."""
    _seen: tuple[object, ...] = ()

    def refresh(self) -> bool:
        """Load the files if they changed; whether they did.

        Raises:
            CertificateError: they are missing or do not fit; the last good ones stay in use.
        """
        try:
            stamp = tuple((s.st_mtime_ns, s.st_ino, s.st_size) for s in (self.certificate.stat(), self.key.stat()))
            if stamp == self._seen:
                return False
            self.context.load_cert_chain(self.certificate, self.key)
            self.chain = self.certificate.read_bytes()
            self.expires = KeyPair(certificate=self.chain, key=b"").expires
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise CertificateError(
                f"{self.certificate} and {self.key} cannot be served ({error}); mount a certificate and its key"
            ) from error
        self._seen = stamp
        return True


@dataclass(slots=True, kw_only=True)
class SecretSource:
    """Authorities shared through a Secret; the leaf is ours alone and never leaves memory."""

    client: KubeClient
    secret: ObjectKey
    names: Sequence[str]
    """DNS names or IP addresses that the leaf is for."""
    context: ssl.SSLContext
    expires: float = 0.0
    _signed_by: bytes = b""
    _held: rotation.Authorities | None = field(default=None)

    @property
    def trusted(self) -> bytes:
        """The bundle as of the last refresh; empty before."""
        return self._held.trusted if self._held is not None else b""

    async def refresh(self, now: float) -> bool:
        """Read the Secret afresh (create it, advance it), and renew the leaf where due; whether it was renewed.

        Raises:
            CertificateError: the Secret is broken or keeps changing under us.
            KubeError: the API server could not be asked.
        """
        self._held = await self._current(now)
        signer = self._held.current
        if self._signed_by == signer.certificate and now < self.expires - RENEW_BEFORE_SECONDS:
            return False
        leaf = new_leaf(signer, self.names, now)
        load_in_memory(self.context, leaf)
        self._signed_by, self.expires = signer.certificate, leaf.expires
        return True

    async def _current(self, now: float) -> rotation.Authorities:
        """What the Secret holds after the step that is due; only ever what was read back or accepted."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._step(now)
            except errors.ConflictError:
                continue  # another replica was first: read what it wrote
            except rotation.BrokenSecretError as error:
                raise CertificateError(f"Secret {self.secret}: {error}") from error
        raise CertificateError(f"Secret {self.secret} keeps changing; look for another writer")

    async def _step(self, now: float) -> rotation.Authorities:
        try:
            document = await self.client.get(SECRETS, self.secret)
        except errors.NotFoundError:
            new = rotation.first(now)
            await self.client.create(SECRETS, self.secret.namespace, self._document(new))
            return new
        held = rotation.Authorities.from_data(document.get("data") or {})
        following = rotation.advance(held, now)
        if following is not held:
            await self.client.replace(SECRETS, self.secret, {**document, "data": following.to_data()})
        return following

    def _document(self, content: rotation.Authorities) -> Document:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.secret.name, "namespace": self.secret.namespace},
            "type": "Opaque",
            "data": content.to_data(),
        }


def load_in_memory(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Serve a pair from now on; `ssl` reads files only, so it gets one that exists in memory where the system can."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("leaf")
        try:
            os.write(descriptor, pair.certificate + pair.key)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leaf.pem"
        path.touch(mode=0o600)
        path.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(path)
