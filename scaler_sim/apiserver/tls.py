"""A certificate authority for one run of the embedded server."""

import base64
import datetime as dt
import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LIFE: Final = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA with its key, in memory."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls) -> Self:
        """A new CA."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("embedded-cluster-ca")
        builder = _builder(name, name, key.public_key(), x509.BasicConstraints(ca=True, path_length=0))
        return cls(key, builder.sign(key, hashes.SHA256()))

    def encoded(self) -> str:
        """The certificate in PEM, in base64."""
        return base64.b64encode(self.certificate.public_bytes(Encoding.PEM)).decode()

    def client_context(self) -> ssl.SSLContext:
        """A context that trusts this CA only."""
        return ssl.create_default_context(cadata=self.certificate.public_bytes(Encoding.PEM).decode())

    def server_context(self, host: str) -> ssl.SSLContext:
        """A context that serves a leaf for an address, `localhost` and the names of the `kubernetes` Service."""
        certificate, private = self.leaf(host, "localhost", "kubernetes", "kubernetes.default.svc")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            chain = Path(folder) / "tls.pem"
            chain.touch(mode=0o600)
            chain.write_bytes(private + certificate)
            context.load_cert_chain(chain)
        return context

    def leaf(self, address: str, *names: str) -> tuple[bytes, bytes]:
        """A new certificate for an IP address and DNS names, and its private key, both in PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address(address)), *(x509.DNSName(name) for name in names)]
        )
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        builder = _builder(_name("embedded-apiserver"), self.certificate.subject, key.public_key(), constraints)
        leaf = builder.add_extension(alternatives, critical=False).sign(self.key, hashes.SHA256())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return leaf.public_bytes(Encoding.PEM), private


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, constraints: x509.BasicConstraints
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates live in real time
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + _LIFE)
        .add_extension(constraints, critical=True)
    )
