"""How prepared transactions ended, so that commit and abort are idempotent."""

from __future__ import annotations

import json
from struct import Struct

from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.engine.transactions.limits import DECISIONS_MAX

_number = Struct(">Q")


class Decisions:
    """The outcomes of transactions by name: True if committed, False if aborted."""

    def __init__(self, snapshot: Snapshot, prefix: bytes = b"decision:") -> None:
        """`prefix`: of the keys of its rows."""
        self._prefix = prefix
        self._found: dict[str, bool] = {}
        self._next = 0
        for key, row in snapshot.scan(Table.META, prefix, prefix + b"\xff" * 9):
            (number,) = _number.unpack(key[len(prefix) :])
            self._next = number + 1
            xid, committed = json.loads(row)
            self._found[xid] = committed

    def get(self, xid: str) -> bool | None:
        """How a transaction ended; None if that is not known."""
        return self._found.get(xid)

    def write(self, writer: Writer, xid: str, *, committed: bool) -> None:
        """Write down an outcome, and forget the oldest."""
        self._next += 1
        writer.put(Table.META, self._key(self._next), json.dumps([xid, committed]).encode())
        if self._next > DECISIONS_MAX:
            oldest = self._key(self._next - DECISIONS_MAX)
            old = [key for key, _ in writer.scan(Table.META, self._prefix, oldest)]
            writer.delete_many(Table.META, old)

    def note(self, xid: str, *, committed: bool) -> None:
        """The outcome is on disk."""
        self._found.pop(xid, None)
        self._found[xid] = committed
        if len(self._found) > DECISIONS_MAX:
            del self._found[next(iter(self._found))]

    def _key(self, number: int) -> bytes:
        return self._prefix + _number.pack(number)
