"""Session keys in SIMPLEBLOBs: wrapped for a receiver, and unwrapped by it ([MS-MQQB] 2.4.2)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from openmsmq.errors import CorruptedSecurityData, Malformed
from openmsmq.properties.message import ALGORITHMS, EncryptionAlgorithm, PrivacyLevel
from openmsmq.security.ciphers import BASE_KEY_SIZE, KEY_SIZES
from openmsmq.security.keys import PublicKeyBlob, SimpleBlob
from openmsmq.security.rsa import RsaPublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

LIBRARY_BITS_MIN: Final = 1024
"Keys that are shorter are computed with plain integers: they protect nothing anyhow."
_FILL_MIN: Final = 8
"Bytes of the padding of a wrapped key that are random, at least (RFC 8017 7.2.1)."


def public_key_of(blob: PublicKeyBlob) -> RsaPublicKey:
    """The key in a PUBLICKEYBLOB, whose modulus begins with its last byte ([MS-MQQB] 2.4.1)."""
    return RsaPublicKey(int.from_bytes(blob.modulus, "little"), blob.public_exponent)


def blob_of(key: RsaPublicKey, algorithm: int) -> PublicKeyBlob:
    """The reverse of `public_key_of`."""
    return PublicKeyBlob(key.exponent, key.modulus.to_bytes(key.size, "little"), algorithm)


def fill_size(key: RsaPublicKey, session_key: bytes) -> int:
    """How many random bytes `wrap` needs, none of them zero."""
    return key.size - len(session_key) - 3


def wrap(
    key: RsaPublicKey, algorithm: EncryptionAlgorithm, session_key: bytes, fill: bytes
) -> bytes:
    """A SIMPLEBLOB: the session key under RSAES-PKCS1-v1_5, octets reversed ([MS-MQQB] 2.4.2).

    `fill` are random bytes of `fill_size`, none of them zero; the key is not reversed (MSEC-A13).
    """
    if len(fill) < _FILL_MIN or len(fill) != fill_size(key, session_key) or 0 in fill:
        raise CorruptedSecurityData(f"a key of {key.bits} bits cannot hold this session key")
    if not key.is_usable:
        raise CorruptedSecurityData(f"an RSA key of {key.bits} bits cannot be used")
    block = int.from_bytes(b"\0\2" + fill + b"\0" + session_key, "big")
    value = pow(block, key.exponent, key.modulus).to_bytes(key.size, "big")
    return SimpleBlob(algorithm, value[::-1]).encode()


class Unwrapped(NamedTuple):
    """A session key, perhaps one that no one has made."""

    key: bytes
    is_plausible: bool
    "It has the right length; the others are tried last, and fail."


@dataclass(frozen=True, slots=True, repr=False)
class ExchangeKey:
    """A private key of this manager, with which others wrap keys ([MS-MQDMPR] 3.1.3)."""

    level: PrivacyLevel
    "Which provider it is of."
    private: RSAPrivateKey | None
    "None for a key that is too short for the library."
    public: RsaPublicKey
    exponent: int
    "The private one."
    _secret: bytes = field(init=False, compare=False)
    "For session keys that cannot be unwrapped."

    def __post_init__(self) -> None:
        secret = hashlib.sha256(self.exponent.to_bytes(self.public.size, "big")).digest()
        object.__setattr__(self, "_secret", secret)

    def __repr__(self) -> str:
        return f"ExchangeKey({self.level.name}, {self.public.bits} bits)"

    def unwrap(self, algorithm: EncryptionAlgorithm, blob: bytes) -> Unwrapped | None:
        """The session key in a SIMPLEBLOB; None if the blob is not for this key and algorithm.

        A key that cannot be unwrapped, or has a length that none can have, is replaced by bytes
        that no one can foresee: decryption fails later, as it does for a wrong body, so that a
        sender learns nothing of the padding (MSEC-A34).
        """
        try:
            found = SimpleBlob.decode(blob)
        except Malformed:
            return None
        if found.session_key_algorithm != algorithm or len(found.encrypted_key) != self.public.size:
            return None
        size = KEY_SIZES[algorithm]
        key = self._decrypt(found.encrypted_key[::-1])
        sizes = (size, BASE_KEY_SIZE) if algorithm in ALGORITHMS[PrivacyLevel.BASE] else (size,)
        if len(key) in sizes:
            return Unwrapped(key, is_plausible=True)
        return Unwrapped(hmac.digest(self._secret, blob, "sha256")[:size], is_plausible=False)

    def _decrypt(self, octets: bytes) -> bytes:
        """RSADP and EME-PKCS1-v1_5 (RFC 8017 7.2.2); nothing if the padding is wrong."""
        if self.private is None:
            number = int.from_bytes(octets, "big")
            if number >= self.public.modulus:
                return b""
            block = pow(number, self.exponent, self.public.modulus).to_bytes(len(octets), "big")
            fill, _, key = block[2:].partition(b"\0")
            return key if block[:2] == b"\0\2" and len(fill) >= _FILL_MIN else b""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

        try:
            return self.private.decrypt(octets, PKCS1v15())
        except ValueError:
            return b""
