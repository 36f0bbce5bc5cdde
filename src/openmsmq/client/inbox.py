"""An inbox: which messages a program has dealt with, remembered in its own database.

A program whose database cannot take part in a transaction with the queue may get a message twice:
it wrote what the message is about, and was gone before it could say so. If it writes down the id of
the message together with the rest, it knows the second time.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, Self

from openmsmq.errors import InvalidParameter
from openmsmq.types.received import ReceivedMessage

LIMIT: Final = 100_000
"Messages that are remembered."
TRIM_EVERY: Final = 1000
"Messages after which the oldest are forgotten."
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}(?:\.[A-Za-z_][A-Za-z0-9_]{0,62})?")
_MARKS: Final = {"qmark": "?", "format": "%s", "pyformat": "%s"}
"How databases want values to be marked in statements (`paramstyle`)."


class DbCursor(Protocol):
    """What is needed of a cursor of the DB-API."""

    @property
    def rowcount(self) -> int:
        """Rows that the last statement has changed."""
        ...

    def execute(self, statement: str, values: Sequence[object] = ..., /) -> object:
        """Do something."""
        ...

    def close(self) -> None:
        """Release it."""
        ...


class DbConnection(Protocol):
    """What is needed of a connection of the DB-API."""

    def cursor(self) -> Any:
        """A new cursor."""
        ...

    def commit(self) -> None:
        """Let what was done last."""
        ...

    def rollback(self) -> None:
        """Undo what was done."""
        ...

    def close(self) -> None:
        """Release it."""
        ...


class Inbox:
    """The ids of messages that were dealt with, in a table of SQLite or PostgreSQL."""

    def __init__(
        self,
        database: str | os.PathLike[str] | DbConnection,
        *,
        table: str = "openmsmq_inbox",
        limit: int = LIMIT,
    ) -> None:
        """`database` is a connection of the program's own, or a file for SQLite.

        The table is made if it is not there. The newest `limit` messages are remembered, and up to
        a thousand more.
        """
        if not _NAME.fullmatch(table):
            raise InvalidParameter(f"table {table!r}: a plain name is needed")
        if limit < 1:
            raise InvalidParameter(f"limit {limit}: at least 1 message must be remembered")
        self._is_own = isinstance(database, str | os.PathLike)
        connection = sqlite3.connect(database) if self._is_own else database  # type: ignore[arg-type] # a path
        self.connection: DbConnection = connection  # type: ignore[assignment] # now it is one
        "What the program writes through while it deals with a message."
        _require_transactions(self.connection)
        self._mark = _mark_of(self.connection)
        self._limit = limit
        self._until_trim = 0
        marks = f"{self._mark}, {self._mark}"
        # The name of the table was checked: no foreign text gets into these.
        self._adding = f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
        last = f"SELECT processed FROM {table} ORDER BY processed DESC LIMIT 1 OFFSET {self._mark}"  # noqa: S608
        self._trimming = f"DELETE FROM {table} WHERE processed <= ({last})"  # noqa: S608
        index = f"{table.replace('.', '_')}_processed"
        with self._cursor() as cursor:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {table}"
                " (id VARCHAR(400) PRIMARY KEY, processed DOUBLE PRECISION NOT NULL)"
            )
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {table} (processed)")
        self.connection.commit()

    @contextmanager
    def process(self, message: ReceivedMessage | str) -> Iterator[bool]:
        """Deal with a message, or with what has an id of another kind; False if that was done.

        What is written through the connection meanwhile is committed together with the id, or
        rolled back with it if there is an exception.
        """
        key = message if isinstance(message, str) else message.id
        try:
            is_new = self._add(key)
            yield is_new
            self.connection.commit()
        except BaseException:
            self.connection.rollback()
            raise

    def _add(self, key: str) -> bool:
        with self._cursor() as cursor:
            cursor.execute(self._adding, (key, time.time()))
            is_new = cursor.rowcount == 1
            if is_new and not self._until_trim:
                cursor.execute(self._trimming, (self._limit,))
                self._until_trim = TRIM_EVERY
            self._until_trim -= is_new
        return is_new

    @contextmanager
    def _cursor(self) -> Iterator[DbCursor]:
        cursor = self.connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def close(self) -> None:
        """Close the connection, if it is the inbox's own."""
        if self._is_own:
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_transactions(connection: DbConnection) -> None:
    """Refuse a connection on which nothing can be written together."""
    is_off = getattr(connection, "autocommit", False) is True
    if isinstance(connection, sqlite3.Connection):
        is_off |= connection.isolation_level is None and not hasattr(connection, "autocommit")
    if is_off:
        raise InvalidParameter("the connection commits every statement: switch autocommit off")


def _mark_of(connection: DbConnection) -> str:
    name = type(connection).__module__.partition(".")[0]
    style = getattr(sys.modules.get(name), "paramstyle", "qmark")
    if style not in _MARKS:
        raise InvalidParameter(f"{name} marks values by {style}: SQLite and PostgreSQL are known")
    return _MARKS[style]
