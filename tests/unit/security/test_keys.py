"""Keys and certificates."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.properties.message import PROVIDERS, EncryptionAlgorithm, PrivacyLevel
from openmsmq.security.keys import (
    CALG_RSA_SIGN,
    DirectoryPublicKey,
    DirectoryPublicKeys,
    PublicKeyBlob,
    SimpleBlob,
    UserCertificate,
    UserCertificates,
)

MODULUS = bytes(range(64))
KEY = PublicKeyBlob(65537, MODULUS)
PREFIX = bytes.fromhex("06020000 00a40000 52534131")
SIMPLE_PREFIX = bytes.fromhex("01020000 10660000 00a40000")
AES = DirectoryPublicKey(0x18, PROVIDERS[PrivacyLevel.AES], KEY.encode())
BASE = DirectoryPublicKey(1, PROVIDERS[PrivacyLevel.BASE], KEY.encode())


def patched(data: bytes, offset: int, replacement: bytes) -> bytes:
    return data[:offset] + replacement + data[offset + len(replacement) :]


def refusal(decode: object, data: bytes) -> tuple[str, int]:
    assert callable(decode)
    with pytest.raises(Malformed) as caught:
        decode(data)
    return caught.value.field, caught.value.offset


def test_a_public_key_is_prefix_bits_exponent_and_modulus() -> None:
    """MQQB-157."""
    data = PREFIX + (512).to_bytes(4, "little") + (65537).to_bytes(4, "little") + MODULUS
    assert KEY.encode() == data
    assert PublicKeyBlob.decode(data) == KEY
    assert KEY.bit_length == 512


@pytest.mark.parametrize(
    ("offset", "replacement", "field"),
    [
        (0, b"\x07", "bType"),
        (1, b"\x03", "bVersion"),
        (2, b"\x01", "wReserved"),
        (4, b"\x01", "aiKeyAlg"),
        (8, b"\x00", "magic"),
        (12, b"\x07\x00\x00\x00", "bitLen"),
        (12, b"\x00\x00\x00\x00", "bitLen"),
    ],
)
def test_a_public_key_with_a_wrong_constant_is_refused(
    offset: int, replacement: bytes, field: str
) -> None:
    """MQQB-157."""
    data = patched(KEY.encode(), offset, replacement)
    assert refusal(PublicKeyBlob.decode, data) == (f"PUBLICKEYBLOB.{field}", offset)


def test_a_modulus_must_have_the_length_announced() -> None:
    """MQQB-157."""
    assert refusal(PublicKeyBlob.decode, KEY.encode()[:-1]) == ("PUBLICKEYBLOB.modulus", 20)
    assert refusal(PublicKeyBlob.decode, KEY.encode() + b"\0") == ("end", 84)
    huge = patched(KEY.encode(), 12, b"\xf8\xff\xff\xff")
    assert refusal(PublicKeyBlob.decode, huge) == ("PUBLICKEYBLOB.modulus", 20)


@pytest.mark.parametrize("size", [64, 128, 256])
def test_a_session_key_is_as_long_as_its_receivers_modulus(size: int) -> None:
    """MQQB-158."""
    blob = SimpleBlob(EncryptionAlgorithm.AES_256, bytes(size))
    assert blob.encode() == SIMPLE_PREFIX + bytes(size)
    assert SimpleBlob.decode(blob.encode()) == blob


@pytest.mark.parametrize(
    ("offset", "field"), [(0, "bType"), (1, "bVersion"), (3, "wReserved"), (8, "aiKeyAlg")]
)
def test_a_session_key_with_a_wrong_constant_is_refused(offset: int, field: str) -> None:
    """MQQB-158."""
    data = patched(SIMPLE_PREFIX, offset, b"\x66")
    found, place = refusal(SimpleBlob.decode, data)
    assert found == f"SIMPLEBLOB.{field}"
    assert place <= offset


def test_the_algorithm_of_a_session_key_is_carried_whatever_it_is() -> None:
    assert SimpleBlob.decode(patched(SIMPLE_PREFIX, 4, b"\xff")).session_key_algorithm == 0x66FF


def test_directory_keys_are_counted_and_measured() -> None:
    """MQQB-159."""
    keys = DirectoryPublicKeys((AES, BASE))
    data = keys.encode()
    assert int.from_bytes(data[:4], "little") == len(data)
    assert data[4:8] == b"\x02\0\0\0"
    assert DirectoryPublicKeys.decode(data) == keys
    assert DirectoryPublicKeys.decode(DirectoryPublicKeys(()).encode()).keys == ()


def test_a_directory_key_is_lengths_provider_and_key() -> None:
    """MQQB-159."""
    data = DirectoryPublicKey(1, "ab", b"key").encode()
    assert data == bytes.fromhex("03000000 06000000 01000000 610062000000") + b"key"


@pytest.mark.parametrize(
    ("offset", "replacement", "field", "place"),
    [
        (0, b"\xff", "ulLen", 0),
        (4, b"\x02", "MQDSPUBLICKEY.ulKeyLen", 0),
        (4, b"\xff\xff\xff\xff", "cNumofKeys", 4),
        (8, b"\xff\xff\xff\xff", "MQDSPUBLICKEY.aBuf", 0),
        (12, b"\x05", "MQDSPUBLICKEY.sProviderName", 20),
        (12, b"\x04", "MQDSPUBLICKEY.ulProviderLen", 12),
        (12, b"\x00", "MQDSPUBLICKEY.ulProviderLen", 12),
        (16, b"\x02", "MQDSPUBLICKEY.ulProviderType", 16),
        (20, b"\x00", "MQDSPUBLICKEY.ulProviderLen", 12),
    ],
)
def test_directory_keys_that_do_not_add_up_are_refused(
    offset: int, replacement: bytes, field: str, place: int
) -> None:
    """MQQB-159."""
    data = DirectoryPublicKeys((DirectoryPublicKey(1, "ab", bytes(32)),)).encode()
    found = refusal(DirectoryPublicKeys.decode, patched(data, offset, replacement))
    assert found == (f"MQDSPUBLICKEYS.{field}", place or found[1])


def test_a_key_is_found_by_its_provider() -> None:
    keys = DirectoryPublicKeys((AES, BASE))
    assert keys.of_provider(PROVIDERS[PrivacyLevel.BASE]) == BASE
    assert keys.of_provider(PROVIDERS[PrivacyLevel.ENHANCED]) is None


def test_conversion_copies_bits_exponent_and_modulus() -> None:
    """MQQB-160."""
    signing = PublicKeyBlob(3, MODULUS, CALG_RSA_SIGN)
    converted = DirectoryPublicKey(1, "", signing.encode()).public_key()
    assert (converted.bit_length, converted.public_exponent) == (512, 3)
    assert converted.modulus == MODULUS
    assert converted.encode().startswith(PREFIX)


def test_a_directory_key_that_is_no_key_is_found_out_on_conversion() -> None:
    """MQQB-160."""
    with pytest.raises(Malformed):
        DirectoryPublicKey(1, "", b"no key").public_key()


def test_the_digest_of_a_certificate_is_its_md5() -> None:
    """MQQB-161, DMPR-109: 16 bytes over the encoded form."""
    entry = UserCertificate.register(b"abc", UUID(int=1))
    assert len(entry.digest) == 16
    assert entry.digest.hex() == "900150983cd24fb0d6963f7d28e17f72"
    assert entry.is_intact
    assert not UserCertificate(bytes(16), UUID(int=1), b"abc").is_intact


def test_certificates_are_counted_and_each_has_its_length() -> None:
    first = UserCertificate.register(b"abc", UUID("01234567-89ab-cdef-0123-456789abcdef"))
    certificates = UserCertificates((first, UserCertificate.register(b"", UUID(int=2))))
    data = certificates.encode()
    assert data[:4] == b"\x02\0\0\0"
    assert data[20:36] == first.identifier.bytes_le
    assert data[36:43] == b"\x03\0\0\0abc"
    assert UserCertificates.decode(data) == certificates


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"\xff\xff\xff\xff", "CertificateCount"),
        (b"\x01\0\0\0" + bytes(32) + b"\x01\0\0\0", "MQUSERSIGNCERT.Certificate"),
        (b"\x01", "CertificateCount"),
    ],
)
def test_certificates_that_do_not_fit_are_refused(data: bytes, field: str) -> None:
    assert refusal(UserCertificates.decode, data)[0] == f"MQUSERSIGNCERTS.{field}"
