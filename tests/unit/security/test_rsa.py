"""RSA signatures: padding to the byte, both orders of octets, keys that can be afforded."""

from __future__ import annotations

import hashlib
import sys

import pytest
from tests.vectors.test_security import KEYS

from openmsmq.security import rsa as module
from openmsmq.security.digests import CALG_MD5, CALG_SHA256, CALG_SHA512, DIGEST_INFO
from openmsmq.security.rsa import RsaPublicKey, is_digest, opened, padded

KEY = next(key for key in KEYS["keys"] if key["name"] == "user-2048")
N, E, D = int(KEY["n"], 16), KEY["e"], int(KEY["d"], 16)
PUBLIC = RsaPublicKey(N, E)
DIGEST = hashlib.sha256(b"text").digest()


def sign(block: bytes) -> bytes:
    """The private operation, in the order of CryptoAPI."""
    return pow(int.from_bytes(block, "big"), D, N).to_bytes(256, "little")


def found(signature: bytes) -> str | None:
    info = opened(PUBLIC.opener(), signature)
    texts = {"other": b"other", "right": b"text"}
    return next((name for name, text in texts.items() if is_digest(info, CALG_SHA256, text)), None)


def test_the_digest_that_was_signed_is_found_in_both_orders() -> None:
    "MSEC-058, MSEC-059"
    signature = sign(padded(CALG_SHA256, DIGEST, 256))
    assert found(signature) == "right"
    assert found(signature[::-1]) == "right"


def is_right(signature: bytes, algorithm: int = CALG_SHA256) -> bool:
    check = PUBLIC.verifier(algorithm)
    assert check is not None
    return check(signature[::-1], b"text")


def test_a_verifier_knows_the_right_signature() -> None:
    "MSEC-058"
    signature = sign(padded(CALG_SHA256, DIGEST, 256))
    assert is_right(signature)
    assert not is_right(signature[::-1]), "in the other order it is not looked at"
    assert not is_right(signature, CALG_SHA512)
    assert PUBLIC.verifier(CALG_MD5) is None, "it is worth nothing"
    assert is_right(sign(padded(CALG_SHA512, hashlib.sha512(b"text").digest(), 256)), CALG_SHA512)


def _variants() -> list[bytes]:
    right = padded(CALG_SHA256, DIGEST, 256)
    info = DIGEST_INFO[CALG_SHA256] + DIGEST
    return [
        b"\0\2" + right[2:],  # another kind of block
        b"\0\1" + b"\xff" * 8 + b"\0" + info + b"\1" * (256 - 11 - len(info)),  # garbage behind
        b"\0\1" + b"\xff" * (253 - len(DIGEST)) + b"\0" + DIGEST,  # no information
        right[:-1] + bytes([right[-1] ^ 1]),
        right[:50] + b"\xfe" + right[51:],
    ]


@pytest.mark.parametrize("block", _variants())
def test_padding_is_compared_whole(block: bytes) -> None:
    "MSEC-058"
    assert len(block) == 256
    assert found(sign(block)) is None
    assert not is_right(sign(block))


@pytest.mark.parametrize("signature", [b"", bytes(255), bytes(257), b"\xff" * 256])
def test_what_cannot_be_a_signature(signature: bytes) -> None:
    assert found(signature) is None
    assert not is_right(signature)
    assert PUBLIC.recover(b"\xff" * 256) == b""


def test_digests_are_compared_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a time that does not depend on where they differ."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    info = DIGEST_INFO[CALG_SHA256] + hashlib.sha256(b"data").digest()
    for other in (b"data", b"other data"):
        assert not is_digest(info, CALG_SHA256, other)
    assert compared[0] == (info, info)
    assert [len(one) for both in compared for one in both] == [len(info)] * 4


def test_a_key_too_short_for_its_digest() -> None:
    "MSEC-044"
    assert padded(CALG_SHA512, bytes(64), 64) == b""
    assert len(padded(CALG_SHA512, bytes(64), 94)) == 94


@pytest.mark.parametrize(
    "key",
    [
        RsaPublicKey(1 << 2047, 65537),
        RsaPublicKey((1 << 8193) + 1, 65537),
        RsaPublicKey(N, (1 << 33) + 1),
        RsaPublicKey(N, 1),
        RsaPublicKey(N, 4),
    ],
)
def test_keys_that_are_none_or_cost_too_much(key: RsaPublicKey) -> None:
    assert not key.is_usable
    assert key.recover(bytes(key.size)) == b""


def test_without_the_library_blocks_are_recovered_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = padded(CALG_SHA256, DIGEST, 256)
    module._library_key.cache_clear()
    assert PUBLIC.recover(sign(block)[::-1]) == block
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.rsa", None)
    module._library_key.cache_clear()
    assert PUBLIC.recover(sign(block)[::-1]) == block
    assert PUBLIC.recover(b"\xff" * 256) == b"", "it is larger than the modulus"
    assert PUBLIC.verifier(CALG_SHA256) is None
    module._library_key.cache_clear()


def test_a_key_that_the_library_refuses_is_used_without_it() -> None:
    small = RsaPublicKey(3233, 65537)  # an exponent larger than the modulus
    assert small.is_usable
    assert small.recover((65).to_bytes(2, "big")) == (2790).to_bytes(2, "big")
