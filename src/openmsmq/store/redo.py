"""What a transaction changes, as bytes from which it can be done again."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.store.limits import LOGGED_MAX

_HEAD: Final = struct.Struct("<BHI")
_REMOVED: Final = 0xFFFFFFFF
"In place of the size of a value: the row is removed."


class Redo:
    """The rows that a transaction writes and removes, in their order, unless they are many."""

    __slots__ = ("_parts", "room")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.room = LOGGED_MAX
        "Bytes that may still come; below 0 it is too much, and not all is here."

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        """A row was written."""
        self.room -= _HEAD.size + len(key) + len(value)
        if self.room >= 0:
            self._parts += (_HEAD.pack(table, len(key), len(value)), key, value)

    def put_all(self, table: Table, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Rows were written."""
        for key, value in rows:
            self.put(table, key, value)
            if self.room < 0:
                return

    def delete(self, table: Table, key: bytes) -> None:
        """A row was removed, or was not there."""
        self.room -= _HEAD.size + len(key)
        if self.room >= 0:
            self._parts += (_HEAD.pack(table, len(key), _REMOVED), key)

    @property
    def is_empty(self) -> bool:
        """Nothing was changed."""
        return self.room == LOGGED_MAX

    @property
    def is_whole(self) -> bool:
        """All of it is here."""
        return self.room >= 0

    def pack(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)


def do_again(packed: bytes, writer: Writer) -> None:
    """Change the same rows in the same way."""
    at = 0
    while at < len(packed):
        table, key_size, size = _HEAD.unpack_from(packed, at)
        value_at = at + _HEAD.size + key_size
        key = packed[at + _HEAD.size : value_at]
        if size == _REMOVED:
            writer.delete(Table(table), key)
            at = value_at
        else:
            at = value_at + size
            writer.put(Table(table), key, packed[value_at:at])
