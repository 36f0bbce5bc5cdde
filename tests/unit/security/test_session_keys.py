"""Session keys, wrapped and unwrapped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.signers import exchange_key

from openmsmq.errors import CorruptedSecurityData
from openmsmq.properties.message import EncryptionAlgorithm, PrivacyLevel
from openmsmq.security.rsa import RsaPublicKey
from openmsmq.security.session_keys import fill_size, wrap

AES = EncryptionAlgorithm.AES_256
KEY = bytes(range(32))


def wrapped(key: bytes = KEY, algorithm: EncryptionAlgorithm = AES) -> bytes:
    public = exchange_key().public
    return wrap(public, algorithm, key, b"\7" * fill_size(public, key))


def test_a_key_comes_back() -> None:
    "MSEC-107, MSEC-108, MSEC-109"
    blob = wrapped()
    assert len(blob) == 12 + 256
    assert exchange_key().unwrap(AES, blob) == (KEY, True)


def test_a_blob_for_another_algorithm_or_of_another_length_is_none() -> None:
    "MSEC-127, MSEC-128"
    own = exchange_key()
    assert own.unwrap(EncryptionAlgorithm.AES_128, wrapped()) is None
    assert own.unwrap(AES, wrapped()[:-1]) is None
    assert own.unwrap(AES, wrapped() + b"\0") is None
    assert own.unwrap(AES, b"") is None
    assert own.unwrap(AES, b"\2" + wrapped()[1:]) is None


def test_what_cannot_be_unwrapped_gives_a_key_that_no_one_knows() -> None:
    "MSEC-129: the sender does not learn that the padding was wrong."
    own, blob = exchange_key(), wrapped()
    changed = blob[:20] + bytes((blob[20] ^ 1,)) + blob[21:]
    found = own.unwrap(AES, changed)
    assert found is not None
    assert len(found.key) == 32
    assert found.key != KEY
    assert own.unwrap(AES, changed) == found, "the same again: no oracle by repetition"


def test_a_key_of_a_wrong_length_is_replaced() -> None:
    "MSEC-129"
    found = exchange_key().unwrap(AES, wrapped(bytes(16)))
    assert found is not None
    assert (len(found.key), found.is_plausible) == (32, False)


def test_keys_of_40_bits_are_taken_for_rc4_only() -> None:
    "MSEC-103"
    own = exchange_key(level=PrivacyLevel.ENHANCED)
    rc4 = EncryptionAlgorithm.RC4
    assert own.unwrap(rc4, wrapped(bytes(5), rc4)) == (bytes(5), True)
    found = own.unwrap(AES, wrapped(bytes(5)))
    assert found is not None
    assert not found.is_plausible


def test_a_public_key_that_is_too_short_or_none_is_refused() -> None:
    with pytest.raises(CorruptedSecurityData):
        wrap(RsaPublicKey((1 << 256) - 1, 65537), AES, KEY, b"")
    even = RsaPublicKey(1 << 1023, 65537)
    with pytest.raises(CorruptedSecurityData, match="cannot be used"):
        wrap(even, AES, KEY, b"\1" * fill_size(even, KEY))
    with pytest.raises(CorruptedSecurityData):
        wrap(exchange_key().public, AES, KEY, bytes(fill_size(exchange_key().public, KEY)))


def test_a_key_does_not_show_itself() -> None:
    "MSEC-201"
    shown = repr(exchange_key())
    assert str(exchange_key().exponent)[:20] not in shown
    assert hex(exchange_key().exponent)[2:22] not in shown


def test_a_key_without_its_library_unwraps_the_same() -> None:
    own = exchange_key()
    assert own.unwrap(AES, wrapped()) == (KEY, True)
    other = replace(own, private=None)
    assert other.unwrap(AES, wrapped()) == (KEY, True)
    too_large = wrapped()[:12] + b"\xff" * 256
    for key in (own, other):
        found = key.unwrap(AES, too_large)
        assert found is not None
        assert not found.is_plausible
