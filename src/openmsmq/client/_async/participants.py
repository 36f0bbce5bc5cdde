"""Those who have a part in a unit.

A part is prepared under the unit's name and waits for the outcome, whatever happens to the program
that began it. `commit_prepared` and `abort_prepared` are for a process that finds it later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from openmsmq.client._async.manager import Manager
from openmsmq.client._async.transaction import Transaction
from openmsmq.client.backend import Work
from openmsmq.client.partners import Partner
from openmsmq.errors import InvalidParameter, TransactionSequence
from openmsmq.types.units import decider_of

FORMAT: Final = 0x4D51
"The format of our identifiers among those of others: MQ."
_POSTGRESQL: Final = {"psycopg", "psycopg2"}
_IDENTITY: Final = "select system_identifier, current_database() from pg_control_system()"
_DRIVER_SHOWN: Final = 60


class TwoPhaseConnection(Protocol):
    """A connection to a database, with the two-phase extension of the DB-API (PEP 249)."""

    def xid(self, format_id: int, gtrid: str, bqual: str, /) -> Any:
        """An identifier."""
        ...

    async def tpc_begin(self, xid: Any, /) -> None:
        """Begin a transaction."""
        ...

    async def tpc_prepare(self) -> None:
        """The first phase."""
        ...

    async def tpc_commit(self, xid: Any = None, /) -> None:
        """The second phase."""
        ...

    async def tpc_rollback(self, xid: Any = None, /) -> None:
        """Undo it."""
        ...

    async def tpc_recover(self) -> Sequence[Any]:
        """All that is prepared."""
        ...

    async def rollback(self) -> None:
        """Undo what is not in two phases."""
        ...

    async def close(self) -> None:
        """Release it."""
        ...


class Participant(Protocol):
    """A manager or database that has a part in a unit, or may have one."""

    partner: Partner

    @property
    def is_used(self) -> bool:
        """It has a part."""
        ...

    @property
    def is_lost(self) -> bool:
        """Its connection is lost."""
        ...

    @property
    def is_known(self) -> bool:
        """Its name is unique, whichever program asks."""
        ...

    async def get_ready(self) -> None:
        """Find out its name."""
        ...

    async def begin(self, unit: str) -> None:
        """Begin its part."""
        ...

    async def prepare(self) -> None:
        """Keep its part until the outcome is known."""
        ...

    async def commit(self) -> None:
        """Tell it that the unit is committed; again, if that failed."""
        ...

    async def abort(self) -> None:
        """Undo its part, prepared or not."""
        ...

    async def give_up(self) -> None:
        """It could not be notified of the outcome: let no program use it as if it had been."""
        ...

    async def prepared(self) -> list[str]:
        """The units that have a part here which waits for its outcome."""
        ...

    async def commit_prepared(self, unit: str) -> None:
        """Commit a part that was found."""
        ...

    async def abort_prepared(self, unit: str) -> None:
        """Undo a part that was found."""
        ...


class Database:
    """A database, by one of its connections."""

    is_used = True

    def __init__(self, connection: TwoPhaseConnection, partner: Partner, number: int) -> None:
        self.partner = partner
        self._connection = connection
        self._number = number
        "Its place among the participants; two databases of one server need different identifiers."
        self._is_begun = False
        self._found: dict[str, list[Any]] = {}

    @property
    def is_lost(self) -> bool:
        """The connection is closed, as far as its driver knows."""
        return bool(getattr(self._connection, "closed", False))

    @property
    def is_known(self) -> bool:
        """It is a PostgreSQL, which has an identity of its own."""
        return self.partner.name.startswith("postgresql ")

    async def get_ready(self) -> None:
        """Ask a PostgreSQL who it is; of others only the driver is known."""
        if self.partner.name or not self._is_idle:
            return
        modules = {base.__module__.partition(".")[0] for base in type(self._connection).__mro__}
        if modules & _POSTGRESQL:
            with contextlib.suppress(Exception):  # it may not tell everybody
                self.partner.name = f"postgresql {await self._identity()}"
        if not self.partner.name:
            driver = type(self._connection).__module__[:_DRIVER_SHOWN]
            self.partner.name = f"database {self._number} by {driver}"

    @property
    def _is_idle(self) -> bool:
        """Nothing was done on the connection that would be undone with our own question."""
        info = getattr(self._connection, "info", None)
        return not getattr(info, "transaction_status", 0)

    async def _identity(self) -> str:
        connection: Any = self._connection
        given = {}
        if hasattr(connection, "row_factory"):  # rows may look as the program wants them
            given["row_factory"] = import_module("psycopg.rows").tuple_row
        try:
            cursor = connection.cursor(**given)
            await cursor.execute(_IDENTITY)
            server, database = await cursor.fetchone()
        finally:
            await connection.rollback()
        return f"{server}/{database}"

    async def begin(self, unit: str) -> None:
        """Begin its part: what the program does on the connection from here on."""
        await self._connection.tpc_begin(self._connection.xid(FORMAT, unit, str(self._number)))
        self._is_begun = True

    async def prepare(self) -> None:
        """The first phase."""
        await self._connection.tpc_prepare()

    async def commit(self) -> None:
        """The second phase."""
        await self._connection.tpc_commit()

    async def abort(self) -> None:
        """Undo it, prepared or not."""
        if self._is_begun:
            await self._connection.tpc_rollback()

    async def give_up(self) -> None:
        """Close the connection, which is inside a transaction that will never be ended."""
        with contextlib.suppress(Exception):
            await self._connection.close()

    async def prepared(self) -> list[str]:
        """The units that have a part in this database, among all that is prepared there."""
        info = getattr(self._connection, "info", None)
        here = (None, getattr(info, "dbname", None))
        self._found = {}
        for xid in await self._connection.tpc_recover():
            if xid[0] == FORMAT and decider_of(xid[1]) and getattr(xid, "database", None) in here:
                self._found.setdefault(xid[1], []).append(xid)
        return list(self._found)

    async def commit_prepared(self, unit: str) -> None:
        """Commit a part that was found."""
        for xid in self._found[unit]:
            await self._connection.tpc_commit(xid)

    async def abort_prepared(self, unit: str) -> None:
        """Undo a part that was found."""
        for xid in self._found[unit]:
            await self._connection.tpc_rollback(xid)


class Branch(Transaction):
    """The part of another manager in a unit; it ends with the unit."""

    def __init__(self, manager: Manager, whole: Transaction, unit: str) -> None:
        super().__init__(manager.backend, unit)
        self._whole = whole

    async def begun(self) -> Work:
        """The part itself, while the manager that decides is there."""
        await self._whole.begun()
        return await super().begun()

    @property
    def work(self) -> Work | None:
        """The part as the manager knows it, if something was done in it."""
        return self._work

    async def prepare(self) -> None:
        """Not for the program to do."""
        raise TransactionSequence("a part of a unit ends with the unit")

    async def commit(self) -> None:
        """Not for the program to do."""
        raise TransactionSequence("a part of a unit ends with the unit")

    async def abort(self) -> None:
        """Not for the program to do."""
        raise TransactionSequence("a part of a unit ends with the unit")


class OtherManager:
    """A queue manager that does not decide."""

    is_lost = False
    is_known = True

    def __init__(self, manager: Manager, partner: Partner) -> None:
        self.partner = partner
        self.manager = manager
        self.branch: Branch | None = None
        self._unit = ""
        self._is_prepared = False
        "Or may be, if the answer was lost."

    @property
    def _work(self) -> Work | None:
        return None if self.branch is None else self.branch.work

    @property
    def is_used(self) -> bool:
        """Something was done there."""
        return self._work is not None

    async def get_ready(self) -> None:
        """Its name is its identity."""
        self.partner.name = f"manager {self.manager.id}"

    async def begin(self, unit: str) -> None:
        """Its part begins when it is used."""
        self._unit = unit

    async def prepare(self) -> None:
        """Write down all that was done there."""
        assert self._work is not None
        self._is_prepared = True
        await self.manager.backend.prepare(self._work)

    async def commit(self) -> None:
        """Let its part take effect."""
        await self.commit_prepared(self._unit)

    async def abort(self) -> None:
        """Undo its part."""
        if self._is_prepared:
            await self.abort_prepared(self._unit)
        elif self._work is not None:
            await self.manager.backend.abort(self._work)

    async def give_up(self) -> None:
        """Nothing is left open here: what is prepared waits by itself."""

    async def prepared(self) -> list[str]:
        """The units that have a part there."""
        return [name for name in await self.manager.prepared() if decider_of(name)]

    async def commit_prepared(self, unit: str) -> None:
        """Commit a part that was found."""
        await self.manager.commit_prepared(unit)

    async def abort_prepared(self, unit: str) -> None:
        """Undo a part that was found."""
        await self.manager.abort_prepared(unit)


def participants(
    decider: Manager, others: Sequence[Manager | TwoPhaseConnection]
) -> list[Database | OtherManager]:
    """All who may have a part in a unit that a manager decides, but for itself."""
    found: list[Database | OtherManager] = []
    for number, other in enumerate(others, 1):
        partner = decider.partners.get(other)
        if isinstance(other, Manager):
            found.append(OtherManager(other, partner))
        elif hasattr(other, "tpc_begin"):
            found.append(Database(other, partner, number))
        else:
            raise InvalidParameter(
                f"{type(other).__name__}: neither a queue manager nor a connection to a database"
                " with transactions in two phases (PEP 249)"
            )
    return found


async def get_ready(decider: Manager, found: Sequence[Database | OtherManager]) -> None:
    """Find out their names; none may be there twice."""
    names = {f"manager {decider.id}"}
    for participant in found:
        await participant.get_ready()
        name = participant.partner.name
        if name and name in names:
            raise InvalidParameter(f"{name} is there twice: one part in a unit is enough")
        names.add(name)
