"""Reading and writing rows inside LMDB's transactions. Every call here is on a hot path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

import lmdb

from openmsmq.engine.storage.tables import Keys, Rows, Table
from openmsmq.store.faults import storage_error
from openmsmq.store.redo import Redo

if TYPE_CHECKING:
    Transaction = lmdb.Transaction[bytes]
    Views = lmdb.Transaction[memoryview]
    Tables = tuple[lmdb._Database, ...]

_WALK_FROM: Final = 8
"Keys for which it pays to look whether they lie side by side."
_GATHER_FROM: Final = 4
"Rows for which a cursor pays."
_VIEW_FROM: Final = 8
"Rows for which it pays to put them together where they lie in the file."


class _Reader:
    """What snapshot and writer have in common."""

    __slots__ = ("_tables", "_transaction")

    def __init__(self, transaction: Transaction, tables: Tables) -> None:
        self._transaction = transaction
        self._tables = tables

    def get(self, table: Table, key: bytes) -> bytes | None:
        """The value of a key; None if there is none."""
        try:
            return self._transaction.get(key, None, self._tables[table])
        except lmdb.Error as error:
            raise storage_error(error) from error

    def get_many(self, table: Table, keys: Sequence[bytes]) -> list[bytes]:
        """The values of keys that are all there, in their order."""
        # A plain loop is as fast as the library's own call for many keys, and faster for few.
        transaction, rows = self._transaction, self._tables[table]
        values = []
        try:
            if len(keys) > _WALK_FROM:
                values = self._walk(rows, keys)
            for key in islice(keys, len(values), None):
                value = transaction.get(key, None, rows)
                assert value is not None, f"a row of {table.name} is not there"
                values.append(value)
        except lmdb.Error as error:
            raise storage_error(error) from error
        return values

    def _walk(self, rows: lmdb._Database, keys: Sequence[bytes]) -> list[bytes]:
        """The values of the first of these keys, as long as they lie side by side.

        To step from one row to the next takes half the time of looking for it.
        """
        cursor = self._transaction.cursor(rows)
        values: list[bytes] = []
        if cursor.set_range(keys[0]):
            for wanted, (key, value) in zip(keys, cursor.iternext(), strict=False):
                if key != wanted:
                    break
                values.append(value)
        return values

    def joined(
        self, table: Table, first: bytes, last: bytes, count: int, skip: int, keep: int
    ) -> bytes:
        """The values of `count` rows that lie side by side, in one piece: see `Snapshot`."""
        if count == 1:
            value = self.get(table, first)
            assert value is not None, f"a row of {table.name} is not there"
            return value[skip:keep]
        try:
            return _joined(self._transaction, self._tables[table], first, last, count, skip, keep)
        except lmdb.Error as error:
            raise storage_error(error) from error

    def rows(
        self, table: Table, first: bytes, end: bytes, most: int | None = None
    ) -> list[tuple[bytes, bytes]]:
        """The first rows with first <= key < end at once: faster than `scan`."""
        try:
            cursor = self._transaction.cursor(self._tables[table])
            if not cursor.set_range(first):
                return []
            found = takewhile(lambda row: row[0] < end, cursor.iternext())
            return list(islice(found, most))
        except lmdb.Error as error:
            raise storage_error(error) from error


class LmdbSnapshot(_Reader):
    """The state at the last refresh."""

    __slots__ = ("_environment",)

    def __init__(
        self, transaction: Transaction, tables: Tables, environment: lmdb.Environment
    ) -> None:
        super().__init__(transaction, tables)
        self._environment = environment

    @property
    def transaction(self) -> Transaction:
        """What holds the pages."""
        return self._transaction

    def renew(self, transaction: Transaction) -> None:
        """Go on with a later transaction; what the earlier one gave out is void."""
        self._transaction.abort()
        self._transaction = transaction

    def end(self) -> None:
        """Give the pages back; nothing can be read any more."""
        self._transaction.abort()

    def joined(
        self, table: Table, first: bytes, last: bytes, count: int, skip: int, keep: int
    ) -> bytes:
        """The same, copied once: many rows are put together where they lie in the file."""
        if count < _VIEW_FROM:
            return super().joined(table, first, last, count, skip, keep)
        try:
            views = self._environment.begin(buffers=True)
            try:
                if views.id() == self._transaction.id():
                    return _joined(views, self._tables[table], first, last, count, skip, keep)
            finally:
                views.abort()
        except lmdb.Error as error:
            raise storage_error(error) from error
        return super().joined(table, first, last, count, skip, keep)  # more is committed by now

    def pages(self) -> tuple[int, int]:
        """The size of a page, and how many of them the rows of all tables take."""
        stats = [self._transaction.stat(table) for table in self._tables]
        used = sum(
            stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"] for stat in stats
        )
        return stats[0]["psize"], used

    def scan(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in rising order."""
        try:
            cursor = self._transaction.cursor(self._tables[table])
            if cursor.set_range(first):
                for row in cursor.iternext():
                    if row[0] >= end:
                        return
                    yield row
        except lmdb.Error as error:
            raise storage_error(error) from error

    def scan_back(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in falling order."""
        try:
            cursor = self._transaction.cursor(self._tables[table])
            if cursor.prev() if cursor.set_range(end) else cursor.last():
                for row in cursor.iterprev():
                    if row[0] < first:
                        return
                    yield row
        except lmdb.Error as error:
            raise storage_error(error) from error


class LmdbWriter(_Reader):
    """The write transaction. Its scans look anew at each step, so the table may change meanwhile.

    After an error nothing of it can be committed.
    """

    __slots__ = ("_redo",)

    def __init__(self, transaction: Transaction, tables: Tables, redo: Redo) -> None:
        super().__init__(transaction, tables)
        self._redo = redo

    def scan(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in rising order."""
        try:
            cursor = self._transaction.cursor(self._tables[table])
            while cursor.set_range(first):
                key, value = cursor.item()
                if key >= end:
                    return
                yield key, value
                first = key + b"\0"
        except lmdb.Error as error:
            raise storage_error(error) from error

    def scan_back(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in falling order."""
        try:
            cursor = self._transaction.cursor(self._tables[table])
            while cursor.prev() if cursor.set_range(end) else cursor.last():
                key, value = cursor.item()
                if key < first:
                    return
                yield key, value
                end = key
        except lmdb.Error as error:
            raise storage_error(error) from error

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        """Write one row, over any that has this key."""
        try:
            self._transaction.put(key, value, True, True, False, self._tables[table])
        except lmdb.Error as error:
            raise storage_error(error) from error
        self._redo.put(table, key, value)

    def put_many(
        self, table: Table, rows: Iterable[tuple[bytes, bytes]], *, append: bool = False
    ) -> None:
        """Write rows; with `append`, all their keys rise and lie above those in the table."""
        rows = rows if isinstance(rows, list) else list(rows)
        self._redo.put_all(table, rows)
        try:
            cursor = self._transaction.cursor(self._tables[table])
            given, written = cursor.putmulti(rows, True, True, append)
        except lmdb.Error as error:
            raise storage_error(error) from error
        assert given == written, f"a row appended to {table.name} does not lie above the others"

    def change(self, append: Rows, put: Rows, delete: Keys) -> None:
        """Write rows of several tables, first those that are appended, then remove others."""
        for table, rows in append.items():
            self.put_many(table, rows, append=True)
        for table, rows in put.items():
            if len(rows) < _GATHER_FROM:
                for key, value in rows:
                    self.put(table, key, value)
            else:
                self.put_many(table, rows)
        for table, keys in delete.items():
            self.delete_many(table, keys)

    def delete(self, table: Table, key: bytes) -> bool:
        """Remove one row; False if it was not there."""
        self._redo.delete(table, key)
        try:
            return self._transaction.delete(key, b"", self._tables[table])
        except lmdb.Error as error:
            raise storage_error(error) from error

    def delete_many(self, table: Table, keys: Iterable[bytes]) -> None:
        """Remove rows; those that are not there are no error."""
        delete, rows, redo = self._transaction.delete, self._tables[table], self._redo
        try:
            for key in keys:
                redo.delete(table, key)
                delete(key, b"", rows)
        except lmdb.Error as error:
            raise storage_error(error) from error


def _joined(
    transaction: Transaction | Views,
    rows: lmdb._Database,
    first: bytes,
    last: bytes,
    count: int,
    skip: int,
    keep: int,
) -> bytes:
    cursor = transaction.cursor(rows)
    assert cursor.set_key(first), "a row is not there"
    values: list[bytes | memoryview] = list(islice(cursor.iternext(keys=False), count))
    assert bytes(cursor.key()) == last, "a row is not there"
    values[-1] = values[-1][:keep]
    values[0] = values[0][skip:]
    return b"".join(values)
