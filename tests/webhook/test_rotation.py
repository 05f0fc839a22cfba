"""Authorities change without a moment in which a served leaf is not trusted."""

from base64 import b64encode
from dataclasses import replace

import pytest
from cryptography import x509

from scaler_webhook import rotation
from scaler_webhook.authority import AUTHORITY_LIFETIME, LEAF_LIFETIME, is_trusted, new_authority, new_leaf
from scaler_webhook.rotation import Authorities, BrokenSecretError, advance, first

NOW = 1_800_000_000.0
END = NOW + AUTHORITY_LIFETIME.total_seconds()
DUE = END - rotation.ROTATE_BEFORE_SECONDS


def test_a_leaf_is_for_its_names_and_signed_by_its_authority() -> None:
    authority = new_authority(NOW)
    leaf = new_leaf(authority, ("webhook.default.svc", "127.0.0.1"), NOW)
    assert is_trusted(leaf.certificate, authority.certificate)
    assert not is_trusted(leaf.certificate, new_authority(NOW).certificate)
    certificate = x509.load_pem_x509_certificate(leaf.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["webhook.default.svc"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert certificate.not_valid_before_utc.timestamp() == NOW - 3600
    assert leaf.expires == NOW + LEAF_LIFETIME.total_seconds()
    assert authority.begins == NOW


def test_a_leaf_never_outlives_its_authority() -> None:
    authority = new_authority(NOW)
    assert new_leaf(authority, ("a",), END - 60).expires == END


def test_a_chain_is_trusted_by_any_of_its_certificates() -> None:
    authority = new_authority(NOW)
    leaf = new_leaf(authority, ("a",), NOW)
    assert is_trusted(leaf.certificate, leaf.certificate)
    assert not is_trusted(leaf.certificate, b"")
    assert not is_trusted(b"junk", authority.certificate)


def test_the_secret_keeps_everything() -> None:
    held = replace(first(NOW), next=new_authority(NOW), previous=new_authority(NOW).certificate)
    assert Authorities.from_data(held.to_data()) == held
    assert Authorities.from_data(first(NOW).to_data()).next is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="emptied"),
        pytest.param({"ca.crt": "!!!", "ca.key": ""}, id="no-base64"),
        pytest.param({"ca.crt": b64encode(b"junk").decode(), "ca.key": ""}, id="no-certificate"),
        pytest.param({"ca.crt": 3, "ca.key": 4}, id="no-text"),
    ],
)
def test_a_broken_secret_says_what_to_do(data: dict[str, object]) -> None:
    with pytest.raises(BrokenSecretError, match="delete it to start anew"):
        Authorities.from_data(data)


@pytest.mark.parametrize("promoted", ["nan", "inf", "-inf", "junk"])
def test_a_moment_that_is_none_is_a_broken_secret_as_no_rotation_would_ever_be_due(promoted: str) -> None:
    data = first(NOW).to_data() | {"promoted": b64encode(promoted.encode()).decode()}
    with pytest.raises(BrokenSecretError, match="delete it to start anew"):
        Authorities.from_data(data)


def test_a_young_authority_stays() -> None:
    held = first(NOW)
    assert advance(held, DUE - 1) is held


def test_the_next_authority_is_trusted_before_it_signs_and_the_last_one_after() -> None:
    held = first(NOW)
    both = advance(held, DUE)
    assert both.current == held.current
    assert both.next is not None
    assert both.trusted == held.current.certificate + both.next.certificate
    assert advance(both, DUE + rotation.OVERLAP_SECONDS - 1) is both
    swapped_at = DUE + rotation.OVERLAP_SECONDS
    swapped = advance(both, swapped_at)
    assert swapped.current == both.next
    assert swapped.trusted == both.next.certificate + held.current.certificate
    last_leaf_ends = swapped_at + LEAF_LIFETIME.total_seconds()
    assert advance(swapped, last_leaf_ends - 1) is swapped
    assert advance(swapped, last_leaf_ends).trusted == both.next.certificate


def test_every_leaf_that_is_served_is_trusted_through_a_whole_rotation() -> None:
    held, moment = first(NOW), NOW
    leaf, signed_at = new_leaf(held.current, ("a",), NOW), NOW
    for _ in range(600):
        moment += LEAF_LIFETIME.total_seconds() / 4
        held = advance(held, moment)
        assert is_trusted(leaf.certificate, held.trusted), "the leaf of a replica that has not renewed yet"
        if moment >= signed_at + LEAF_LIFETIME.total_seconds() / 2:
            leaf, signed_at = new_leaf(held.current, ("a",), moment), moment
        assert leaf.expires > moment
