"""RSA signatures with public keys: PKCS#1 v1.5 (RFC 8017 8.2), whole blocks compared.

Nothing here is secret: a public operation on integers needs no library and no constant time. Where
the package cryptography is installed it does the same in a fifth of the time.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from openmsmq.security.digests import CALG_SHA256, CALG_SHA512, DIGEST_INFO, digest
from openmsmq.security.limits import EXPONENT_BITS_MAX, KEY_BITS_MAX, KEYS_MAX

Verifier = Callable[[bytes, bytes], bool]
"Tells whether a signature is of some data."
_FILL_MIN: Final = 8
"Bytes that fill a block at least."


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
            return _padded(library.signed_info(signature), self.size)
        number = int.from_bytes(signature, "big")
        if number >= self.modulus:
            return b""
        return pow(number, self.exponent, self.modulus).to_bytes(self.size, "big")

    def signed_info(self, signature: bytes) -> bytes:
        """What fills the block that was signed, behind its padding (RFC 8017 9.2).

        Nothing if it cannot be one, or if its padding is not exact.
        """
        return self.opener()(signature)

    def opener(self) -> Callable[[bytes], bytes]:
        """`signed_info` with what it needs of the key set up, for many signatures."""
        return self._signed_info if (library := _library_key(self)) is None else library.signed_info

    def verifier(self, algorithm: int) -> Verifier | None:
        """What checks signatures of one digest (RSASSA-PKCS1-v1_5, RFC 8017 8.2.2).

        It agrees with `opener`, and other threads go on while it computes. None without the package
        cryptography, and for digests that are worth nothing.
        """
        library = _library_key(self)
        return None if library is None else library.verifier(algorithm)

    def _signed_info(self, signature: bytes) -> bytes:
        block = self.recover(signature)
        start, _, info = block[2:].partition(b"\0")
        is_exact = len(start) >= _FILL_MIN and not start.strip(b"\xff")
        return info if is_exact and block.startswith(b"\0\1") else b""


class _LibraryKey:
    """A key as the package cryptography has it."""

    __slots__ = ("_errors", "_open", "_padding", "_size", "_verify")

    def __init__(self, key: RsaPublicKey) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

        found = RSAPublicNumbers(key.exponent, key.modulus).public_key()
        self._open = found.recover_data_from_signature
        self._verify = found.verify
        self._padding = PKCS1v15()
        self._size = key.size
        self._errors = InvalidSignature, ValueError

    def signed_info(self, signature: bytes) -> bytes:
        """What stands behind the padding, which was checked; nothing if it is wrong."""
        if len(signature) != self._size:
            return b""
        try:
            return self._open(signature, self._padding, None)
        except self._errors:
            return b""

    def verifier(self, algorithm: int) -> Verifier | None:
        """What checks signatures; None for other digests than those that are sound."""
        from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
        from cryptography.hazmat.primitives.hashes import SHA256, SHA512

        kind = {CALG_SHA256: SHA256, CALG_SHA512: SHA512}.get(algorithm)
        if kind is None:
            return None
        verify, padding, errors = self._verify, self._padding, self._errors
        hashed = Prehashed(kind())

        def is_right(signature: bytes, data: bytes) -> bool:
            try:
                verify(signature, digest(algorithm, data), padding, hashed)
            except errors:
                return False
            return True

        return is_right


@lru_cache(maxsize=KEYS_MAX)
def _library_key(key: RsaPublicKey) -> _LibraryKey | None:
    """The key in the package cryptography; None without it, or if it takes no such key."""
    try:
        return _LibraryKey(key) if key.is_usable else None
    except (ImportError, ValueError):
        return None


def _padded(info: bytes, size: int) -> bytes:
    """The whole block; its padding was checked, and all of it is in the length."""
    return b"\0\1" + b"\xff" * (size - len(info) - 3) + b"\0" + info if info else b""


def padded(algorithm: int, value: bytes, size: int) -> bytes:
    """The block that a signature of `size` bytes has for a digest (EMSA-PKCS1-v1_5, RFC 8017 9.2).

    Nothing if the key is too short for the digest.
    """
    info = DIGEST_INFO[algorithm] + value
    return b"" if size - len(info) - 3 < _FILL_MIN else _padded(info, size)


def opened(opener: Callable[[bytes], bytes], signature: bytes) -> bytes:
    """What a signature of a message is of: a digest, with what names it before it.

    Its octets are in the order of CryptoAPI, the last first; the other order is accepted, too
    (MSEC-A06). The padding must be exact; nothing if it is not.
    """
    return opener(signature[::-1]) or opener(signature)


def is_digest(info: bytes, algorithm: int, data: bytes) -> bool:
    """Whether what was signed is the digest of `data` (RFC 8017 9.2)."""
    return hmac.compare_digest(info, DIGEST_INFO[algorithm] + digest(algorithm, data))
