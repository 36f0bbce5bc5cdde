"""Certificates and keys in PEM and DER."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from openmsmq.limits import SENDER_CERTIFICATE_SIZE_MAX
from openmsmq.security.certificates import SenderCertificate, read_certificates, read_signing_key
from openmsmq.security.limits import PEM_SIZE_MAX

RSA = rsa.generate_private_key(65537, 2048)
AnyKey = rsa.RSAPrivateKey | dsa.DSAPrivateKey | ec.EllipticCurvePrivateKey


def certificate(key: AnyKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "supplier")])
    return (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2040, 1, 1, tzinfo=UTC))
        .sign(key, SHA256())
    )


def pem_of(key: AnyKey | ed25519.Ed25519PrivateKey, password: bytes = b"") -> bytes:
    hidden = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)


def test_all_certificates_of_a_file_are_read() -> None:
    pem = certificate(RSA).public_bytes(Encoding.PEM)
    found = read_certificates(pem + b"\n" + pem)
    assert [one.der for one in found] == [certificate(RSA).public_bytes(Encoding.DER)] * 2
    assert found[0].key.public_numbers() == RSA.public_key().public_numbers()


@pytest.mark.parametrize(
    ("pem", "reason"),
    [
        (b"", "PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "asn1"),
        (b"-" * (PEM_SIZE_MAX + 1), f"at most {PEM_SIZE_MAX} are read"),
    ],
)
def test_a_file_without_certificate_is_refused(pem: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_certificates(pem)


def test_a_certificate_whose_key_signs_no_messages_is_refused() -> None:
    der = certificate(ec.generate_private_key(ec.SECP256R1())).public_bytes(Encoding.DER)
    with pytest.raises(ValueError, match="neither RSA nor DSA"):
        SenderCertificate.from_der(der)
    with pytest.raises(ValueError, match="larger than a packet can hold"):
        SenderCertificate.from_der(bytes(SENDER_CERTIFICATE_SIZE_MAX + 1))


def test_an_rsa_key_is_read() -> None:
    assert read_signing_key(pem_of(RSA)).private_numbers() == RSA.private_numbers()


@pytest.mark.parametrize(
    ("pem", "reason"),
    [
        (pem_of(RSA, b"secret"), "encrypted"),
        (pem_of(ed25519.Ed25519PrivateKey.generate()), "not an RSA key"),
        (b"no key", "PEM"),
    ],
    ids=["with a password", "of another kind", "none"],
)
def test_a_key_that_cannot_sign_is_refused(pem: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_signing_key(pem)


def test_a_key_of_an_unknown_kind_is_refused() -> None:
    der = certificate(RSA).public_bytes(Encoding.DER)
    kind = bytes.fromhex("06092a864886f70d010101")
    assert der.count(kind) == 1
    with pytest.raises(ValueError, match="unknown kind"):
        SenderCertificate.from_der(der.replace(kind, kind[:-1] + b"\x7f"))
