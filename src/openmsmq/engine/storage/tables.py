"""What the rules need of a store: ordered tables, one writer, commits that last.

The rules never touch a disk themselves: they read a snapshot of what was last committed and write
through a transaction that its caller begins and commits, so that one sync serves many callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Protocol


class Table(IntEnum):
    """The tables of a store; keys sort as bytes."""

    META = 0
    "Few rows about the store itself: format, identity, counters."
    QUEUES = 1
    "Queue number -> its properties and counters."
    INDEX = 2
    "(queue, lookup identifier) -> record of a message; sorts as the queue does."
    PACKETS = 3
    "(packet number, chunk) -> bytes; only ever appended to."
    TRANSACTIONS = 4
    "What open and prepared transactions have done so far."
    EXPIRY = 5
    "(time, queue, lookup identifier) -> nothing; for the messages that do not live for ever."
    HISTORY = 6
    "Number of a page -> what happened to messages, in order; the oldest pages are dropped."
    TRANSFER = 7
    "What makes delivery exactly-once: sequences, what has come lately, what was sent with an id."
    DELAYED = 8
    "(time, queue, lookup identifier) -> nothing; for the messages that cannot be read yet."
    RUNS = 9
    "(queue, lookup identifier of the first) -> messages stored together, see `runs`."
    AUDIT = 10
    "Number -> an entry of the audit log; the oldest are dropped."


Rows = Mapping[Table, Sequence[tuple[bytes, bytes]]]
"Keys and values, by table."
Keys = Mapping[Table, Sequence[bytes]]


class Snapshot(Protocol):
    """The state at the last commit. Nothing it gave out may be kept beyond `Store.refresh`."""

    def get(self, table: Table, key: bytes) -> bytes | None:
        """The value of a key; None if there is none."""
        ...

    def get_many(self, table: Table, keys: Sequence[bytes]) -> list[bytes]:
        """The values of keys that are all there, in their order."""
        ...

    def joined(
        self, table: Table, first: bytes, last: bytes, count: int, skip: int, keep: int
    ) -> bytes:
        """The values of `count` rows that lie side by side, in one piece; they are all there.

        Of the last one `keep` bytes are wanted, and none of the first `skip` bytes of the first.
        """
        ...

    def rows(
        self, table: Table, first: bytes, end: bytes, most: int | None = None
    ) -> list[tuple[bytes, bytes]]:
        """The first rows with first <= key < end at once: faster than `scan`."""
        ...

    def scan(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in rising order."""
        ...

    def scan_back(self, table: Table, first: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows with first <= key < end, in falling order."""
        ...


class Writer(Snapshot, Protocol):
    """The one write transaction; it reads its own writes."""

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        """Write one row, over any that has this key."""
        ...

    def put_many(
        self, table: Table, rows: Iterable[tuple[bytes, bytes]], *, append: bool = False
    ) -> None:
        """Write rows; with `append`, all their keys rise and lie above those in the table."""
        ...

    def change(self, append: Rows, put: Rows, delete: Keys) -> None:
        """Write rows of several tables, first those that are appended, then remove others."""
        ...

    def delete(self, table: Table, key: bytes) -> bool:
        """Remove one row; False if it was not there."""
        ...

    def delete_many(self, table: Table, keys: Iterable[bytes]) -> None:
        """Remove rows; those that are not there are no error."""
        ...


class Store(Protocol):
    """Where everything that must last is kept."""

    @property
    def snapshot(self) -> Snapshot:
        """What was last committed and refreshed to; always the same object."""
        ...

    def begin(self) -> Writer:
        """Open the write transaction; `commit` or `abort` must follow on the same thread.

        The writer itself may be used from another thread meanwhile, one at a time.
        """
        ...

    def commit(self) -> None:
        """Make the transaction last; it is on disk when this returns. `StorageError` if not."""
        ...

    def abort(self) -> None:
        """Forget the transaction."""
        ...

    def refresh(self) -> None:
        """Let `snapshot` show the last commit."""
        ...

    def has_room(self) -> bool:
        """Whether there is space left for new messages, not only for removing old ones."""
        ...

    def make_room(self) -> bool:
        """Give up room that is kept for the time when the disk is full; False if there is none."""
        ...

    def close(self) -> None:
        """Release everything; what was committed stays."""
        ...
