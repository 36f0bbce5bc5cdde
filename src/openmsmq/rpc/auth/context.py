"""What the runtime needs of an authentication protocol ([MS-RPCE] 3.3.1.5.2)."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol


class AuthType(IntEnum):
    """auth_type of a verifier ([MS-RPCE] 2.2.1.1.7)."""

    SPNEGO = 0x09
    NTLM = 0x0A
    KERBEROS = 0x10


class AuthLevel(IntEnum):
    """auth_level of a verifier ([MS-RPCE] 2.2.1.1.8)."""

    NONE = 1
    CONNECT = 2
    CALL = 3
    PACKET = 4
    INTEGRITY = 5
    PRIVACY = 6


class AuthenticationFailed(Exception):
    """A token, a signature or an account was not accepted; the message is for the log only."""


class SecurityContext(Protocol):
    """One side of an authentication, and the protection of PDUs when it is complete."""

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        ...

    @property
    def principal(self) -> str:
        """Who is on the other side, as `DOMAIN\\user`; empty until that is known."""
        ...

    def signature_size(self, level: int) -> int:
        """Bytes of a signature at an authentication level."""
        ...

    def step(self, token: bytes) -> bytes:
        """Take the other side's token; the one to send, or nothing; `AuthenticationFailed`."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        ...

    def verify(self, message: bytes, signature: bytes) -> None:
        """Refuse a message that its signature does not belong to: `AuthenticationFailed`."""
        ...

    def seal(self, message: bytes, start: int, end: int) -> tuple[bytes, bytes]:
        """The message with its part from `start` to `end` encrypted, and its signature."""
        ...

    def unseal(self, message: bytes, start: int, end: int, signature: bytes) -> bytes:
        """The message with its part from `start` to `end` decrypted; `AuthenticationFailed`."""
        ...
