"""What a peer did wrong. Its session is closed; no other one is affected."""

from __future__ import annotations


class PeerViolation(Exception):
    """The other side broke the protocol."""


class Malformed(PeerViolation):
    """Bytes that do not fit the structure they should be ([MS-MQQB] 3.1.5.1.3)."""

    def __init__(self, field: str, offset: int, reason: str) -> None:
        super().__init__(field, offset, reason)
        self.field = field
        "The field at fault, with the structures it lies in: `UserHeader.Flags`."
        self.offset = offset
        "Where it begins, counted from the start of the data."
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.field} at offset {self.offset}: {self.reason}"
