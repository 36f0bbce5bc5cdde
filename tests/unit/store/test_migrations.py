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
import json
import tarfile
from pathlib import Path
from struct import pack
from uuid import UUID

import pytest
from tests.unit.engine.station import Station, parcel, places
from tests.unit.engine.world import ME, NOW, PARTNER, World, letter

import openmsmq
from openmsmq.engine.arrivals.duplicates import KEY_SIZE, SEEN, Duplicates, Owner, seen_row
from openmsmq.engine.arrivals.incoming import INCOMING, IncomingSequence
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.outgoing.sequence_numbers import (
    DESTINATION,
    FLOOR_KEY,
    destination_digest,
    read_destination,
)
from openmsmq.engine.outgoing.sequences import OUTGOING, OutgoingSequence
from openmsmq.engine.queues.queue import Purpose, QueueProperties
from openmsmq.engine.storage.layout import NEVER, Owed, Record, owed, queue_key
from openmsmq.engine.storage.settings import SETTINGS_KEY, load_settings
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.errors import StoreTooOld
from openmsmq.limits import U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import INFINITE
from openmsmq.service.maintenance import backup, check
from openmsmq.store.format import migrate
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.memory import MemoryStore
from openmsmq.types.queues import QueueKind

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
        found = [m.text for m in manager.open_queue("tx").peek_many(9, 0)]
        assert found == [], "t1 was purged, and t3 has expired since"


# Format 3


def as_format_2(world: World) -> MemoryStore:
    """What a program that knew format 2 would have left: nothing about transfers."""
    store = MemoryStore(world.store.committed)
    writer = store.begin()
    for key, _ in list(writer.scan(Table.TRANSFER, b"", b"\xff" * 30)):
        writer.delete(Table.TRANSFER, key)
    writer.delete(Table.META, FLOOR_KEY)
    store.commit()
    return store


def migrated(store: MemoryStore, now: int) -> Station:
    """The first start of this program."""
    migrate(store.begin(), 2)
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
    stamps = [item.time_stamp for found in (station, again) for item in found.out.sequences.all]
    assert stamps == [NOW + 1, NOW + 1]


def test_messages_that_are_sent_later_follow_them(waiting: World) -> None:
    """MQQB-257, MQQB-272."""
    station = migrated(as_format_2(waiting), NOW + 50)
    station.world.send_in(station.out, letter("4", transactional=True))
    assert [item.ordinal for item in station.out.sequences.all] == [2, 3]


def test_where_nothing_waits_no_sequence_begins() -> None:
    station = migrated(as_format_2(World()), NOW)
    assert not station.rows(OUTGOING)


# Format 4


def outgoing_4(ordinal: int, queue: int, first: int) -> tuple[bytes, bytes]:
    """The row of an outgoing sequence as format 4 had it."""
    return OUTGOING + ordinal.to_bytes(4, "big"), pack("<IQ", queue, first)


def incoming_4(number: int, time: int, name: str, address: str = "192.0.2.9") -> bytes:
    """The row of an incoming sequence as format 4 had it."""
    return pack("<QIIIH", 1, number, time, 0, len(address)) + address.encode() + name.encode()


def as_format_4(writer: Writer) -> None:
    """Write the outgoing sequences as format 4 had them: one series for all destinations."""
    stamp = 0
    for key, row in list(writer.scan(Table.TRANSFER, b"", b"\xff" * 30)):
        if key.startswith((OUTGOING, DESTINATION)):
            writer.delete(Table.TRANSFER, key)
        if key.startswith(OUTGOING):
            found = OutgoingSequence.unpack(key, row)
            stamp = found.time_stamp
            writer.put(Table.TRANSFER, *outgoing_4(found.ordinal, found.queue, found.first))
    writer.put(Table.META, b"sequence", pack("<II", stamp, 1))


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
    as_format_4(writer := store.begin())
    migrate(writer, 4, to=5)
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
        assert orders.send("d", dedup_id="d") == orders.send("d", dedup_id="d")
    assert check(newer).findings == ()


