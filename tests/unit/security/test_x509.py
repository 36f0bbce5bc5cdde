"""Certificates: their key, their dates, and nothing that is not one."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.vectors.test_security import KEYS

from openmsmq.errors import InvalidCertificate
from openmsmq.security.x509 import decode_certificate, elements

DER = bytes.fromhex(KEYS["certificates"][0]["der"])


def made(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
    *attributes: x509.NameAttribute[str],
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    end: datetime = datetime(2060, 1, 1, tzinfo=UTC),
) -> bytes:
    """Another implementation's certificate."""
    name = x509.Name(attributes)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7, start, end)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def test_another_implementation_is_understood() -> None:
    key = rsa.generate_private_key(65537, 2048)
    attributes = (
        x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Shop"),
        x509.NameAttribute(x509.NameOID.COMMON_NAME, "Jörg"),
    )
    found = decode_certificate(made(key, *attributes))
    numbers = key.public_key().public_numbers()
    assert found.key is not None
    assert (found.key.modulus, found.key.exponent) == (numbers.n, numbers.e)
    assert found.subject == "Jörg"
    assert found.not_after == 2840140800
    day = 86_400
    assert found.is_valid_at(found.not_before - day)
    assert not found.is_valid_at(found.not_before - day - 1)
    assert found.is_valid_at(found.not_after + day)
    assert not found.is_valid_at(found.not_after + day + 1)


def test_dates_of_the_last_century_and_no_name() -> None:
    key = rsa.generate_private_key(65537, 1024)
    found = decode_certificate(
        made(key, start=datetime(1970, 1, 1, tzinfo=UTC), end=datetime(1999, 1, 1, tzinfo=UTC))
    )
    assert (found.not_before, found.not_after, found.subject) == (0, 915148800, "")


def test_a_key_that_is_not_rsa() -> None:
    assert decode_certificate(made(ec.generate_private_key(ec.SECP256R1()))).key is None


@pytest.mark.parametrize(
    "der",
    [b"", b"\x30", DER[:-1], DER + b"\0", b"\x31" + DER[1:], b"\x30\x80" + DER[4:], bytes(70_000)],
)
def test_what_is_no_certificate(der: bytes) -> None:
    "MSEC-057"
    with pytest.raises(InvalidCertificate):
        decode_certificate(der)


def test_every_cut_and_every_changed_byte_is_a_certificate_or_the_error() -> None:
    for at in range(len(DER)):
        for data in (DER[:at], DER[:at] + bytes([DER[at] ^ 0xFF]) + DER[at + 1 :]):
            with contextlib.suppress(InvalidCertificate):
                decode_certificate(data)


@pytest.mark.parametrize(
    "data",
    [b"\x30\x81\x05", b"\x30\x81\x7f" + bytes(127), b"\x30\x82\x00\x80", b"\x1f\x00", b"\x02"],
)
def test_lengths_have_one_form(data: bytes) -> None:
    with pytest.raises(ValueError, match="byte"):
        list(elements(data))


def element(tag: int, content: bytes) -> bytes:
    """A value in DER, its length in the shortest form."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    raw = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(raw))) + raw + content


def with_fields(der: bytes, kept: slice) -> bytes:
    """A certificate with some of its fields."""
    (whole,) = elements(der)
    first, *rest = elements(whole.value)
    fields = list(elements(first.value))[kept]
    tbs = element(first.tag, b"".join(element(one.tag, one.value) for one in fields))
    return element(whole.tag, tbs + b"".join(element(one.tag, one.value) for one in rest))


def test_version_1_has_no_field_for_its_version() -> None:
    assert with_fields(DER, slice(None)) == DER
    old = decode_certificate(with_fields(DER, slice(1, 7)))
    new = decode_certificate(DER)
    assert (old.key, old.subject, old.not_after) == (new.key, new.subject, new.not_after)


def test_a_certificate_that_ends_before_its_key_is_none() -> None:
    with pytest.raises(InvalidCertificate, match="ends before its key"):
        decode_certificate(with_fields(DER, slice(0, 6)))


def test_two_digits_of_a_year_are_of_1950_to_2049() -> None:
    key = rsa.generate_private_key(65537, 1024)
    der = made(key, start=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2049, 1, 1, tzinfo=UTC))
    assert decode_certificate(der).not_after == datetime(2049, 1, 1, tzinfo=UTC).timestamp()
    older = decode_certificate(der.replace(b"260101000000Z", b"500101000000Z"))
    assert older.not_before == datetime(1950, 1, 1, tzinfo=UTC).timestamp()
