"""Bodies of messages under a session key ([MS-MQMQ] 2.2.19.3, [MS-MQQB] 3.1.7.1.5).

All ciphers begin anew with each message, those with blocks from an IV of zeros, and none protects
a body against changes: that is what a signature is for.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
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


def key_size(level: PrivacyLevel, algorithm: EncryptionAlgorithm) -> int:
    """Bytes of a session key at a level ([MS-MQQB] 3.1.7.1.5)."""
    return BASE_KEY_SIZE if level is PrivacyLevel.BASE else KEY_SIZES[algorithm]


def encrypt_body(
    algorithm: EncryptionAlgorithm, key: bytes, body: bytes, *, effective: int = EFFECTIVE_BITS
) -> bytes:
    """A body under a session key: padded as PKCS#5 says, CBC, IV of zeros ([MS-MQQB] 3.1.7.1.5).

    RC4 adds nothing. Keys of 40 bits are filled up with zeros to 128 (AMB-47); `effective` is for
    RC2.
    """
    block = _BLOCKS.get(algorithm)
    if block is None:
        return _rc4(key, body)
    count = block - len(body) % block
    padded = body + bytes((count,)) * count
    if algorithm is EncryptionAlgorithm.RC2:
        return _rc2(key, effective).encrypt(padded)  # type: ignore[no-any-return]
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    machine = Cipher(algorithms.AES(key), modes.CBC(bytes(block))).encryptor()
    return machine.update(padded) + machine.finalize()


def decrypt_body(
    algorithm: EncryptionAlgorithm, key: bytes, data: bytes, *, effective: int = EFFECTIVE_BITS
) -> bytes | None:
    """The reverse; None if length or padding are not those of an encrypted body.

    All bytes of the padding are compared, in a time that does not depend on them.
    """
    block = _BLOCKS.get(algorithm)
    if block is None:
        return _rc4(key, data)
    if not data or len(data) % block:
        return None
    if algorithm is EncryptionAlgorithm.RC2:
        padded: bytes = _rc2(key, effective).decrypt(data)
    else:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        machine = Cipher(algorithms.AES(key), modes.CBC(bytes(block))).decryptor()
        padded = machine.update(data) + machine.finalize()
    count = padded[-1]
    is_possible = 1 <= count <= block
    count = count if is_possible else 1
    is_right = hmac.compare_digest(padded[-count:], bytes((count,)) * count)
    return padded[:-count] if is_right and is_possible else None


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