# Format 5


class Old:
    """A store of format 4, and the same after the migration."""

    def __init__(self) -> None:
        self.store = MemoryStore(World().store.committed)
        self.writer = self.store.begin()

    def put(self, key: bytes, row: bytes) -> None:
        """A row about transfers."""
        self.writer.put(Table.TRANSFER, key, row)

    def outgoing(self, number: int, name: str) -> None:
        """An outgoing queue."""
        properties = QueueProperties(name, UUID(int=number), 0, 0, kind=QueueKind.OUTGOING)
        values = json.loads(properties.to_row())
        del values["purpose"]
        self.writer.put(Table.QUEUES, queue_key(number), json.dumps(values).encode())

    def migrate(self) -> dict[bytes, bytes]:
        """The rows about transfers afterwards."""
        migrate(self.writer, 4)
        self.store.commit()
        self.store.refresh()
        return self.store.committed.tables[Table.TRANSFER]


def test_outgoing_sequences_keep_their_identifiers_and_may_have_been_sent_whole() -> None:
    """Who answered is not known, nor how far it was sent: it is dialled first."""
    old = Old()
    old.outgoing(20, r"DIRECT=OS:there\private$\a")
    old.outgoing(21, r"DIRECT=OS:there\private$\b")
    for row in (outgoing_4(3, 20, 7), outgoing_4(4, 21, 8), outgoing_4(9, 20, 11)):
        old.put(*row)
    old.writer.put(Table.META, b"sequence", pack("<II", NOW - 5, 9))
    rows = old.migrate()
    found = [OutgoingSequence.unpack(key, row) for key, row in rows.items() if key[:1] == OUTGOING]
    assert [(item.id, item.queue, item.first) for item in found] == [
        ((NOW - 5, 3), 20, 7),
        ((NOW - 5, 4), 21, 8),
        ((NOW - 5, 9), 20, 11),
    ]
    assert all(item.sent == U32_MAX and item.peers == () for item in found)
    assert old.store.snapshot.get(Table.META, b"sequence") is None


def test_a_destination_goes_on_with_its_series_and_others_begin_above_it() -> None:
    old = Old()
    old.outgoing(20, r"DIRECT=OS:there\private$\a")
    old.put(*outgoing_4(3, 20, 7))
    old.put(*outgoing_4(9, 20, 11))
    old.put(*outgoing_4(4, 99, 8))  # of a queue that is gone
    old.writer.put(Table.META, b"sequence", pack("<II", NOW + 1000, 9))
    rows = old.migrate()
    ((key, row),) = [item for item in rows.items() if item[0][:1] == DESTINATION]
    assert key[1:] == destination_digest(r"DIRECT=OS:there\private$\a")
    assert read_destination(key, row)[:2] == (NOW + 1000, 9)
    core = World(old.store.committed).core
    numbers, writer = core.numbers.sequences, old.store.begin()
    known = core.queues.outgoing(parse_format_name(r"DIRECT=OS:THERE\private$\A"))
    assert numbers.begin(writer, known, 99, NOW).id == (NOW + 1000, 10)
    fresh = core.queues.outgoing(parse_format_name("DIRECT=OS:fresh\\q"))
    assert numbers.begin(writer, fresh, 99, NOW).id == (NOW + 1001, 1)


def test_an_outgoing_queue_of_an_older_store_is_a_program_s() -> None:
    old = Old()
    old.outgoing(20, r"DIRECT=OS:there\private$\a")
    row = old.writer.get(Table.QUEUES, queue_key(20))
    assert row is not None
    assert QueueProperties.from_row(row).purpose is Purpose.SEND


def test_a_store_that_was_restored_and_never_started_has_a_time_stamp_all_the_same() -> None:
    """The program that knew format 4 deleted the row then: above its last start is enough."""
    old = Old()
    old.outgoing(20, r"DIRECT=OS:there\private$\a")
    old.put(*outgoing_4(3, 20, 7))
    rows = old.migrate()
    found = [OutgoingSequence.unpack(key, row) for key, row in rows.items() if key[:1] == OUTGOING]
    assert [item.id for item in found] == [(NOW + 1, 3)]


