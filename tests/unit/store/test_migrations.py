"""Stores of older versions open, with all that was in them.

`format-1.mdb.gz` was written by the program that knew format 1: a queue with one message that
expires and becomes a dead letter and one that does not, a public queue, and a transactional queue
of which a prepared transaction `x1` has received `t1` and to which it sends `t3`; it was purged
after that, which took `t2`.

`format-3.mdb.gz` was written by the program that knew format 3: a queue with two messages, one of
which expires, a transactional queue with `t1`, which was aborted once, and `t2`, a prepared
transaction `x1` that has received `t1` and sends `t3`, and a message for another computer.
"""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest
from tests.unit.model.station import Station, places
from tests.unit.model.world import NOW, World, letter

import openmsmq
from openmsmq.errors import StoreTooOld
from openmsmq.manager.maintenance import backup, check
from openmsmq.model.layout import Owed, Record
from openmsmq.model.sequences import OUTGOING, SEQUENCE_KEY
from openmsmq.model.storage import Table
from openmsmq.names.format import parse_format_name
from openmsmq.store.format import migrate
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.memory import MemoryStore

OLD = Path(__file__).parent / "format-1.mdb.gz"
OLD_3 = OLD.with_name("format-3.mdb.gz")
BEFORE_OWNERS = Path(__file__).parents[2] / "spark" / "before_owners.tar.gz"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "data.mdb").write_bytes(gzip.decompress(OLD.read_bytes()))
    return tmp_path


def test_queues_and_messages_are_all_there(directory: Path) -> None:
    with openmsmq.open(directory) as manager:
        kinds = {info.name: info.kind for info in manager.queues()}
        places = ("orders", ".\\DeadLetter$")  # one of the messages has expired since
        found = [m.text for name in places for m in manager.open_queue(name).peek_many(9, 0)]
        assert kinds == {
            ".\\private$\\orders": "private",
            ".\\private$\\tx": "private",
            ".\\pub": "public",
        }
        assert sorted(map(str, found)) == ["a", "b"]


def test_messages_know_what_is_owed_for_them_and_when_they_expire(directory: Path) -> None:
    store = LmdbStore.open(directory)
    try:
        rows = store.snapshot.scan(Table.INDEX, b"", b"\xff" * 12)
        records = [Record.unpack(raw) for _, raw in rows]
        expiring = list(store.snapshot.scan(Table.EXPIRY, b"", b"\xff" * 16))
    finally:
        store.close()
    assert [record.flags for record in records] == [Owed.DEAD_LETTER, 0, Owed.TRANSACTIONAL]
    assert len(expiring) == 1
    assert int.from_bytes(expiring[0][0][:4], "big") == records[0].expires


@pytest.mark.parametrize(("outcome", "left"), [("commit", ["t3"]), ("abort", [])])
def test_a_prepared_transaction_ends_as_it_would_have(
    directory: Path, outcome: str, left: list[str]
) -> None:
    with openmsmq.open(directory) as manager:
        assert manager.prepared() == ["x1"]
        assert manager.prepared_ages()["x1"] < 60, "since it was opened: no more is known"
        if outcome == "commit":
            manager.commit_prepared("x1")
        else:
            manager.abort_prepared("x1")  # what was purged meanwhile does not come back
        statistics = manager.statistics()
        assert statistics.get("arrived", 0) == len(left)


# Format 3


def as_format_2(world: World) -> MemoryStore:
    """What a program that knew format 2 would have left: nothing about transfers."""
    store = MemoryStore(world.store.committed)
    writer = store.begin()
    for key, _ in list(writer.scan(Table.TRANSFER, b"", b"\xff" * 30)):
        writer.delete(Table.TRANSFER, key)
    writer.delete(Table.META, SEQUENCE_KEY)
    store.commit()
    return store


def migrated(store: MemoryStore, now: int) -> Station:
    """The first start of a program that knows format 3."""
    migrate(store.begin(), 2, to=3)
    store.commit()
    return Station(World(store.committed, now))


@pytest.fixture
def waiting() -> World:
    """Messages wait to be sent to three queues elsewhere, to the third only plain ones."""
    world = World()
    queues = world.core.queues
    away = [queues.outgoing(parse_format_name(f"DIRECT=OS:there\\{name}")) for name in "utp"]
    for queue in away:
        queue.pins += 1
    world.queue("here", transactional=True)
    world.send_in(world.find("here"), letter("local", transactional=True))
    for queue in away:
        world.send(queue, letter("plain"))
    for queue in away[:2]:
        for body in ("1", "2", "3"):
            world.send_in(queue, letter(body, transactional=True))
    return world


