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
from pathlib import Path

import pytest
from tests.unit.model.station import Station, parcel, places
from tests.unit.model.world import ME, NOW, World, letter

import openmsmq
from openmsmq.errors import StoreTooOld
from openmsmq.manager.maintenance import backup, check
from openmsmq.model.committing import NewMessage
from openmsmq.model.incoming import INCOMING, IncomingSequence
from openmsmq.model.layout import NEVER, Owed, Record, owed
from openmsmq.model.sequences import OUTGOING, SEQUENCE_KEY
from openmsmq.model.settings import SETTINGS_KEY, Settings
from openmsmq.model.storage import Table
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import INFINITE
from openmsmq.store.format import migrate
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.memory import MemoryStore

OLD = Path(__file__).parent / "format-1.mdb.gz"
OLD_3 = OLD.with_name("format-3.mdb.gz")


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


def test_messages_that_wait_for_their_last_word_expire() -> None:
    """AMB-50: an older program kept them for ever."""
    station = Station()
    for number, receive in ((1, 10), (2, INFINITE)):
        packet = parcel(
            str(number),
            number=number,
            source=ME,
            place=(0, 0, 0),
            dead_letter=True,
            receive=receive,
        )
        new = NewMessage(packet, 0, NEVER, express=False, flags=owed(packet))
        station.world.send_in(station.out, new)
    station.pump()
    station.order(1, 2)
    assert not station.world.rows(Table.EXPIRY)
    store = MemoryStore(station.world.store.committed)
    migrate(store.begin(), 4, to=5)
    store.commit()
    world = World(store.committed, NOW + 12)
    dead = world.core.queues.transactional_dead_letter
    world.tick()
    assert world.bodies(dead) == []
    world.tick(1)
    assert world.bodies(dead) == ["1"]
    world.tick(10**6)
    assert Station(world).unconfirmed == 1


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


def test_names_under_which_messages_came_stay_names_of_this_computer() -> None:
    """A sender that uses a name that nobody gave this manager is not cut off by the upgrade."""
    store = MemoryStore()
    names = [
        "DIRECT=OS:Old-Name\\private$\\q",
        "DIRECT=OS:here.example\\private$\\q",
        "DIRECT=TCP:192.0.2.1\\private$\\q",
        f"PRIVATE={ME}\\00000008",
        "nonsense",
    ]
    writer = store.begin()
    for n, name in enumerate(names):
        row = IncomingSequence(1, 1, NOW + n, 0, "192.0.2.9", name).pack()
        writer.put(Table.TRANSFER, INCOMING + bytes([n]) * 24, row)
    migrate(writer, 4)
    store.commit()
    store.refresh()
    assert Settings.load(store.snapshot).inherited_names == ("HERE.EXAMPLE", "OLD-NAME")


def test_of_too_many_names_the_newest_stay() -> None:
    store = MemoryStore()
    writer = store.begin()
    for n in range(150):
        name = f"DIRECT=OS:h{n:03}\\private$\\q"
        row = IncomingSequence(1, 1, NOW + n, 0, "192.0.2.9", name).pack()
        writer.put(Table.TRANSFER, INCOMING + n.to_bytes(24, "big"), row)
    migrate(writer, 4)
    store.commit()
    store.refresh()
    found = Settings.load(store.snapshot).inherited_names
    assert (len(found), found[0], found[-1]) == (100, "H050", "H149")


def test_a_store_to_which_nothing_came_has_no_other_names() -> None:
    store = MemoryStore()
    writer = store.begin()
    migrate(writer, 4)
    store.commit()
    store.refresh()
    assert store.snapshot.get(Table.META, SETTINGS_KEY) is None


# Afterwards


def test_a_backup_of_an_old_store_says_to_open_it_first(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreTooOld):
        backup(directory, tmp_path / "copy")


def test_the_store_is_whole_afterwards(directory: Path) -> None:
    openmsmq.open(directory).close()
    assert check(directory).findings == ()
