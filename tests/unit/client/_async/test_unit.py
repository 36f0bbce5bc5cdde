"""Units over managers and databases, in all APIs."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from tests.strategies.databases import Connection, Database, DatabaseError
from tests.unit.client.adapter import Api
from tests.unit.service.stores import SlowStore

import openmsmq
from openmsmq import Manager
from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    DtcConnect,
    InvalidParameter,
    ReceiveTimeout,
    StorageFull,
    TransactionSequence,
)

Begin = Callable[[Connection], openmsmq.Unit]


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def other(api: Api) -> Manager:
    """A second manager, with a queue `done`."""
    made = api.over(QueueManager(SlowStore(), SystemClock(), name="server2"))
    made.create_queue("done", transactional=True)
    return made


@pytest.fixture
def orders(manager: Manager) -> openmsmq.Queue:
    queue = manager.create_queue("orders", transactional=True)
    work = manager.transaction()
    queue.send("one", transaction=work)
    work.commit()
    return queue


def texts(manager: Manager, name: str) -> list[str]:
    return [str(message.text) for message in manager.open_queue(name).peek_many(10, timeout=0)]


def take(orders: openmsmq.Queue, connection: Connection, unit: openmsmq.Unit) -> None:
    """What the program does: write a message to the table."""
    connection.insert(str(orders.receive(timeout=0, transaction=unit).text))


def is_at_rest(manager: Manager, database: Database) -> bool:
    """Nothing waits for an outcome."""
    return not (manager.prepared() or manager.units() or database.prepared)


def test_queue_and_table_are_committed_together(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database
) -> None:
    connection = Connection(database)
    with api.distributed(manager, connection) as unit:
        take(orders, connection, unit)
        assert database.rows == []
    assert (database.rows, texts(manager, "orders"), unit.waiting) == (["one"], [], ())
    assert is_at_rest(manager, database)
    with api.distributed(manager, connection) as unit, pytest.raises(ReceiveTimeout):
        take(orders, connection, unit)


def test_an_exception_undoes_both(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database
) -> None:
    connection = Connection(database)

    def fail() -> None:
        with api.distributed(manager, connection) as unit:
            take(orders, connection, unit)
            raise KeyError("no")

    with pytest.raises(KeyError):
        fail()
    assert (database.rows, texts(manager, "orders")) == ([], ["one"])
    assert orders.peek(timeout=0).abort_count == 1
    assert is_at_rest(manager, database)
    assert not connection.closed


def test_a_unit_may_be_ended_before_its_block(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database
) -> None:
    connection = Connection(database)
    with api.distributed(manager, connection) as unit:
        take(orders, connection, unit)
        unit.abort()
    assert (database.rows, texts(manager, "orders")) == ([], ["one"])
    with api.distributed(manager, connection) as unit:
        take(orders, connection, unit)
        unit.commit()
    assert (database.rows, texts(manager, "orders")) == (["one"], [])


def test_a_participant_that_cannot_prepare_undoes_all(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database
) -> None:
    connection = Connection(database)
    connection.fails = {"tpc_prepare"}

    def work() -> None:
        with api.distributed(manager, connection) as unit:
            take(orders, connection, unit)

    with pytest.raises(DatabaseError, match="tpc_prepare is refused"):
        work()
    assert (database.rows, texts(manager, "orders")) == ([], ["one"])
    assert is_at_rest(manager, database)
    assert connection.closed, "no one knows whether it is in the midst of a transaction"


def test_a_manager_that_does_not_commit_undoes_all(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database, store: SlowStore
) -> None:
    connection = Connection(database)

    def work() -> None:
        with api.distributed(manager, connection) as unit:
            take(orders, connection, unit)
            store.refuse = {"commit": StorageFull("no room")}

    with pytest.raises(StorageFull):
        work()
    assert (database.rows, texts(manager, "orders")) == ([], ["one"])
    assert is_at_rest(manager, database)


def test_other_managers_have_their_part(
    api: Api, manager: Manager, orders: openmsmq.Queue, other: Manager, database: Database
) -> None:
    connection = Connection(database)
    done = other.open_queue("done")
    with api.distributed(manager, other, connection) as unit:
        take(orders, connection, unit)
        done.send("one is done", transaction=unit[other])
    assert (database.rows, texts(other, "done")) == (["one"], ["one is done"])
    assert is_at_rest(manager, database)
    assert is_at_rest(other, database)

    def fail() -> None:
        with api.distributed(manager, other, connection) as unit:
            done.send("two is done", transaction=unit[other])
            connection.fails = {"tpc_prepare"}

    with pytest.raises(DatabaseError):
        fail()
    assert texts(other, "done") == ["one is done"]
    assert other.prepared() == []


def test_a_manager_that_is_not_used_has_no_part(api: Api, manager: Manager, other: Manager) -> None:
    with api.distributed(manager, other):
        pass
    assert manager.units() == []


def test_parts_end_with_the_unit_only(api: Api, manager: Manager, other: Manager) -> None:
    with api.distributed(manager, other) as unit:
        part = unit[other]
        for end in (part.prepare, part.commit, part.abort, unit.prepare):
            with pytest.raises(TransactionSequence):
                end()
    with pytest.raises(TransactionSequence, match="used once"), unit:
        pass


def test_who_has_no_part_is_refused(
    api: Api, manager: Manager, other: Manager, database: Database
) -> None:
    with api.distributed(manager) as unit, pytest.raises(InvalidParameter, match="has no part"):
        unit[other]
    with pytest.raises(InvalidParameter, match="neither a queue manager nor"):
        api.distributed(manager, object())
    for twice in ([manager], [other, other], [Connection(database), Connection(database)]):
        with (
            pytest.raises(InvalidParameter, match="is there twice"),
            api.distributed(manager, *twice),
        ):
            pass


def test_a_participant_lost_behind_the_decision_is_notified_by_the_next_unit(
    api: Api,
    manager: Manager,
    orders: openmsmq.Queue,
    database: Database,
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = Connection(database)
    with api.distributed(manager, connection) as unit:
        take(orders, connection, unit)
        connection.fails = {"tpc_commit"}
    assert unit.waiting == ("postgresql 1/shop",)
    assert connection.closed
    assert (database.rows, texts(manager, "orders")) == ([], [])
    assert [(u.name, u.state, u.waiting) for u in manager.units()] == [
        (unit.name, "committed", unit.waiting)
    ]
    assert "is notified later" in caplog.text
    with caplog.at_level(logging.INFO), api.distributed(manager, Connection(database)):
        assert database.rows == ["one"]
    assert "postgresql 1/shop committed" in caplog.text
    assert is_at_rest(manager, database)


def test_a_participant_is_notified_again_while_there_is_patience(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database
) -> None:
    calls: list[str] = []

    def step(name: str) -> None:
        calls.append(name)
        if calls.count("before tpc_commit") == 3:
            connection.fails = set()

    connection = Connection(database, step)
    with api.distributed(manager, connection, patience=60) as unit:
        take(orders, connection, unit)
        connection.fails = {"tpc_commit"}
    assert (database.rows, unit.waiting) == (["one"], ())
    assert is_at_rest(manager, database)


def test_a_connection_in_the_midst_of_something_is_left_alone(
    api: Api, manager: Manager, orders: openmsmq.Queue, database: Database
) -> None:
    connection = Connection(database)
    connection.tpc_begin(connection.xid(1, "mine", ""))
    with pytest.raises((DatabaseError, AssertionError)), api.distributed(manager, connection):
        pass
    assert not connection.closed
    assert manager.units() == []


def test_a_unit_fails_when_the_manager_that_decides_cannot_be_reached(
    api: Api, manager: Manager, other: Manager
) -> None:
    """SYS-088, SYS-089, SYS-127: and what it has begun elsewhere is undone."""
    done = other.open_queue("done")
    unit = api.distributed(manager, other)

    def work() -> None:
        with unit:
            done.send("lost", transaction=unit[other])
            manager.close()
            done.send("refused", transaction=unit[other])

    with pytest.raises(DtcConnect):
        work()
    work_of_its_own = other.transaction()
    done.send("goes on", transaction=work_of_its_own)
    work_of_its_own.commit()
    assert (texts(other, "done"), other.prepared()) == (["goes on"], [])
