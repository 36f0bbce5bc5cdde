"""The keys and ciphers of NTLM ([MS-NLMP] 3.3.2, 3.4); old ones, which the protocol demands."""

from __future__ import annotations

import hmac
from hashlib import md5
from importlib import import_module
from typing import Any


def response_key(password_hash: bytes, user: str, domain: str) -> bytes:
    """NTOWFv2 ([MS-NLMP] 3.3.2)."""
    return hmac_md5(password_hash, (user.upper() + domain).encode("utf-16-le", "surrogatepass"))


def hmac_md5(key: bytes, data: bytes) -> bytes:
    """HMAC_MD5 ([MS-NLMP] 6)."""
    return hmac.digest(key, data, "md5")


def direction_key(session_key: bytes, direction: str, purpose: str) -> bytes:
    """SIGNKEY or SEALKEY of 128 bits ([MS-NLMP] 3.4.5.2, 3.4.5.3)."""
    magic = f"session key to {direction} {purpose} key magic constant\0".encode()
    return md5(session_key + magic, usedforsecurity=False).digest()


class Rc4:
    """A running RC4 cipher ([MS-NLMP] 6)."""

    def __init__(self, key: bytes) -> None:
        # Only those who speak NTLM need the package: it is that of the extra `rpc`.
        algorithm: Any = import_module("cryptography.hazmat.decrepit.ciphers.algorithms").ARC4
        cipher: Any = import_module("cryptography.hazmat.primitives.ciphers").Cipher
        self._cipher = cipher(algorithm(key), mode=None).encryptor()

    def crypt(self, data: bytes) -> bytes:
        """Encrypt or decrypt, which is the same."""
        result: bytes = self._cipher.update(data)
        return result
