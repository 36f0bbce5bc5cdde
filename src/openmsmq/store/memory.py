"""The store in memory, whose disk can be taken out and whose process can die at any write.

It keeps to the contract more strictly than the one on disk: what is void by it fails here at once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from openmsmq.engine.storage.tables import Keys, Rows, Table

_KEY_SIZE_MAX: Final = 510  # of LMDB, less the byte by which a scan steps on

_Change = tuple[Table, bytes, bytes | None]
"What became of a key; None for removed."
_Changes = list[_Change]


class Crash(BaseException):
    """The process died here; only what was committed before is left."""


@dataclass(frozen=True, slots=True)
class Disk:
    """What a store has committed, to be given to the next one."""

    tables: tuple[dict[bytes, bytes], ...]


class _Rows(dict[bytes, bytes]):
    """The rows of a table, and their keys in rising order."""

    __slots__ = ("order",)

    def __init__(self, rows: Mapping[bytes, bytes]) -> None:
        super().__init__(rows)
        self.order = sorted(rows)


class _Reader:
    """Rows, until they are void."""

    def __init__(self, tables: list[_Rows]) -> None:
        self._tables = tables
        self._age = 0
        "Rises whenever all that was given out becomes void."

    def get(self, table: Table, key: bytes) -> bytes | None:
        """The value of a key; None if there is none."""
        return self._tables[table].get(key)

    def get_many(self, table: Table, keys: Iterable[bytes]) -> list[bytes]:
        """The values of keys that are all there, in their order."""
        rows = self._tables[table]
        wanted = list(keys)
        assert all(key in rows for key in wanted), f"a row of {table.name} is not there"
        return [rows[key] for key in wanted]

    def joined(
        self, table: Table, first: bytes, last: bytes, count: int, skip: int, keep: int
    ) -> bytes:
        """The values of `count` rows that lie side by side, in one piece: see `Snapshot`."""
        rows = self._tables[table]
        at = bisect_left(rows.order, first)
        keys = rows.order[at : at + count]
        assert (keys[0], keys[-1]) == (first, last), "a row is not there"
        values = [rows[key] for key in keys]
        values[-1] = values[-1][:keep]
        values[0] = values[0][skip:]
        return b"".join(values)

    def scan(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in rising order."""
        age, rows = self._age, self._tables[table]
        order = rows.order
        while (at := bisect_left(order, first)) < len(order):
            key = order[at]
            if key >= end:
                return
            yield key, rows[key]
            assert age == self._age, "used after its transaction"
            first = key + b"\0"

    def scan_back(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in falling order."""
        age, rows = self._age, self._tables[table]
        order = rows.order
        while at := bisect_left(order, end):
            key = order[at - 1]
            if key < first:
                return
            yield key, rows[key]
            assert age == self._age, "used after its transaction"
            end = key

    def rows(
        self, table: Table, first: bytes, end: bytes, most: int | None = None
    ) -> list[tuple[bytes, bytes]]:
        """The first rows with first <= key < end."""
        return list(islice(self.scan(table, first, end), most))


class MemorySnapshot(_Reader):
    """The state at the last refresh."""

    def renew(self, changes: _Changes) -> None:
        """Go on with what has changed since."""
        _apply(changes, self._tables)
        self._age += 1


class MemoryWriter(_Reader):
    """The write transaction."""

    def __init__(self, tables: list[_Rows], store: MemoryStore) -> None:
        super().__init__(tables)
        self._store = store
        self.changes: _Changes = []

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        """Write one row, over any that has this key."""
        assert 0 < len(key) <= _KEY_SIZE_MAX, "a key is empty or too long"
        self._change(table, key, value)

    def put_many(
        self, table: Table, rows: Iterable[tuple[bytes, bytes]], *, append: bool = False
    ) -> None:
        """Write rows; with `append`, all their keys rise and lie above those in the table."""
        known = self._tables[table].order
        for key, value in rows:
            assert not append or not known or key > known[-1], (
                f"a row appended to {table.name} does not lie above the others"
            )
            self.put(table, key, value)

    def change(self, append: Rows, put: Rows, delete: Keys) -> None:
        """Write rows of several tables, first those that are appended, then remove others."""
        for table, rows in append.items():
            self.put_many(table, rows, append=True)
        for table, rows in put.items():
            self.put_many(table, rows)
        for table, keys in delete.items():
            self.delete_many(table, keys)

    def delete(self, table: Table, key: bytes) -> bool:
        """Remove one row; False if it was not there."""
        is_there = key in self._tables[table]
        self._change(table, key, None)
        return is_there

    def delete_many(self, table: Table, keys: Iterable[bytes]) -> None:
        """Remove rows; those that are not there are no error."""
        for key in keys:
            self._change(table, key, None)

    def end(self) -> None:
        """Let nothing be written any more."""
        self._age += 1

    def _change(self, table: Table, key: bytes, value: bytes | None) -> None:
        assert not self._age, "used after its transaction"
        self._store.count_write()
        change = table, key, value
        self.changes.append(change)
        _apply((change,), self._tables)


class MemoryStore:
    """A `Store` for tests; `state` is the disk that an earlier one has left."""

    def __init__(self, state: Disk | None = None) -> None:
        tables = state.tables if state else tuple({} for _ in Table)
        self._disk: list[dict[bytes, bytes]] = list(map(dict, tables))
        seen, self._written = (list(map(_Rows, tables)) for _ in range(2))
        self.snapshot = MemorySnapshot(seen)
        "What was last committed and refreshed to."
        self._unseen: _Changes = []
        self._writer: MemoryWriter | None = None
        self._fails_at = -1
        self._fails_after = False
        self.writes = 0
        "Writes so far: each row put or removed, and each commit."
        self.room = True
        "What `has_room` says."
        self.ballast = 0
        "How often `make_room` can help."

    @property
    def committed(self) -> Disk:
        """The disk as it would be found if the process died now."""
        return Disk(tuple(map(dict, self._disk)))

    def fail_at(self, write: int, *, after: bool = False) -> None:
        """Let the write with this number, counted from now and from 1, raise `Crash`.

        If that write is a commit, `after` lets it take effect first. All writes after it fail too.
        """
        assert write > 0, "writes are counted from 1"
        self._fails_at = self.writes + write
        self._fails_after = after

    def count_write(self) -> None:
        """One write more, or the end."""
        if self.writes + 1 == self._fails_at:
            raise Crash
        self.writes += 1

    def begin(self) -> MemoryWriter:
        """Open the write transaction."""
        assert self._writer is None, "there is one write transaction at a time"
        self._writer = MemoryWriter(self._written, self)
        return self._writer

    def commit(self) -> None:
        """Make the transaction last."""
        changes = self._end()
        try:
            self.count_write()
        except Crash:
            if self._fails_after:
                self._keep(changes)
            raise
        self._keep(changes)
        self._unseen += changes

    def _keep(self, changes: _Changes) -> None:
        disk = self._disk
        for table, key, value in changes:
            if value is None:
                disk[table].pop(key, None)
            else:
                disk[table][key] = value

    def abort(self) -> None:
        """Forget the transaction."""
        changes = self._end()
        _apply(
            [(table, key, self._disk[table].get(key)) for table, key, _ in changes], self._written
        )

    def _end(self) -> _Changes:
        writer, self._writer = self._writer, None
        assert writer is not None, "no write transaction is open"
        writer.end()
        return writer.changes

    def refresh(self) -> None:
        """Let `snapshot` show the last commit."""
        self.snapshot.renew(self._unseen)
        self._unseen = []

    def has_room(self) -> bool:
        """Whether there is space left for new messages: what `room` says."""
        return self.room

    def make_room(self) -> bool:
        """Give up room: what `ballast` says."""
        self.ballast -= 1
        return self.ballast >= 0

    def close(self) -> None:
        """Release everything; what was committed stays, an open transaction is forgotten."""
        if self._writer is not None:
            self.abort()


def _apply(changes: Iterable[_Change], tables: list[_Rows]) -> None:
    for table, key, value in changes:
        rows = tables[table]
        if value is not None:
            if key not in rows:
                insort(rows.order, key)
            rows[key] = value
        elif rows.pop(key, None) is not None:
            del rows.order[bisect_left(rows.order, key)]
