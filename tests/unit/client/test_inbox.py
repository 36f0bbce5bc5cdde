"""An inbox remembers what was dealt with, together with what the program wrote."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import openmsmq
from openmsmq import Inbox
from openmsmq.client import inbox as module
from openmsmq.errors import InvalidParameter


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE orders (text TEXT)")
    made.commit()
    yield made
    made.close()


def rows(database: sqlite3.Connection, table: str = "orders") -> int:
    count: int = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
    return count


def test_a_message_is_new_once(database: sqlite3.Connection) -> None:
    inbox = Inbox(database)
    for _ in range(3):
        with inbox.process("m1") as is_new:
            if is_new:
                database.execute("INSERT INTO orders VALUES ('m1')")
    assert rows(database) == 1


def test_what_fails_was_not_dealt_with(database: sqlite3.Connection) -> None:
    inbox = Inbox(database)

    def fail() -> None:
        with inbox.process("m1") as is_new:
            assert is_new
            database.execute("INSERT INTO orders VALUES ('m1')")
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fail()
    assert rows(database) == 0
    with inbox.process("m1") as is_new:
        assert is_new


def test_messages_go_by_their_ids(tmp_path: Path) -> None:
    """A program that was gone before it could end the transaction gets the message again."""
    with openmsmq.open(tmp_path / "data") as manager, Inbox(tmp_path / "inbox.db") as inbox:
        queue = manager.create_queue("orders", transactional=True)
        with manager.transaction() as transaction:
            queue.send("order", transaction=transaction)
        seen = []
        for ends in ("abort", "commit"):
            transaction = manager.transaction()
            message = queue.receive(0, transaction=transaction)
            with inbox.process(message) as is_new:
                seen.append((message.id, is_new))
            getattr(transaction, ends)()
    assert seen[0][0] == seen[1][0]
    assert [is_new for _, is_new in seen] == [True, False]


def test_it_lasts(tmp_path: Path) -> None:
    for expected in (True, False):
        with Inbox(tmp_path / "inbox.db") as inbox, inbox.process("m1") as is_new:
            assert is_new is expected


def test_the_oldest_are_forgotten(
    database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRIM_EVERY", 5)
    inbox = Inbox(database, limit=10)
    for number in range(100):
        with inbox.process(str(number)):
            pass
    assert 10 <= rows(database, "openmsmq_inbox") <= 15
    with inbox.process("99") as is_new:
        assert not is_new
    with inbox.process("3") as is_new:
        assert is_new


def test_two_inboxes_may_share_a_database(database: sqlite3.Connection) -> None:
    for table in ("one", "two"):
        with Inbox(database, table=table).process("m1") as is_new:
            assert is_new


def test_a_connection_of_the_programs_own_stays_open(database: sqlite3.Connection) -> None:
    with Inbox(database):
        pass
    assert rows(database) == 0


@pytest.mark.parametrize(
    "options", [{"table": "x; DROP TABLE orders"}, {"table": ""}, {"limit": 0}]
)
def test_other_options_are_refused(
    database: sqlite3.Connection, options: dict[str, str | int]
) -> None:
    with pytest.raises(InvalidParameter):
        Inbox(database, **options)  # type: ignore[arg-type] # that is the point


def test_a_connection_without_transactions_is_refused() -> None:
    database = sqlite3.connect(":memory:", isolation_level=None)
    if hasattr(database, "autocommit"):  # since Python 3.12
        database.autocommit = True
    with pytest.raises(InvalidParameter, match="autocommit"):
        Inbox(database)
    database.close()


class Other(sqlite3.Connection):
    """A connection of another kind of database."""


@pytest.mark.parametrize(("style", "mark"), [("pyformat", "%s"), ("format", "%s"), ("qmark", "?")])
def test_values_are_marked_as_the_database_wants(
    monkeypatch: pytest.MonkeyPatch, style: str, mark: str
) -> None:
    other = ModuleType("other_db")
    other.paramstyle = style  # type: ignore[attr-defined] # as the DB-API has it
    monkeypatch.setitem(sys.modules, "other_db", other)
    monkeypatch.setattr(Other, "__module__", "other_db.connections")
    with sqlite3.connect(":memory:", factory=Other) as database:
        assert module._mark_of(database) == mark


def test_a_database_that_marks_values_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "paramstyle", "named")
    with sqlite3.connect(":memory:") as database, pytest.raises(InvalidParameter, match="named"):
        Inbox(database)
