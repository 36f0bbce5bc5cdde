"""Signature values: made, and checked with the certificates of senders."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import MD5, SHA1, SHA256, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding
from tests.soap import MANAGER
from tests.unit.security.test_certificates import certificate

from openmsmq.security.certificates import SenderCertificate, read_certificates
from openmsmq.soap.envelope import BadSignature, Signature
from openmsmq.soap.signature import digest_fault, sign
from openmsmq.soap.signature_keys import KnownSenders, XmlSigner, is_made_with

KEY, OTHER = (rsa.generate_private_key(65537, 2048) for _ in range(2))


def known(key: rsa.RSAPrivateKey | dsa.DSAPrivateKey) -> SenderCertificate:
    return read_certificates(certificate(key).public_bytes(Encoding.PEM))[0]


OWNER, STRANGER = known(KEY), known(OTHER)
SIGNED = sign(b"<order/>", b"more", "sha1", MANAGER, XmlSigner(KEY))


def test_what_is_signed_fits_the_attachments_and_the_certificate() -> None:
    """SRMP-303, SRMP-304, SRMP-306 to SRMP-308, MSEC-184: body first, then extension."""
    assert digest_fault(SIGNED, b"<order/>", b"more") is None
    assert [r.uri for r in SIGNED.references] == [f"cid:body@{MANAGER}", f"cid:extension@{MANAGER}"]
    assert is_made_with(OWNER, SIGNED)
    assert not is_made_with(STRANGER, SIGNED)


def test_an_attachment_that_is_not_there_is_not_signed() -> None:
    """SRMP-303, SRMP-304."""
    alone = sign(b"", b"more", "md5", MANAGER, XmlSigner(KEY))
    assert [(r.uri, r.method) for r in alone.references] == [(f"cid:extension@{MANAGER}", "md5")]
    assert digest_fault(alone, None, b"more") is None


@pytest.mark.parametrize(
    "changed",
    [
        replace(SIGNED, value=bytes(256)),
        replace(SIGNED, value=SIGNED.value[:-1]),
        replace(SIGNED, value=b"\xff" * 256),
        replace(SIGNED, value=b"\x01"),
        replace(SIGNED, signed_info=SIGNED.signed_info.replace("><", "> <", 1)),
    ],
    ids=["zeros", "short", "too large a number", "one byte", "a blank in what is signed"],
)
def test_a_signature_that_was_changed_is_not_valid(changed: Signature) -> None:
    """SRMP-316."""
    assert not is_made_with(OWNER, changed)


@pytest.mark.parametrize(
    ("algorithm", "is_valid"), [(SHA1(), True), (SHA256(), True), (SHA512(), True), (MD5(), False)]
)
def test_the_hash_is_the_one_that_was_signed(algorithm: HashAlgorithm, is_valid: bool) -> None:
    """SRMP-316: SHA-1, SHA-256 or SHA-512; MD5 is no longer worth anything here."""
    value = KEY.sign(SIGNED.signed_info.encode(), PKCS1v15(), algorithm)
    assert is_made_with(OWNER, replace(SIGNED, value=value)) is is_valid


def test_both_orders_of_octets_are_valid() -> None:
    """SRMP-307: CryptoAPI writes the least significant octet first (HTTP-53)."""
    assert is_made_with(OWNER, replace(SIGNED, value=SIGNED.value[::-1]))


def test_a_dsa_key_signs_with_two_numbers() -> None:
    """SRMP-302, SRMP-316: the kind of key decides (HTTP-26)."""
    key = dsa.generate_private_key(1024)
    r, s = decode_dss_signature(key.sign(SIGNED.signed_info.encode(), SHA1()))
    for order in ("big", "little"):
        value = r.to_bytes(20, order) + s.to_bytes(20, order)
        assert is_made_with(known(key), replace(SIGNED, value=value))
    assert not is_made_with(known(key), replace(SIGNED, value=value[:-1]))
    assert not is_made_with(known(key), replace(SIGNED, value=bytes(40)))


def test_the_certificate_of_the_claimed_source_is_the_one_that_counts() -> None:
    """SRMP-316: another one, even if TLS has proven it, does not sign for that source."""
    senders = KnownSenders({MANAGER: (STRANGER, OWNER)})
    assert senders.check(SIGNED, MANAGER, b"") == OWNER
    only = KnownSenders({MANAGER: (STRANGER,)})
    found = only.check(SIGNED, MANAGER, OWNER.der)
    assert isinstance(found, BadSignature)
    assert "certificate of the sender" in found.reason


def test_a_certificate_shown_in_tls_counts_for_an_unknown_source() -> None:
    """SRMP-316."""
    senders = KnownSenders({})
    assert senders.check(SIGNED, MANAGER, OWNER.der) == OWNER
    assert isinstance(senders.check(SIGNED, MANAGER, STRANGER.der), BadSignature)
    assert isinstance(senders.check(SIGNED, None, STRANGER.der), BadSignature)


def test_a_signature_of_an_unknown_sender_proves_nothing() -> None:
    """SRMP-316: it is no fault either (HTTP-54)."""
    assert KnownSenders({}).check(SIGNED, MANAGER, b"") is None
    assert KnownSenders({}).check(SIGNED, MANAGER, b"no certificate") is None
