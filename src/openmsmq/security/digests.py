"""Digests by their numbers in CryptoAPI, and their form inside RSA signatures."""

from __future__ import annotations

import hashlib
from typing import Final

from openmsmq.errors import UnsupportedOperation
from openmsmq.security.nt_hash import md4

CALG_MD2: Final = 0x8001
CALG_MD4: Final = 0x8002
CALG_MD5: Final = 0x8003
CALG_SHA1: Final = 0x8004
CALG_SHA256: Final = 0x800C
CALG_SHA512: Final = 0x800E
DIGEST_INFO: Final = {
    CALG_MD2: bytes.fromhex("3020300c06082a864886f70d020205000410"),
    CALG_MD4: bytes.fromhex("3020300c06082a864886f70d020405000410"),
    CALG_MD5: bytes.fromhex("3020300c06082a864886f70d020505000410"),
    CALG_SHA1: bytes.fromhex("3021300906052b0e03021a05000414"),
    CALG_SHA256: bytes.fromhex("3031300d060960864801650304020105000420"),
    CALG_SHA512: bytes.fromhex("3051300d060960864801650304020305000440"),
}
"What stands before the digest in EMSA-PKCS1-v1_5 (RFC 8017 9.2, note 1; MD4 by its OID)."
SOUND: Final = frozenset({CALG_SHA256, CALG_SHA512})
"Digests that are worth something today (MSEC-A35)."
_PLAIN: Final = {
    CALG_MD5: hashlib.md5,
    CALG_SHA1: hashlib.sha1,
    CALG_SHA256: hashlib.sha256,
    CALG_SHA512: hashlib.sha512,
}


def digest(algorithm: int, data: bytes) -> bytes:
    """The digest of `data`; MD2 needs the extra `legacy`."""
    if algorithm in _PLAIN:
        return _PLAIN[algorithm](data, usedforsecurity=False).digest()
    if algorithm == CALG_MD4:
        return md4(data)
    return _md2(data)


def _md2(data: bytes) -> bytes:
    """The MD2 digest (RFC 1319)."""
    try:
        from Crypto.Hash import MD2
    except ImportError:
        raise UnsupportedOperation("MD2 needs pip install openmsmq[legacy]") from None
    return bytes(MD2.new(data).digest())  # noqa: S303
