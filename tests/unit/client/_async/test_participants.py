"""Who has a part in a unit, and what it is called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from tests.strategies.databases import Connection, Database, DatabaseError, Xid
from tests.unit.client.adapter import Api

from openmsmq import Manager
from openmsmq.client._sync import participants as participants_sync
from openmsmq.client._sync.participants import FORMAT
from openmsmq.client.partners import Partner
from openmsmq.types.units import unit_name


class Unknown:
    """A connection of a driver that we know nothing about."""

    def __init__(self) -> None:
        self._connection = Connection(Database())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def part(connection: Any, number: int = 1) -> participants_sync.Database:
    made = participants_sync.Database(connection, Partner(), number)
    made.get_ready()
    return made


def test_a_postgresql_tells_who_it_is() -> None:
    found = part(Connection(Database(identity=4711)))
    assert (found.partner.name, found.is_known) == ("postgresql 4711/shop", True)


def test_of_other_databases_only_the_driver_is_known() -> None:
    found = part(Unknown(), 2)
    assert found.partner.name == f"database 2 by {__name__}"
    assert not found.is_known


def test_one_that_does_not_tell_is_used_all_the_same() -> None:
    connection = Connection(Database())
    connection.fails = {"execute"}
    assert not part(connection).is_known


def test_no_one_asks_in_the_midst_of_a_transaction() -> None:
    connection: Any = Connection(Database())
    connection.info = SimpleNamespace(transaction_status=2)
    assert part(connection).partner.name == ""


def test_rows_are_read_however_the_program_wants_them() -> None:
    connection: Any = Connection(Database())
    given = {}

    def cursor(**options: Any) -> Any:
        given.update(options)
        return connection

    connection.row_factory, connection.cursor = dict, cursor
    part(connection)
    assert list(given) == ["row_factory"]


def test_only_our_own_in_this_database_is_found() -> None:
    database = Database()
    connection: Any = Connection(database)
    own = unit_name(UUID(int=1), "0" * 24)

    class There(Xid):
        database = "other"

    class Here(Xid):
        database = "shop"

    connection.info = SimpleNamespace(transaction_status=0, dbname="shop")
    for xid in (
        Here(FORMAT, own, "1"),
        There(FORMAT, own, "2"),
        Xid(FORMAT, own, "3"),
        Xid(FORMAT + 1, own, "1"),
        Xid(FORMAT, "another's", "1"),
    ):
        database.prepared[xid] = [xid.bqual]
    found = part(connection)
    assert found.prepared() == [own]
    found.commit_prepared(own)
    assert sorted(database.rows) == ["1", "3"]


def test_a_closed_connection_is_lost_and_closing_it_again_no_error() -> None:
    connection = Connection(Database())
    found = part(connection)
    assert not found.is_lost
    found.give_up()
    found.give_up()
    assert found.is_lost
    found.abort()  # nothing was begun


def test_a_connection_that_cannot_even_be_closed_stops_no_one() -> None:
    connection: Any = Connection(Database())

    def close() -> None:
        raise DatabaseError("no")

    connection.close = close
    part(connection).give_up()


def test_a_manager_is_called_by_its_identity(api: Api, manager: Manager) -> None:
    with api.distributed(manager):
        pass
    with pytest.raises(Exception, match=f"manager {manager.id} is there twice"):
        api.recover(manager, manager)
