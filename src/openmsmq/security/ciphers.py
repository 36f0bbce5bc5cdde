"""Bodies of messages under a session key ([MS-MQMQ] 2.2.19.3, [MS-MQQB] 3.1.7.1.5).

All ciphers begin anew with each message, those with blocks from an IV of zeros, and none protects
a body against changes: that is what a signature is for.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Final

from openmsmq.errors import EncryptionProviderNotSupported
from openmsmq.properties.message import EncryptionAlgorithm, PrivacyLevel

KEY_SIZES: Final[Mapping[EncryptionAlgorithm, int]] = {
    EncryptionAlgorithm.AES_128: 16,
    EncryptionAlgorithm.AES_192: 24,
    EncryptionAlgorithm.AES_256: 32,
    EncryptionAlgorithm.RC2: 16,
    EncryptionAlgorithm.RC4: 16,
}
"Bytes of a session key; one of the base provider has 5 ([MS-MQQB] 3.1.7.1.5)."
BASE_KEY_SIZE: Final = 5
EFFECTIVE_BITS: Final = 128
BASE_BITS: Final = 40
"The effective length of RC2 keys: RC2 with the base provider has 40 bits (MSEC-A12)."
_RC_KEY_SIZE: Final = 16
_BLOCKS: Final[Mapping[EncryptionAlgorithm, int]] = {
    EncryptionAlgorithm.AES_128: 16,
    EncryptionAlgorithm.AES_192: 16,
    EncryptionAlgorithm.AES_256: 16,
    EncryptionAlgorithm.RC2: 8,
}
"Bytes of a block; RC4 has none."
_AES: Final = frozenset(
    {EncryptionAlgorithm.AES_128, EncryptionAlgorithm.AES_192, EncryptionAlgorithm.AES_256}
)
_AES_BLOCK: Final = 16
_ZEROS: Final = bytes(_AES_BLOCK)
_PADDINGS: Final = tuple(bytes((count,)) * count for count in range(_AES_BLOCK + 1))
"By their length (PKCS#5)."


def key_size(level: PrivacyLevel, algorithm: EncryptionAlgorithm) -> int:
    """Bytes of a session key at a level ([MS-MQQB] 3.1.7.1.5)."""
    return BASE_KEY_SIZE if level is PrivacyLevel.BASE else KEY_SIZES[algorithm]


class BodyCipher:
    """Encrypts and decrypts bodies under one session key ([MS-MQQB] 3.1.7.1.5).

    What an algorithm needs of its key is computed once.
    """

    __slots__ = ("_aes", "_algorithm", "_block", "_effective", "_key")

    def __init__(
        self, algorithm: EncryptionAlgorithm, key: bytes, effective: int = EFFECTIVE_BITS
    ) -> None:
        """`effective` is for RC2; keys of 40 bits are filled up with zeros to 128 (AMB-47)."""
        self._algorithm = algorithm
        self._key = key
        self._effective = effective
        self._block = _BLOCKS.get(algorithm, 0)
        self._aes = _Aes(key) if algorithm in _AES else None

    def encrypt(self, body: bytes) -> bytes:
        """A body: padded as PKCS#5 says, CBC, IV of zeros. RC4 adds nothing."""
        block = self._block
        if not block:
            return _rc4(self._key, body)
        fill = _PADDINGS[block - len(body) % block]
        if self._aes is not None:
            return self._aes.encrypt(body, fill)
        return _rc2(self._key, self._effective).encrypt(body + fill)  # type: ignore[no-any-return]

    def decrypt(self, data: bytes) -> bytes | None:
        """The reverse; None if length or padding are not those of an encrypted body.

        All bytes of the padding are compared, in a time that does not depend on them.
        """
        block = self._block
        if not block:
            return _rc4(self._key, data)
        if not data or len(data) % block:
            return None
        if self._aes is not None:
            padded = self._aes.decrypt(data)
        else:
            padded = _rc2(self._key, self._effective).decrypt(data)
        count = padded[-1]
        is_possible = 1 <= count <= block
        count = count if is_possible else 1
        is_right = hmac.compare_digest(padded[-count:], _PADDINGS[count])
        return padded[:-count] if is_right and is_possible else None


class _Aes:
    """AES in CBC mode, again and again from an IV of zeros: the key is set up once.

    A machine of the library goes on from the last block. What it adds of that is taken out of
    the next first block, or a block of zeros is put before it, which stands for the IV.
    """

    __slots__ = ("_cipher", "_decrypt", "_encrypt", "_last")

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES(key), modes.CBC(_ZEROS))
        self._encrypt: Callable[[bytes], bytes] | None = None
        self._decrypt: Callable[[bytes], bytes] | None = None
        self._last = 0

    def encrypt(self, body: bytes, fill: bytes) -> bytes:
        """A body with what fills its last block, encrypted."""
        if self._encrypt is None:
            self._encrypt = self._cipher.encryptor().update
        if len(body) < _AES_BLOCK:
            body, fill = body + fill, b""
        first = int.from_bytes(body[:_AES_BLOCK], "big") ^ self._last
        data = b"".join((first.to_bytes(_AES_BLOCK, "big"), body[_AES_BLOCK:], fill))
        found = self._encrypt(data)
        self._last = int.from_bytes(found[-_AES_BLOCK:], "big")
        return found

    def decrypt(self, data: bytes) -> bytes:
        """Whole blocks, decrypted."""
        if self._decrypt is None:
            self._decrypt = self._cipher.decryptor().update
        return self._decrypt(_ZEROS + data)[_AES_BLOCK:]


def _rc4(key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
    from cryptography.hazmat.primitives.ciphers import Cipher

    machine = Cipher(ARC4(_filled(key)), mode=None).encryptor()
    return machine.update(data) + machine.finalize()


def _rc2(key: bytes, effective: int):  # type: ignore[no-untyped-def]  # of a package without types
    try:
        from Crypto.Cipher import ARC2
    except ImportError:
        raise EncryptionProviderNotSupported("RC2 needs pip install openmsmq[legacy]") from None
    return ARC2.new(_filled(key), ARC2.MODE_CBC, bytes(8), effective_keylen=effective)  # noqa: S304


def _filled(key: bytes) -> bytes:
    """A key of 40 bits with its salt of zeros (AMB-47)."""
    return key.ljust(_RC_KEY_SIZE, b"\0")
