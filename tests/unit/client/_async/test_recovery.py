"""Units that were left behind, in all APIs."""

from __future__ import annotations

import time
from uuid import UUID

import pytest
from tests.strategies.databases import Connection, Database, Xid
from tests.unit.client.adapter import Api, start
from tests.unit.client.services import Clients, Relay, Service

import openmsmq
from openmsmq import Manager
from openmsmq.access.tokens import Tokens
from openmsmq.client._sync.participants import FORMAT
from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import AccessDenied, ConnectionLost, DtcConnect
from openmsmq.store.memory import MemoryStore
from openmsmq.types.units import unit_name

NAME = "postgresql 1/shop"


@pytest.fixture
def database() -> Database:
    return Database()


def left_behind(database: Database, manager: Manager, number: int = 0) -> str:
    """A part that a program has prepared, before it died."""
    unit = unit_name(UUID(manager.id), f"{number:024x}")
    database.prepared[Xid(FORMAT, unit, "1")] = [unit]
    return unit


def test_what_was_never_decided_is_undone(api: Api, manager: Manager, database: Database) -> None:
    left_behind(database, manager)
    assert api.recover(manager, Connection(database)) == [(NAME, "aborted")]
    assert (database.prepared, database.rows) == ({}, [])
    assert api.recover(manager, Connection(database)) == []


def test_units_of_other_managers_are_not_ours_to_end(
    api: Api, manager: Manager, database: Database
) -> None:
    database.prepared[Xid(FORMAT, unit_name(UUID(int=99), "0" * 24), "1")] = ["x"]
    assert api.recover(manager, Connection(database)) == []
    assert len(database.prepared) == 1


def test_an_active_unit_is_left_alone(api: Api, manager: Manager, database: Database) -> None:
    unit = left_behind(database, manager)
    work = manager.transaction(unit)
    with work:
        assert api.recover(manager, Connection(database)) == [(NAME, "alive")]
    assert len(database.prepared) == 1


def test_what_was_done_before_is_confirmed(api: Api, manager: Manager, database: Database) -> None:
    connection = Connection(database)
    with api.distributed(manager, connection):
        connection.fails = {"tpc_commit"}
    ((xid, rows),) = database.prepared.items()
    del database.prepared[xid]  # it was committed, and no one said so
    database.rows += rows
    assert api.recover(manager, Connection(database)) == [(NAME, "confirmed")]
    assert manager.units() == []


def test_what_cannot_be_ended_now_is_said_and_tried_again(
    api: Api, manager: Manager, database: Database
) -> None:
    left_behind(database, manager)
    connection = Connection(database)
    connection.fails = {"tpc_rollback"}
    assert api.recover(manager, connection) == [(NAME, "failed")]
    assert api.recover(manager, Connection(database)) == [(NAME, "aborted")]


def test_a_part_of_another_manager_is_found(api: Api, manager: Manager) -> None:
    unit = unit_name(UUID(manager.id), "0" * 24)
    other = api.over(QueueManager(MemoryStore(), SystemClock(), name="server2"))
    queue = other.create_queue("done", transactional=True)
    part = other.transaction(unit)
    queue.send("x", transaction=part)
    part.prepare()
    assert api.recover(manager, other) == [(f"manager {other.id}", "aborted")]
    assert other.prepared() == []


# Lines that break


def with_order(manager: Manager) -> openmsmq.Queue:
    queue = manager.create_queue("orders", transactional=True)
    work = manager.transaction()
    queue.send("one", transaction=work)
    work.commit()
    return queue


def test_an_answer_that_is_lost_is_asked_for(
    service: Service, relay: Relay, database: Database
) -> None:
    with (
        openmsmq.connect(service.address) as admin,
        openmsmq.connect(relay.address) as manager,
    ):
        orders = with_order(manager)

        def cut_when_it_is_decided() -> None:
            while not admin.units():
                time.sleep(0.01)
            relay.cut()

        def step(name: str) -> None:
            if name == "after tpc_prepare":
                relay.mute()
                start(cut_when_it_is_decided)

        connection = Connection(database, step)
        with openmsmq.distributed(manager, connection, patience=20) as unit:
            connection.insert(str(orders.receive(timeout=0, transaction=unit).text))
        assert (database.rows, unit.waiting, admin.units()) == (["one"], (), [])


def test_a_unit_is_undone_if_its_line_broke_before_the_decision(
    service: Service, relay: Relay, clients: Clients, database: Database
) -> None:
    with openmsmq.connect(relay.address) as manager:
        orders = with_order(manager)
        connection = Connection(database, lambda name: relay.cut() if "prepare" in name else None)

        def work() -> None:
            with openmsmq.distributed(manager, connection) as unit:
                connection.insert(str(orders.receive(timeout=0, transaction=unit).text))

        with pytest.raises(openmsmq.MQError):
            work()
        assert (database.rows, database.prepared) == ([], {})
        assert orders.peek(timeout=5).text == "one"


def test_an_outcome_that_no_one_can_tell_is_left_to_recovery(
    service: Service, database: Database
) -> None:
    """SYS-087, SYS-091."""
    with openmsmq.connect(service.address, reconnect=0) as manager:
        orders = with_order(manager)
        is_first = [True]

        def step(name: str) -> None:
            if name == "after tpc_prepare" and is_first:
                is_first.clear()
                commit = manager.backend.commit

                def lost(*given: object) -> None:
                    commit(*given)  # type: ignore[arg-type]
                    service.stop()
                    raise ConnectionLost("no answer")

                manager.backend.commit = lost  # type: ignore[method-assign,assignment]

        connection = Connection(database, step)

        def work() -> None:
            with openmsmq.distributed(manager, connection, patience=0) as unit:
                connection.insert(str(orders.receive(timeout=0, transaction=unit).text))

        with pytest.raises(DtcConnect, match="outcome is unknown until recovery"):
            work()
        assert connection.closed
        assert len(database.prepared) == 1
        with pytest.raises(DtcConnect), openmsmq.distributed(manager, Connection(database)):
            pass
    service.start()
    with (
        openmsmq.connect(service.address) as manager,
        openmsmq.distributed(manager, Connection(database)),
    ):
        assert database.rows == ["one"]
        assert manager.units() == []


def test_who_is_no_administrator_recovers_what_it_finds(
    service: Service, database: Database
) -> None:
    with openmsmq.connect(service.address) as admin:
        orders = with_order(admin)
        connection = Connection(database)
        with openmsmq.distributed(admin, connection, patience=0) as unit:
            orders.receive(timeout=0, transaction=unit)
            connection.fails = {"tpc_commit"}
        left_behind(database, admin)
    _, token = Tokens.load(service.data).create("read+send")
    with openmsmq.connect(service.address, token=token) as manager:
        with pytest.raises(AccessDenied):
            manager.units()
        found = openmsmq.recover(manager, Connection(database))
        assert sorted(one.outcome for one in found) == ["aborted", "committed"]
