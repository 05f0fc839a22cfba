"""X.509 of the self-managed certificates: authorities, and leaves that replicas sign for themselves in memory."""

import ipaddress
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFETIME: Final = timedelta(days=730)
LEAF_LIFETIME: Final = timedelta(days=14)
_BACKDATED: Final = timedelta(hours=1)  # clocks of API servers may be behind


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A certificate and its private key, both in PEM."""

    certificate: bytes
    key: bytes

    @property
    def expires(self) -> float:
        """When the certificate ends, in Unix seconds."""
        return _load(self.certificate).not_valid_after_utc.timestamp()

    @property
    def begins(self) -> float:
        """When the certificate was made, in Unix seconds."""
        return (_load(self.certificate).not_valid_before_utc + _BACKDATED).timestamp()


def new_authority(now: float) -> KeyPair:
    """A CA certificate with a name of its own, so that two of them never look alike."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"model-deployment-scaler webhook CA {secrets.token_hex(4)}")
    certificate = (
        _builder(name, name, key.public_key(), now, AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def new_leaf(authority: KeyPair, names: Sequence[str], now: float) -> KeyPair:
    """A server certificate for the names, signed by the authority; ends no later than it."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = _load(authority.certificate)
    signer = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    left = issuer.not_valid_after_utc - datetime.fromtimestamp(now, UTC)
    certificate = (
        _builder(_name(names[0][:64]), issuer.subject, key.public_key(), now, min(LEAF_LIFETIME, left))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return _pair(certificate, key)


def bundle(authorities: Iterable[bytes]) -> bytes:
    """Certificates in one PEM text, each once."""
    return b"".join(dict.fromkeys(authorities))


def is_trusted(chain: bytes, trusted: bytes) -> bool:
    """Whether a certificate of the chain is in the bundle or was signed by one that is."""
    try:
        anchors, served = x509.load_pem_x509_certificates(trusted), x509.load_pem_x509_certificates(chain)
    except ValueError:
        return False
    return any(one in anchors or any(_has_signed(anchor, one) for anchor in anchors) for one in served)


def _has_signed(authority: x509.Certificate, leaf: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except Exception:  # the library raises many kinds; each means no
        return False
    return True


def _load(certificate: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate)


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: float, lifetime: timedelta
) -> x509.CertificateBuilder:
    start = datetime.fromtimestamp(now, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _BACKDATED)
        .not_valid_after(start + lifetime)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
