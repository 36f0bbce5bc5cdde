"""RSA signatures with public keys: PKCS#1 v1.5 (RFC 8017 8.2), whole blocks compared.

Nothing here is secret: a public operation on integers needs no library and no constant time. Where
the package cryptography is installed it does the same in a fifth of the time.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

from openmsmq.security.digests import DIGEST_INFO
from openmsmq.security.limits import EXPONENT_BITS_MAX, KEY_BITS_MAX, KEYS_MAX

T = TypeVar("T")
_PADDED: Final = b"\0\1\xff"
"What every block begins with that was signed."


@dataclass(frozen=True, slots=True)
class RsaPublicKey:
    """The public part of an RSA key."""

    modulus: int
    exponent: int

    @property
    def bits(self) -> int:
        """The length of the modulus."""
        return self.modulus.bit_length()

    @property
    def size(self) -> int:
        """Bytes of a signature or of a wrapped key."""
        return (self.bits + 7) // 8

    @property
    def is_usable(self) -> bool:
        """Whether it is a key at all, of a length that can be afforded."""
        is_odd = bool(self.modulus & self.exponent & 1)
        is_short = self.bits <= KEY_BITS_MAX and self.exponent.bit_length() <= EXPONENT_BITS_MAX
        return is_odd and is_short and self.exponent > 1

    def recover(self, signature: bytes) -> bytes:
        """The block that was signed (RSAVP1, RFC 8017 5.2.2); nothing if it cannot be one."""
        if len(signature) != self.size or not self.is_usable:
            return b""
        library = _library_key(self)
        if library is not None:
            return _recovered(library, signature, self.size)
        number = int.from_bytes(signature, "big")
        if number >= self.modulus:
            return b""
        return pow(number, self.exponent, self.modulus).to_bytes(self.size, "big")


@lru_cache(maxsize=KEYS_MAX)
def _library_key(key: RsaPublicKey) -> Any:
    """The key as the package cryptography has it; None without it, or if it takes no such key."""
    try:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
    except ImportError:
        return None
    try:
        return RSAPublicNumbers(key.exponent, key.modulus).public_key()
    except ValueError:
        return None


def _recovered(key: Any, signature: bytes, size: int) -> bytes:
    """The whole block; its padding was checked, and all of it is in the length."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

    try:
        info: bytes = key.recover_data_from_signature(signature, PKCS1v15(), None)
    except (InvalidSignature, ValueError):
        return b""
    return b"\0\1" + b"\xff" * (size - len(info) - 3) + b"\0" + info


def padded(algorithm: int, value: bytes, size: int) -> bytes:
    """The block that a signature of `size` bytes has for a digest (EMSA-PKCS1-v1_5, RFC 8017 9.2).

    Nothing if the key is too short for the digest.
    """
    info = DIGEST_INFO[algorithm] + value
    fill = size - len(info) - 3
    return b"" if fill < 8 else b"\0\1" + b"\xff" * fill + b"\0" + info


def matching_digest(
    key: RsaPublicKey, signature: bytes, algorithm: int, candidates: Iterable[tuple[T, bytes]]
) -> T | None:
    """Which of some digests a signature is of; None for none of them.

    Its octets are in the order of CryptoAPI, the last first; the other order is accepted, too
    (MSEC-A06). The padding must be exact. Digests that are not needed are not computed.
    """
    block = key.recover(signature[::-1])
    if not block.startswith(_PADDED):
        block = key.recover(signature)
    if not block.startswith(_PADDED):
        return None
    for name, value in candidates:
        expected = padded(algorithm, value, key.size)
        if expected and hmac.compare_digest(block, expected):
            return name
    return None