def test_transactional_messages_that_wait_get_a_sequence(waiting: World) -> None:
    """MQQB-256, MQQB-259: one for each queue, and each message keeps its number from then on."""
    station = migrated(as_format_2(waiting), NOW + 50)
    assert len(station.rows(OUTGOING)) == 2
    station.pump()
    sent = places(station.pump())
    assert sent == [(2, 1, 0), (2, 2, 1), (2, 3, 2)]
    again = station.restart(50)
    again.pump()
    assert places(again.pump()) == sent
    stamps = [found.core.numbers.sequences.time_stamp for found in (station, again)]
    assert stamps == [NOW + 50, NOW + 50]


def test_messages_that_are_sent_later_follow_them(waiting: World) -> None:
    """MQQB-257, MQQB-272."""
    station = migrated(as_format_2(waiting), NOW + 50)
    station.world.send_in(station.out, letter("4", transactional=True))
    assert [item.ordinal for item in station.out.sequences.all] == [2, 3]


def test_where_nothing_waits_no_sequence_begins() -> None:
    station = migrated(as_format_2(World()), NOW)
    assert not station.rows(OUTGOING)
    assert station.core.numbers.sequences.ordinal == 0


# Format 4


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    (tmp_path / "data.mdb").write_bytes(gzip.decompress(OLD_3.read_bytes()))
    return tmp_path


def test_a_store_of_format_3_opens_with_all_that_was_in_it(newer: Path) -> None:
    with openmsmq.open(newer) as manager:
        orders, tx = manager.open_queue("orders"), manager.open_queue("tx")
        assert [m.text for m in orders.peek_many(9, 0)] == ["a", "b"]
        assert manager.prepared() == ["x1"]
        manager.commit_prepared("x1")
        found = [(m.text, m.abort_count) for m in tx.peek_many(9, 0)]
        assert found == [("t2", 0), ("t3", 0)]
        assert [info.messages for info in manager.outgoing()] == [1]
        assert (tx.info().abort_limit, tx.info().poison, tx.info().delayed) == (0, "subqueue", 0)
    assert check(newer).findings == ()


def test_it_can_do_then_what_only_format_4_can(newer: Path) -> None:
    with openmsmq.open(newer) as manager:
        tx = manager.open_queue("tx")
        manager.abort_prepared("x1")
        assert tx.peek(0).abort_count == 2
        tx.set(abort_limit=3, retry_delay=60)
        transaction = manager.transaction()
        tx.receive(0, transaction=transaction)
        transaction.abort()
        assert [m.text for m in manager.open_queue(".\\private$\\tx;poison").peek_many(9, 0)] == [
            "t1"
        ]
        orders = manager.open_queue("orders")
        orders.send("c", deliver_at=60)
        assert orders.send("d", once="d") == orders.send("d", once="d")
    assert check(newer).findings == ()


# Format 5


@pytest.fixture
def owned(tmp_path: Path) -> Path:
    """A store of format 4 with a subscription, which `tests/spark` has beside its checkpoint."""
    with tarfile.open(BEFORE_OWNERS) as archive:
        archive.extract("data/data.mdb", tmp_path, filter="data")
    return tmp_path / "data"


def test_a_subscription_of_format_4_has_no_owner_and_can_get_one(owned: Path) -> None:
    with openmsmq.open(owned) as manager:
        [info] = manager.subscriptions()
        assert (info.name, info.done, info.end) == ("spark", 4, 5)
        assert (info.owner, info.waiting, info.unread) == ("", 1, 0)
        lake = manager.open_queue("orders").subscription("spark", owner="me")
        lake.bind(read=5)
        lake.finish(5)
    with openmsmq.open(owned) as manager:
        [info] = manager.subscriptions()
        assert (info.owner, info.done, info.unread) == ("me", 5, 0)
    assert check(owned).findings == ()


# Afterwards


def test_a_backup_of_an_old_store_says_to_open_it_first(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreTooOld):
        backup(directory, tmp_path / "copy")


def test_the_store_is_whole_afterwards(directory: Path) -> None:
    openmsmq.open(directory).close()
    assert check(directory).findings == ()
