"""A database with transactions in two phases, in memory: what is prepared outlives connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Xid(NamedTuple):
    """An identifier of the X/Open model."""

    format_id: int
    gtrid: str
    bqual: str


class DatabaseError(Exception):
    """The database refused, or is gone."""


class Database:
    """A server with one table."""

    def __init__(self, identity: int = 1) -> None:
        self.identity = identity
        self.rows: list[str] = []
        self.prepared: dict[Xid, list[str]] = {}
        self.is_down = False
        self.lives = 0
        "How often it was started again: what was not prepared is gone, and so are connections."

    def restart(self) -> None:
        """Lose all that is not on disk."""
        self.lives += 1


class Connection:
    """A connection as a driver makes it; `step` is called before and after each call."""

    def __init__(self, database: Database, step: Callable[[str], None] = lambda name: None) -> None:
        self._database = database
        self._life = database.lives
        self._step = step
        self._xid: Xid | None = None
        self._is_prepared = False
        self._new: list[str] = []
        self.closed = False
        self.fails: set[str] = set()
        "Calls that the database refuses."
        self.asynchronous = AsyncConnection(self)

    def _call(self, name: str, work: Callable[[], Any]) -> Any:
        self._step(f"before {name}")
        self._require_open()
        if name in self.fails:
            raise DatabaseError(f"{name} is refused")
        found = work()
        self._step(f"after {name}")
        self._require_open()
        return found

    def _require_open(self) -> None:
        if self._life != self._database.lives or self._database.is_down:
            self.closed = True
        if self.closed:
            raise DatabaseError("the connection is closed")

    def xid(self, format_id: int, gtrid: str, bqual: str) -> Xid:
        """An identifier."""
        assert max(len(gtrid), len(bqual)) <= 64
        return Xid(format_id, gtrid, bqual)

    def insert(self, row: str) -> None:
        """Work of the program."""
        self._call("insert", lambda: self._new.append(row))

    def cursor(self) -> Connection:
        """It is its own cursor."""
        return self

    def execute(self, statement: str) -> None:
        """Someone asks who this is."""
        assert "system_identifier" in statement
        self._call("execute", lambda: None)

    def fetchone(self) -> tuple[int, str]:
        """Who this is."""
        return self._database.identity, "shop"

    def rollback(self) -> None:
        """Nothing to undo."""

    def tpc_begin(self, xid: Xid) -> None:
        """Begin."""
        if self._xid is not None:
            raise DatabaseError("a transaction is under way")

        def work() -> None:
            self._xid, self._new, self._is_prepared = xid, [], False

        self._call("tpc_begin", work)

    def tpc_prepare(self) -> None:
        """The first phase."""
        assert self._xid is not None
        self._is_prepared = True
        xid = self._xid
        self._call("tpc_prepare", lambda: self._database.prepared.update({xid: self._new}))

    def tpc_commit(self, xid: Xid | None = None) -> None:
        """The second phase."""
        self._end("tpc_commit", xid, self._database.rows.extend)

    def tpc_rollback(self, xid: Xid | None = None) -> None:
        """Undo it."""
        self._end("tpc_rollback", xid, lambda rows: None)

    def _end(self, name: str, xid: Xid | None, then: Callable[[list[str]], None]) -> None:
        def work() -> None:
            if xid is None and not self._is_prepared:
                then(self._new)
            else:
                found = xid or self._xid
                if found not in self._database.prepared:
                    raise DatabaseError(f"{found} does not exist")
                then(self._database.prepared.pop(found))
            self._xid = None

        assert (xid is None) == (self._xid is not None), f"{name} at the wrong time"
        self._call(name, work)

    def tpc_recover(self) -> list[Xid]:
        """All that is prepared."""
        assert self._xid is None, "in the midst of a transaction"
        found: list[Xid] = self._call("tpc_recover", lambda: list(self._database.prepared))
        return found

    def close(self) -> None:
        """Release; what is prepared stays."""
        self.closed = True


class AsyncConnection:
    """The same for asyncio."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def xid(self, format_id: int, gtrid: str, bqual: str) -> Xid:
        return self._connection.xid(format_id, gtrid, bqual)

    def cursor(self) -> AsyncConnection:
        return self

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._connection, name)

        async def call(*given: Any) -> Any:
            return method(*given)

        return call


# Who asks for its module takes it for a driver of PostgreSQL, which can tell who it is.
Connection.__module__ = AsyncConnection.__module__ = "psycopg.in_memory"
