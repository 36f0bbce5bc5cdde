"""The stub of a call that comes in fragments ([MS-RPCE] 3.3.3.5.2, 3.3.3.5.4)."""

from __future__ import annotations


class TooLarge(Exception):
    """The fragments of a call are more than may be."""


class Assembly:
    """Fragments of one call, joined in the order they come."""

    def __init__(self, call_id: int, context_id: int, opnum: int, size_max: int) -> None:
        self.call_id = call_id
        self.context_id = context_id
        self.opnum = opnum
        self.size = 0
        self._size_max = size_max
        self._parts: list[bytes] = []

    def add(self, stub: bytes) -> None:
        """Take the stub data of the next fragment; `TooLarge`. No alloc_hint is believed."""
        self.size += len(stub)
        if self.size > self._size_max:
            raise TooLarge
        self._parts.append(stub)

    def stub(self) -> bytes:
        """The whole stub."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
