"""`openmsmq transaction`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from uuid import UUID

import pytest
from tests.strategies.databases import Connection, Database
from tests.unit.cli.commands import Cli
from tests.unit.client.services import Service

import openmsmq
from openmsmq import Message
from openmsmq.cli.transaction import _waiting
from openmsmq.types.units import unit_name


@pytest.fixture
def waiting(cli: Cli) -> Cli:
    """A transaction `t-1` that sent a message and is prepared."""
    with cli.open() as manager:
        queue = manager.create_queue("orders", transactional=True)
        transaction = manager.transaction("t-1")
        queue.send(Message(b"1"), transaction=transaction)
        transaction.prepare()
    return cli


def test_prepared_transactions_are_listed(waiting: Cli) -> None:
    head, line = waiting.lines("transaction", "list")
    assert head.split() == ["NAME", "AGE", "WAITS", "FOR"]
    assert (line.split()[0], line.split()[2]) == ("t-1", "s")
    assert line.endswith("its outcome: prepared, its coordinator knows")
    [found] = waiting.objects("transaction", "list")
    assert found == {"name": "t-1", "state": "prepared", "age": found["age"]}
    assert 0 <= found["age"] < 60


def test_a_transaction_is_committed(waiting: Cli) -> None:
    assert waiting.lines("transaction", "commit", "t-1") == ["committed t-1"]
    assert waiting.bodies("orders") == [b"1"]
    assert waiting.lines("transaction", "list") == []


def test_a_transaction_is_aborted(waiting: Cli) -> None:
    assert waiting.objects("transaction", "abort", "t-1") == [{"name": "t-1", "state": "aborted"}]
    assert waiting.bodies("orders") == []


def test_an_unknown_transaction_is_refused(waiting: Cli) -> None:
    assert "no transaction t-2" in waiting("transaction", "commit", "t-2", code=1).stderr
    assert [found["name"] for found in waiting.objects("transaction", "list")] == ["t-1"]


# Units


def left(cli: Cli, database: Database) -> str:
    """A unit whose database was not notified that it is committed."""
    with cli.open() as manager:
        queue = manager.create_queue("orders", transactional=True)
        connection = Connection(database)
        with openmsmq.distributed(manager, connection, patience=0) as unit:
            queue.send("1", transaction=unit)
            connection.insert("1")
            connection.fails = {"tpc_commit"}
        return unit.name


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    """What psycopg connects to."""
    made = Database()

    def connect(dsn: str, *, autocommit: bool) -> object:
        assert (dsn, autocommit) == ("dbname=shop", True)
        return nullcontext(Connection(made))

    monkeypatch.setattr("psycopg.connect", connect)
    return made


def test_a_unit_that_waits_says_for_whom(cli: Cli, database: Database) -> None:
    name = left(cli, database)
    [found] = cli.objects("transaction", "list")
    waiting = ["postgresql 1/shop"]
    assert found == {"name": name, "state": "committed", "age": found["age"], "waiting": waiting}
    line = cli.lines("transaction", "list")[1]
    assert line.endswith("postgresql 1/shop: committed, run `recover`")


def test_an_active_unit_cannot_be_forgotten(cli: Cli) -> None:
    with cli.open() as manager:
        name = unit_name(UUID(manager.id), "0" * 24)
        manager.backend.commit(manager.transaction(name).begun(), ["manager 7"])
        words = [words for _, words in _waiting(manager)]
    assert words == ["manager 7: committed, its program notifies them"]


def test_the_part_of_a_unit_tells_who_decides(cli: Cli) -> None:
    name = unit_name(UUID(int=7), "0" * 24)
    with cli.open() as manager:
        queue = manager.create_queue("orders", transactional=True)
        transaction = manager.transaction(name)
        queue.send("1", transaction=transaction)
        transaction.prepare()
    [found] = cli.objects("transaction", "list")
    assert (found["state"], found["decider"]) == ("prepared", str(UUID(int=7)))
    assert f"prepared, manager {UUID(int=7)} knows" in cli.lines("transaction", "list")[1]


def test_units_are_recovered(cli: Cli, database: Database) -> None:
    name = left(cli, database)
    found = cli.objects("transaction", "recover", "--database", "dbname=shop")
    assert found == [
        {"unit": name, "participant": "postgresql 1/shop", "outcome": "committed", "detail": ""}
    ]
    assert database.rows == ["1"]
    assert cli.objects("transaction", "list") == []
    line = cli.lines("transaction", "recover", "--database", "dbname=shop")
    assert line == ["nothing was left behind"]


def test_other_managers_are_recovered(cli: Cli, tmp_path: Path) -> None:
    with cli.open() as manager:
        name = unit_name(UUID(manager.id), "0" * 24)
    service = Service(tmp_path / "other")
    try:
        with openmsmq.connect(service.address) as other:
            other.create_queue("orders", transactional=True)
            part = other.transaction(name)
            other.open_queue("orders").send("1", transaction=part)
            part.prepare()
        _, line = cli.lines("transaction", "recover", "--with", service.address)
        assert line.split()[0] == name
        assert line.split()[-1] == "aborted"
    finally:
        service.close()


def test_what_cannot_be_recovered_is_said(
    cli: Cli, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(cli, database)
    monkeypatch.setattr(Connection, "tpc_commit", lambda connection, xid: 1 / 0)
    found = cli("transaction", "recover", "--database", "dbname=shop", code=1)
    assert "failed" in found.stdout
    assert "ZeroDivisionError" in found.stdout
    assert "1 part could not be ended" in found.stderr


def test_a_database_that_is_not_there_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with cli.open():
        pass
    found = cli("transaction", "recover", "--database", "host=/nowhere", code=1)
    assert found.stderr.startswith("openmsmq: --database: ")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    found = cli("transaction", "recover", "--database", "host=/nowhere", code=2)
    assert "pip install 'openmsmq[postgresql]'" in found.stderr


def test_a_unit_is_forgotten(cli: Cli, database: Database) -> None:
    name = left(cli, database)
    assert cli.objects("transaction", "forget", name) == [{"name": name, "state": "forgotten"}]
    assert cli.objects("transaction", "list") == []
    assert "waits to be confirmed" in cli("transaction", "forget", name, code=1).stderr
