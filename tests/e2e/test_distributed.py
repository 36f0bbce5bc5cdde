"""Units with a real PostgreSQL: what only the real one does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from tools.postgres import Postgres

import openmsmq
from openmsmq import Manager, Queue, aio
from tests.postgres import postgres as postgres  # a fixture

pytestmark = pytest.mark.slow


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with openmsmq.open(tmp_path / "data") as made:
        yield made


@pytest.fixture
def orders(manager: Manager) -> Queue:
    """A queue with two orders."""
    made = manager.create_queue("orders", transactional=True)
    with manager.transaction() as transaction:
        made.send_many(["one", "two"], transaction=transaction)
    return made


@pytest.fixture
def connection(postgres: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a database with an empty table."""
    with psycopg.connect(postgres.dsn) as made:
        made.execute("drop table if exists bought")
        made.execute("create table bought (name text unique deferrable initially deferred)")
        made.commit()
        yield made


def rows(postgres: Postgres, database: str = "shop") -> list[str]:
    with psycopg.connect(f"{postgres.dsn} dbname={database}") as connection:
        assert connection.execute("select gid from pg_prepared_xacts").fetchall() == []
        found = connection.execute("select name from bought order by name").fetchall()
    return [str(name) for (name,) in found]


def test_any_shape_of_rows_will_do(
    manager: Manager, orders: Queue, postgres: Postgres, connection: psycopg.Connection[Any]
) -> None:
    connection.row_factory = dict_row
    for _ in range(2):
        with openmsmq.distributed(manager, connection) as unit:
            order = orders.receive(timeout=0, transaction=unit)
            connection.execute("insert into bought values (%s)", [order.text])
    assert (rows(postgres), manager.units()) == (["one", "two"], [])


def test_what_fails_when_it_is_prepared_undoes_all(
    manager: Manager, orders: Queue, postgres: Postgres, connection: psycopg.Connection[Any]
) -> None:
    def buy_twice() -> None:
        with openmsmq.distributed(manager, connection) as unit:
            order = orders.receive(timeout=0, transaction=unit)
            for _ in range(2):
                connection.execute("insert into bought values (%s)", [order.text])

    with pytest.raises(psycopg.errors.UniqueViolation):
        buy_twice()
    assert (rows(postgres), orders.info().messages) == ([], 2)


def test_a_connection_in_a_transaction_is_refused_and_left_as_it_is(
    manager: Manager, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("insert into bought values ('mine')")
    with (
        pytest.raises(psycopg.ProgrammingError, match="INTRANS"),
        openmsmq.distributed(manager, connection),
    ):
        pass
    assert connection.execute("select name from bought").fetchall() == [("mine",)]


def test_two_databases_of_one_server_have_their_parts(
    manager: Manager, orders: Queue, postgres: Postgres, connection: psycopg.Connection[Any]
) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute("drop database if exists second")
        admin.execute("create database second template template0")
    with psycopg.connect(f"{postgres.dsn} dbname=second") as second:
        second.execute("create table bought (name text)")
        second.commit()
        with openmsmq.distributed(manager, connection, second) as unit:
            order = orders.receive(timeout=0, transaction=unit)
            for database in (connection, second):
                database.execute("insert into bought values (%s)", [order.text])
    assert rows(postgres) == rows(postgres, "second") == ["one"]


class Deaf(psycopg.Connection[Any]):
    """A connection that breaks when it is to be given the outcome."""

    def tpc_commit(self, xid: Any = None) -> None:
        self.close()
        super().tpc_commit(xid)


def test_only_the_database_at_hand_is_recovered(
    manager: Manager, postgres: Postgres, connection: psycopg.Connection[Any]
) -> None:
    with Deaf.connect(postgres.dsn) as deaf, openmsmq.distributed(manager, deaf) as unit:
        deaf.execute("insert into bought values ('late')")
    assert [one.waiting for one in manager.units()] == [unit.waiting]
    with psycopg.connect(f"{postgres.dsn} dbname=postgres") as elsewhere:
        assert openmsmq.recover(manager, elsewhere) == []
    [found] = openmsmq.recover(manager, connection)
    assert (found.unit, found.outcome) == (unit.name, "committed")
    assert (rows(postgres), manager.units()) == (["late"], [])


def test_asyncio_has_the_same(tmp_path: Path, postgres: Postgres) -> None:
    async def run() -> None:
        async with (
            aio.open(tmp_path / "aio") as manager,
            await psycopg.AsyncConnection.connect(postgres.dsn) as connection,
        ):
            await connection.execute("drop table if exists bought")
            await connection.execute("create table bought (name text)")
            await connection.commit()
            orders = await manager.create_queue("orders", transactional=True)
            async with manager.transaction() as transaction:
                await orders.send("one", transaction=transaction)
            async with aio.distributed(manager, connection) as unit:
                order = await orders.receive(timeout=0, transaction=unit)
                await connection.execute("insert into bought values (%s)", [order.text])
            assert await manager.units() == []
            assert await aio.recover(manager, connection) == []

    asyncio.run(run())
    assert rows(postgres) == ["one"]