def test_incoming_sequences_go_on_under_the_source_itself() -> None:
    old = Old()
    key = INCOMING + PARTNER.bytes_le + b"12345678"
    old.put(key, incoming_4(7, NOW, r"DIRECT=OS:here\private$\q"))
    found = IncomingSequence.unpack(old.migrate()[key])
    assert (found.id, found.number, found.time, found.address) == (1, 7, NOW, "192.0.2.9")
    assert found.source == PARTNER.bytes_le
    assert (found.may_skip, found.missing) == (False, 0)


def test_messages_that_came_lately_are_remembered_as_those_of_known_peers() -> None:
    old = Old()
    keys = [bytes([at]) * KEY_SIZE for at in (1, 2)]
    old.put(SEEN + bytes(7) + b"\1", pack("<I", NOW) + b"".join(keys))
    old.migrate()
    duplicates = Duplicates(old.store.snapshot)
    assert all(key in duplicates for key in keys)
    assert old.store.snapshot.get(Table.TRANSFER, SEEN + bytes(7) + b"\1") == seen_row(
        NOW, Owner("", is_known=True), keys
    )


def test_names_under_which_messages_came_stay_names_of_this_computer() -> None:
    """A sender that uses a name that no one gave this manager is not cut off by the upgrade."""
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
        writer.put(Table.TRANSFER, INCOMING + bytes([n]) * 24, incoming_4(1, NOW + n, name))
    migrate(writer, 4)
    store.commit()
    store.refresh()
    assert load_settings(store.snapshot).inherited_names == ("HERE.EXAMPLE", "OLD-NAME")


def test_of_too_many_names_the_newest_stay() -> None:
    store = MemoryStore()
    writer = store.begin()
    for n in range(150):
        name = f"DIRECT=OS:h{n:03}\\private$\\q"
        row = incoming_4(1, NOW + n, name)
        writer.put(Table.TRANSFER, INCOMING + n.to_bytes(24, "big"), row)
    migrate(writer, 4)
    store.commit()
    store.refresh()
    found = load_settings(store.snapshot).inherited_names
    assert (len(found), found[0], found[-1]) == (100, "H050", "H149")


def test_a_store_to_which_nothing_came_has_no_other_names() -> None:
    store = MemoryStore()
    writer = store.begin()
    migrate(writer, 4)
    store.commit()
    store.refresh()
    assert store.snapshot.get(Table.META, SETTINGS_KEY) is None


@pytest.fixture
def owned(tmp_path: Path) -> Path:
    """A store of format 4 with a subscription, which `tests/spark` has beside its checkpoint."""
    with tarfile.open(BEFORE_OWNERS) as archive:
        archive.extract("data/data.mdb", tmp_path, filter="data")
    return tmp_path / "data"


def test_a_subscription_of_format_4_has_no_owner_and_can_get_one(owned: Path) -> None:
    with openmsmq.open(owned) as manager:
        [info] = manager.subscriptions()
        assert (info.name, info.committed, info.reserved) == ("spark", 4, 5)
        assert (info.owner, info.uncommitted, info.unread) == ("", 1, 0)
        lake = manager.open_queue("orders").subscription("spark", owner="me")
        lake.bind(read=5)
        lake.commit(5)
    with openmsmq.open(owned) as manager:
        [info] = manager.subscriptions()
        assert (info.owner, info.committed, info.unread) == ("me", 5, 0)
    assert check(owned).findings == ()


# Afterwards


def test_a_backup_of_an_old_store_says_to_open_it_first(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreTooOld):
        backup(directory, tmp_path / "copy")


def test_the_store_is_whole_afterwards(directory: Path) -> None:
    openmsmq.open(directory).close()
    assert check(directory).findings == ()
