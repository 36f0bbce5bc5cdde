"""A check finds what does not fit together, and nothing in a store that is whole."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import openmsmq
import openmsmq.store.check.check as module
from openmsmq import Message
from openmsmq.engine.commit.number_reservation import ARRIVAL_KEY, pack_number
from openmsmq.engine.commit.queue_counts import QUEUE_NUMBER_KEY
from openmsmq.engine.commit.statistics import STATISTICS_KEY
from openmsmq.engine.commit.timeline import SHIFT_KEY
from openmsmq.engine.messages.dedup import DEDUP, DEDUP_STATE_KEY, GROUP
from openmsmq.engine.outgoing.sequence_numbers import DESTINATION
from openmsmq.engine.outgoing.sequences import OUTGOING, OutgoingSequence
from openmsmq.engine.storage.history import HISTORY_KEY
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    DELETED_ROW,
    JOURNAL_BIT,
    NEVER,
    PURGED_ROW,
    READ_ROW,
    SUBSCRIPTION_ROW,
    Owed,
    Record,
    due_key,
    expiry_key,
    index_key,
    pack_counters,
    packet_key,
    queue_key,
    split_expiry_key,
    split_index_key,
)
from openmsmq.engine.storage.recovery import IDENTITY_KEY
from openmsmq.engine.storage.runs import MessageRun
from openmsmq.engine.storage.settings import SETTINGS_KEY
from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.engine.transactions.staged import read_sent
from openmsmq.engine.transactions.transaction import (
    HEADER,
    MOVED,
    RECEIVED,
    SENT,
    _key,
    _place,
)
from openmsmq.errors import StoreForeign, StoreInUse, StoreMissing
from openmsmq.store.check.check import Report, check, check_tables
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.lock import keep_files
from openmsmq.types.lookup import ARRIVAL_MASK

END = b"\xff" * 20
LARGE = bytes(9000)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A store with all kinds of rows, not open."""
    place = tmp_path / "data"
    with openmsmq.open(place) as manager:
        orders = manager.create_queue("orders")
        for number in range(10):
            orders.send(Message(b"%d" % number))
        orders.send(Message(LARGE, priority=7))
        books = manager.create_queue("books", transactional=True)
        with manager.transaction() as transaction:
            books.send(Message(b"first"), transaction=transaction)
        waiting = manager.transaction("waiting")
        books.receive(timeout=0, transaction=waiting)
        books.send(Message(LARGE), transaction=waiting)
        books.send(Message(b"small"), transaction=waiting)
        waiting.prepare()
        kept = manager.create_queue("kept", journal=True)
        kept.send_many([Message(b"%d" % number, time_to_be_received=9999) for number in range(6)])
        kept.receive_many(2, timeout=0)
        [third, *_] = kept.peek_many(9, timeout=0)
        kept.move(third.lookup_id, "later")
    return place


def tamper(directory: Path, change: Callable[[Writer], object]) -> None:
    """Change rows as nothing in the product does."""
    with closing(LmdbStore.open(directory)) as store:
        change(store.begin())
        store.commit()


def rows(reader: Snapshot, table: Table) -> list[tuple[bytes, bytes]]:
    return list(reader.scan(table, b"", END))


def numbers(reader: Snapshot, name: str) -> int:
    """The number of a queue, by its name."""
    for key, row in rows(reader, Table.QUEUES):
        if key[-1] == 0 and f'\\{name}"'.encode() in row:
            return int.from_bytes(key[:-1], "big")
    raise AssertionError(name)


def found(directory: Path) -> list[str]:
    """What a check finds."""
    return list(check(directory).findings)


def test_a_whole_store_is_found_whole(directory: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    before = (directory / "data.mdb").read_bytes()
    report = check(directory, lambda *step: reported.append(step))
    assert report.findings == ()
    assert report.is_whole
    assert (report.queues, report.messages, report.transactions, report.more) == (3, 18, 1, 0)
    assert report.bytes > len(LARGE)
    assert report.size == len(before) == (directory / "data.mdb").stat().st_size
    assert (directory / "data.mdb").read_bytes() == before
    assert list(dict.fromkeys(what for what, _, _ in reported)) == [
        "checking pages",
        "checking rows",
    ]
    assert reported[-1][1] == reported[-1][2] > 20


def test_a_store_that_was_never_used_is_whole(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path).close()
    report = check(tmp_path)
    assert report.is_whole
    assert (report.queues, report.messages) == (0, 0)


def test_progress_is_reported_while_many_rows_are_checked(directory: Path) -> None:
    with openmsmq.open(directory) as manager:
        manager.open_queue("orders").send_many([Message(b"x", journal=True)] * 3000)
    reported: list[tuple[str, int, int]] = []
    assert check(directory, lambda *step: reported.append(step)).is_whole
    done = [done for what, done, _ in reported if what == module.CHECKING_ROWS]
    assert done[0] == 4096
    assert done == sorted(done)


def test_references_that_do_not_fit_in_memory_change_nothing(directory: Path) -> None:
    with closing(LmdbStore.open(directory)) as store:
        reports = [check_tables(store.snapshot, 0, in_memory=count) for count in (1, 3, 1000)]
    assert reports[0].is_whole
    assert reports[0] == reports[1] == reports[2]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_a_manager_does_leaves_a_whole_store(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for _ in range(4):
        with openmsmq.open(tmp_path) as manager:
            for _ in range(40):
                act(manager, chance)
            # Not committed: it is aborted when the store is opened again.
            left = manager.transaction()
            queue = manager.create_queue(f"t{chance.random()}", transactional=True)
            queue.send_many([Message(LARGE)] * 40, transaction=left)
        report = check(tmp_path)
        assert report.findings == ()
        assert report.transactions


def act(manager: openmsmq.Manager, chance: random.Random) -> None:
    """Do one thing or another."""
    names = [info.name for info in manager.queues()]
    if not names or chance.random() < 0.1:
        manager.create_queue(
            f"q{chance.random()}",
            transactional=(transactional := chance.random() < 0.5),
            journal=chance.random() < 0.5,
            abort_limit=chance.choice((0, 1, 2)) if transactional else 0,
            retry_delay=chance.choice((0, 60)) if transactional else 0,
        )
        return
    queue = manager.open_queue(chance.choice(names))
    messages = [
        Message(
            bytes(chance.choice((10, 4000, 9000))),
            time_to_be_received=chance.choice((None, 9999)),
            dead_letter=chance.random() < 0.5,
        )
        for _ in range(chance.randrange(1, 30))
    ]
    action = chance.randrange(8)
    if chance.random() < 0.3:
        for message in queue.peek_many(3, timeout=0):
            queue.move(message.lookup_id, "retry")
    if action == 0:
        queue.purge()
    elif action == 1:
        manager.delete_queue(queue.info().name)
    elif not queue.info().transactional:
        ids = [f"{chance.randrange(50)}" for _ in messages] if action == 2 else None
        queue.send_many(messages, dedup_ids=ids, deliver_at=chance.choice((None, 0.01, 60)))
        queue.receive_many(chance.randrange(1, 30), timeout=0)
    else:
        name = f"x{chance.random()}" if action == 2 else ""
        transaction = manager.transaction(name)
        queue.send_many(messages, transaction=transaction)
        queue.receive_many(chance.randrange(1, 30), timeout=0, transaction=transaction)
        if name:
            transaction.prepare()
        elif action == 3:
            transaction.abort()
        else:
            transaction.commit()


@pytest.fixture
def sending(tmp_path: Path) -> Path:
    """A store with transactional messages on their way, not open."""
    place = tmp_path / "sending"
    with openmsmq.open(place) as manager:
        away = manager.open_queue("DIRECT=OS:other\\private$\\t")
        with manager.transaction() as transaction:
            away.send_many([Message(b"1"), Message(b"2")], transaction=transaction)
    return place


def test_messages_on_their_way_are_no_fault(sending: Path) -> None:
    assert check(sending).findings == ()


def test_a_transactional_message_without_a_sequence_is_found(sending: Path) -> None:
    def lose(writer: Writer) -> None:
        [key] = [key for key, _ in rows(writer, Table.TRANSFER) if key.startswith(OUTGOING)]
        writer.delete(Table.TRANSFER, key)

    tamper(sending, lose)
    sentences = found(sending)
    assert len(sentences) == 2
    for sentence in sentences:
        assert sentence.startswith("Message ")
        assert sentence.endswith(
            "of queue DIRECT=OS:other\\private$\\t has no sequence to be sent in."
        )


def test_a_sequence_of_no_queue_is_found(directory: Path) -> None:
    tamper(directory, lambda writer: OutgoingSequence(1, 1, 99, 5).write(writer))
    assert found(directory) == [
        "Sequence 1 is of queue number 99, from which nothing is sent.",
    ]


def test_a_sequence_that_its_destination_does_not_know_is_found(sending: Path) -> None:
    def lose(writer: Writer) -> None:
        [key] = [key for key, _ in rows(writer, Table.TRANSFER) if key.startswith(DESTINATION)]
        writer.delete(Table.TRANSFER, key)

    tamper(sending, lose)
    (sentence,) = found(sending)
    assert sentence.startswith("The number of sequence ")
    assert sentence.endswith(" would be given out again.")


def test_rows_about_transfers_that_make_no_sense_are_found(directory: Path) -> None:
    def spoil(writer: Writer) -> None:
        writer.put(Table.TRANSFER, b"?", b"")

    tamper(directory, spoil)
    assert found(directory) == [
        "The row 3f of the table transfer makes no sense.",
    ]


def test_a_queue_that_is_being_emptied_is_no_fault(directory: Path) -> None:
    def delete(writer: Writer) -> None:
        number = numbers(writer, "orders")
        properties = writer.get(Table.QUEUES, queue_key(number))
        assert properties is not None
        writer.delete(Table.QUEUES, queue_key(number))
        writer.delete(Table.QUEUES, queue_key(number, COUNTERS_ROW))
        writer.put(Table.QUEUES, queue_key(number, DELETED_ROW), properties)

    tamper(directory, delete)
    report = check(directory)
    assert report.findings == ()
    assert report.queues == 2


def test_a_message_of_an_unknown_queue_is_found(directory: Path) -> None:
    def lose(writer: Writer) -> None:
        number = numbers(writer, "orders")
        for row in (0, COUNTERS_ROW):
            writer.delete(Table.QUEUES, queue_key(number, row))

    tamper(directory, lose)
    [sentence] = found(directory)
    assert sentence.startswith("11 messages lie in queue number ")


def test_wrong_counters_are_found(directory: Path) -> None:
    tamper(
        directory,
        lambda writer: writer.put(
            Table.QUEUES,
            queue_key(numbers(writer, "orders"), COUNTERS_ROW),
            pack_counters(7, 70),
        ),
    )
    [sentence] = found(directory)
    assert sentence.startswith("There are 11 messages of ")
    assert sentence.endswith("in queue private$\\orders, which counts 7 of 70 bytes.")


def test_rows_about_a_queue_without_properties_are_found(directory: Path) -> None:
    tamper(
        directory,
        lambda writer: writer.put(Table.QUEUES, queue_key(77, COUNTERS_ROW), pack_counters(0, 0)),
    )
    assert found(directory) == ["There are rows about queue number 77, but not its properties."]


def test_two_queues_with_one_name_are_found(directory: Path) -> None:
    def repeat(writer: Writer) -> None:
        row = writer.get(Table.QUEUES, queue_key(numbers(writer, "orders")))
        assert row is not None
        writer.put(Table.QUEUES, queue_key(8), row.replace(b"orders", b"ORDERS"))

    tamper(directory, repeat)
    assert found(directory) == ["There are two queues with the name private$\\orders."]


def test_a_message_without_its_packet_is_found(directory: Path) -> None:
    def lose(writer: Writer) -> None:
        _, row = rows(writer, Table.INDEX)[3]
        writer.delete(Table.PACKETS, packet_key(Record.unpack(row).packet_number, 0))
        writer.delete(Table.PACKETS, packet_key(numbers_of_sent(writer)[1], 0))

    tamper(directory, lose)
    first, second = found(directory)
    assert first.startswith("Message ")
    assert first.endswith(" of queue private$\\orders has lost its packet.")
    assert second == "A message to queue private$\\books in a transaction has lost its packet."


def numbers_of_sent(reader: Snapshot) -> list[int]:
    """The packets of messages that the transaction has sent."""
    found = rows(reader, Table.TRANSACTIONS)
    return [read_sent(row).number for key, row in found if _key.unpack(key)[1] == SENT]


def large_packet(reader: Snapshot) -> int:
    """The number of a packet in several pieces that a message in a queue has."""
    records = (Record.unpack(row) for _, row in rows(reader, Table.INDEX))
    return next(record.packet_number for record in records if record.size > len(LARGE))


def test_a_packet_that_lost_a_piece_is_found(directory: Path) -> None:
    tamper(
        directory,
        lambda writer: writer.delete(Table.PACKETS, packet_key(large_packet(writer), 1)),
    )
    [sentence] = found(directory)
    assert " of queue private$\\orders has a packet of " in sentence
    assert " bytes in place of " in sentence


def test_a_packet_in_the_wrong_pieces_is_found(directory: Path) -> None:
    def misplace(writer: Writer) -> None:
        number = large_packet(writer)
        piece = writer.get(Table.PACKETS, packet_key(number, 2))
        assert piece is not None
        writer.delete(Table.PACKETS, packet_key(number, 2))
        writer.put(Table.PACKETS, packet_key(number, 5), piece)

    tamper(directory, misplace)
    [sentence] = found(directory)
    assert sentence.endswith(" of queue private$\\orders has a packet in the wrong pieces.")


def test_packets_without_a_message_are_found(directory: Path) -> None:
    def add(writer: Writer) -> None:
        writer.put(Table.PACKETS, packet_key(0, 0), b"first")
        writer.put(Table.PACKETS, packet_key(1 << 40, 0), b"last")
        writer.put(Table.PACKETS, packet_key(1 << 40, 1), b"piece")

    tamper(directory, add)
    assert found(directory) == [
        "Packet 0 of 5 bytes belongs to no message.",
        "Packet 1099511627776 of 9 bytes belongs to no message.",
    ]


def test_a_packet_of_two_messages_is_found(directory: Path) -> None:
    def share(writer: Writer) -> None:
        messages = [row for row in rows(writer, Table.INDEX) if split_index_key(row[0])[1] >> 56]
        (_, one), (key, two) = messages[:2]
        number = Record.unpack(one).packet_number
        writer.put(Table.INDEX, key, Record.unpack(two)._replace(packet_number=number).pack())

    tamper(directory, share)
    shared, lost = found(directory)
    assert shared.endswith(" belongs to 2 messages.")
    assert lost.endswith(" belongs to no message.")


@pytest.fixture
def with_run(tmp_path: Path) -> Path:
    """A store with a run of 8 messages, of which the second was moved, and the third received."""
    place = tmp_path / "data"
    with openmsmq.open(place) as manager:
        queue = manager.create_queue("orders")
        queue.send_many([Message(b"x" * number) for number in range(1, 9)])
        lookups = [message.lookup_id for message in queue.peek_many(9, timeout=0)]
        queue.move(lookups[1], "later")
        queue.receive_by_lookup_id(lookups[2])
    return place


def the_run(reader: Snapshot) -> MessageRun:
    [(key, row)] = rows(reader, Table.RUNS)
    return MessageRun.unpack(key, row)


def test_a_store_with_a_run_is_found_whole(with_run: Path) -> None:
    report = check(with_run)
    assert report.is_whole
    assert report.messages == 7


def test_a_message_in_a_run_and_in_the_index_is_found(with_run: Path) -> None:
    def double(writer: Writer) -> None:
        run = the_run(writer)
        number = run.record.packet_number + 900
        record = Record(number, 1, 0, NEVER)
        writer.put(Table.INDEX, index_key(run.queue, run.first + 4), record.pack())
        writer.put(Table.PACKETS, packet_key(number, 0), b"x")

    tamper(with_run, double)
    sentence, counted = found(with_run)
    assert sentence.endswith(" of queue private$\\orders is in a run and in the index.")
    assert counted.startswith("There are 7 messages of ")


@pytest.mark.parametrize("missing", [0, 1])
def test_a_run_whose_last_number_would_be_given_out_again_is_found(
    with_run: Path, missing: int
) -> None:
    with closing(LmdbStore.open(with_run)) as store:
        last = the_run(store.snapshot).end - 1
    number = (last & ARRIVAL_MASK) - missing
    tamper(with_run, lambda writer: writer.put(Table.META, ARRIVAL_KEY, pack_number(number)))
    expected = f"The number of message {last} of queue private$\\orders would be given out again."
    assert (expected in found(with_run)) is bool(missing)


def test_a_run_without_a_part_of_its_blob_is_found(with_run: Path) -> None:
    tamper(with_run, lambda writer: writer.delete(Table.PACKETS, the_run(writer).packet_keys[0]))
    [sentence] = found(with_run)
    assert sentence.endswith(" of queue private$\\orders has lost its packet.")


def test_a_run_that_counts_messages_which_left_it_is_found(with_run: Path) -> None:
    def revive(writer: Writer) -> None:
        run = the_run(writer)
        run.gone = 2
        writer.put(Table.RUNS, run.key, run.pack())

    tamper(with_run, revive)
    [sentence] = found(with_run)
    assert sentence.startswith("There are 7 messages of ")
    assert "in queue private$\\orders, which counts 6 of " in sentence


def test_messages_of_a_run_that_lies_in_another_are_found(with_run: Path) -> None:
    def overlap(writer: Writer) -> None:
        run = the_run(writer)
        writer.put(Table.RUNS, index_key(run.queue, run.first + 1), run.pack())

    tamper(with_run, overlap)
    assert any(sentence.endswith(" is in two runs.") for sentence in found(with_run))


def test_a_run_of_messages_that_expire_is_found(with_run: Path) -> None:
    def let_expire(writer: Writer) -> None:
        run = the_run(writer)
        run.record = run.record._replace(expires=99)
        writer.put(Table.RUNS, run.key, run.pack())

    tamper(with_run, let_expire)
    [sentence] = found(with_run)
    assert sentence.endswith(" of queue private$\\orders would never expire.")


def test_a_run_of_messages_that_are_owed_something_is_found(with_run: Path) -> None:
    def let_owe(writer: Writer) -> None:
        run = the_run(writer)
        run.record = run.record._replace(flags=Owed.JOURNAL)
        writer.put(Table.RUNS, run.key, run.pack())

    tamper(with_run, let_owe)
    [sentence] = found(with_run)
    assert sentence.endswith(" of queue private$\\orders cannot be in a run.")


@pytest.fixture
def with_outgoing_run(tmp_path: Path) -> Path:
    """A store with a run of an outgoing queue, whose messages expire."""
    place = tmp_path / "data"
    with openmsmq.open(place) as manager, manager.transaction() as transaction:
        queue = manager.open_queue(r"DIRECT=OS:there\private$\q")
        queue.send_many([Message(b"x")] * 8, transaction=transaction)
    return place


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (Table.EXPIRY, "would never expire."),
        (Table.TRANSFER, "has no sequence to be sent in."),
    ],
)
def test_a_run_that_cannot_leave_is_found(
    with_outgoing_run: Path, table: Table, sentence: str
) -> None:
    def forget(writer: Writer) -> None:
        for key, _ in rows(writer, table):
            writer.delete(table, key)

    assert not found(with_outgoing_run)
    tamper(with_outgoing_run, forget)
    assert any(one.endswith(sentence) for one in found(with_outgoing_run))


def test_the_end_of_a_run_that_is_not_there_is_found(with_outgoing_run: Path) -> None:
    def forget(writer: Writer) -> None:
        [(key, row)] = rows(writer, Table.EXPIRY)
        expires, *place = split_expiry_key(key)
        writer.put(Table.EXPIRY, expiry_key(expires + 1, *place), row)

    tamper(with_outgoing_run, forget)
    [sentence] = found(with_outgoing_run)
    assert sentence.endswith(" expires but is not there.")


def test_places_that_cannot_be_are_found(directory: Path) -> None:
    def misplace(writer: Writer) -> None:
        key, row = rows(writer, Table.INDEX)[0]
        number, lookup = split_index_key(key)
        writer.delete(Table.INDEX, key)
        writer.put(Table.INDEX, index_key(number, 9 << 56 | lookup), row)

    tamper(directory, misplace)
    [sentence] = found(directory)
    assert sentence.endswith(" has no possible priority.")


def test_numbers_that_would_be_given_out_again_are_found(directory: Path) -> None:
    tamper(directory, lambda writer: writer.put(Table.META, ARRIVAL_KEY, pack_number(4)))
    sentences = found(directory)
    assert len(sentences) == 18 - 4
    assert sentences[0].startswith("The number of message ")
    assert sentences[0].endswith(" of queue private$\\orders would be given out again.")


@pytest.mark.parametrize(
    ("table", "key", "row"),
    [
        (Table.META, ARRIVAL_KEY, b"short"),
        (Table.META, IDENTITY_KEY, b"too long for an identity"),
        (Table.QUEUES, queue_key(77), b"no properties"),
        (Table.QUEUES, queue_key(77), b"{}"),
        (Table.QUEUES, queue_key(77), b"[]"),
        (Table.QUEUES, queue_key(77, COUNTERS_ROW), b"short"),
        (Table.QUEUES, queue_key(77, 99), b"unknown"),
        (Table.QUEUES, queue_key(77, PURGED_ROW), b"short"),
        (Table.INDEX, b"short", bytes(36)),
        (Table.INDEX, index_key(1, 1), b"short"),
        (Table.RUNS, b"short", bytes(60)),
        (Table.RUNS, index_key(1, 1), b"short"),
        (Table.RUNS, index_key(1, 1), bytes(60)),
        (Table.PACKETS, b"short", b""),
        (Table.TRANSACTIONS, b"short", b""),
        (Table.TRANSACTIONS, _key.pack(1, SENT, 0), b"short"),
        (Table.TRANSACTIONS, _key.pack(1, RECEIVED, 0), b"short"),
        (Table.TRANSACTIONS, _key.pack(1, HEADER, 0), b"{}"),
        (Table.TRANSACTIONS, _key.pack(1, HEADER, 0), b"\xff"),
        (Table.TRANSACTIONS, _key.pack(1, MOVED, 0), b"short"),
        (Table.TRANSACTIONS, _key.pack(1, 99, 0), b""),
        (Table.EXPIRY, b"short", b""),
    ],
    ids=repr,
)
def test_rows_that_make_no_sense_are_found(
    directory: Path, table: Table, key: bytes, row: bytes
) -> None:
    tamper(directory, lambda writer: writer.put(table, key, row))
    expected = f"The row {key.hex()} of the table {table.name.lower()} makes no sense."
    assert expected in found(directory)


def transaction_number(reader: Snapshot) -> int:
    number: int = _key.unpack(rows(reader, Table.TRANSACTIONS)[0][0])[0]
    return number


def test_a_transaction_that_lacks_a_row_is_found(directory: Path) -> None:
    def lose(writer: Writer) -> None:
        key, row = rows(writer, Table.TRANSACTIONS)[0]
        writer.delete(Table.TRANSACTIONS, key)
        writer.delete(Table.PACKETS, packet_key(read_sent(row).number, 0))
        writer.delete(Table.PACKETS, packet_key(read_sent(row).number, 1))
        writer.delete(Table.PACKETS, packet_key(read_sent(row).number, 2))

    tamper(directory, lose)
    [sentence] = found(directory)
    assert sentence.endswith(" lacks a message that it has sent.")


def test_a_received_message_that_is_gone_is_found(directory: Path) -> None:
    def receive(writer: Writer) -> None:
        number = transaction_number(writer)
        books = numbers(writer, "books")
        for place, queue in enumerate((books, 999), 5):  # a deleted queue takes its messages along
            key = _key.pack(number, RECEIVED, place)
            writer.put(Table.TRANSACTIONS, key, _place.pack(queue, 12345))

    tamper(directory, receive)
    [sentence] = found(directory)
    assert sentence.endswith(" has received a message that is not there.")


@pytest.mark.parametrize("header", [b'{"xid": "waiting"}', b'{"xid": 7}'])
def test_a_transaction_needs_a_name_of_its_own(directory: Path, header: bytes) -> None:
    tamper(
        directory,
        lambda writer: writer.put(Table.TRANSACTIONS, _key.pack((1 << 64) - 1, HEADER, 0), header),
    )
    report = check(directory)
    [sentence] = report.findings
    assert sentence.endswith(" has no name of its own.")
    assert report.transactions == 2


def test_findings_are_listed_up_to_a_limit_and_counted_beyond(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FINDINGS_MAX", 3)
    tamper(
        directory,
        lambda writer: writer.put_many(
            Table.PACKETS, [(packet_key((1 << 50) + number, 0), b"x") for number in range(10)]
        ),
    )
    report = check(directory)
    assert len(report.findings) == 3
    assert report.more == 7


def test_a_damaged_file_is_a_finding(directory: Path) -> None:
    data = directory / "data.mdb"
    size = data.stat().st_size // 2
    os.truncate(data, size)
    report = check(directory)
    assert not report.is_whole
    assert report == Report(size, findings=report.findings)
    assert str(data) in report.findings[0]
    check(directory)


def test_only_a_store_at_rest_is_checked(directory: Path, tmp_path: Path) -> None:
    with openmsmq.open(directory), pytest.raises(StoreInUse, match="process"):
        check(directory)
    with pytest.raises(StoreMissing, match="nowhere"):
        check(tmp_path / "nowhere")
    (tmp_path / "data.mdb").write_text("something else" * 1000)
    with pytest.raises(StoreForeign):
        check(tmp_path)
    with keep_files(directory):  # a backup may be made meanwhile
        assert check(directory).is_whole


def journal(reader: Snapshot) -> int:
    """The number of the journal of `kept`."""
    return numbers(reader, "kept") | JOURNAL_BIT


def test_journals_and_subqueues_are_counted(directory: Path) -> None:
    def count(writer: Writer) -> None:
        later = numbers(writer, "kept;later")
        for number in (journal(writer), later):
            writer.put(Table.QUEUES, queue_key(number, COUNTERS_ROW), pack_counters(9, 9))

    tamper(directory, count)
    subqueue, own = sorted(found(directory))
    assert subqueue.startswith("There are 1 messages of ")
    assert subqueue.endswith(" bytes in queue private$\\kept;later, which counts 9 of 9 bytes.")
    assert own.startswith("There are 2 messages of ")
    assert own.endswith(" bytes in queue private$\\kept;JOURNAL, which counts 9 of 9 bytes.")


def test_the_journal_of_a_queue_needs_no_row(directory: Path) -> None:
    tamper(
        directory,
        lambda writer: writer.delete(Table.QUEUES, queue_key(journal(writer), COUNTERS_ROW)),
    )
    [sentence] = found(directory)
    assert sentence.endswith(" in queue private$\\kept;JOURNAL, which counts 0 of 0 bytes.")


def test_a_journal_and_a_subqueue_without_their_queue_are_found(directory: Path) -> None:
    def lose(writer: Writer) -> None:
        number = numbers(writer, "kept")
        for row in (0, COUNTERS_ROW):
            writer.delete(Table.QUEUES, queue_key(number, row))

    tamper(directory, lose)
    sentences = found(directory)
    assert "The queue is missing that queue private$\\kept;later belongs to." in sentences
    assert any(text.startswith("There are rows about queue number 2147") for text in sentences)
    assert any(text.startswith("3 messages lie in queue number ") for text in sentences)


def test_a_queue_whose_number_would_be_given_out_again_is_found(directory: Path) -> None:
    tamper(directory, lambda writer: writer.put(Table.META, QUEUE_NUMBER_KEY, pack_number(0x11)))
    assert found(directory) == [
        "The number of queue private$\\books would be given out again.",
        "The number of queue private$\\kept would be given out again.",
        "The number of queue private$\\kept;later would be given out again.",
    ]


@pytest.mark.parametrize(
    ("key", "row", "name"),
    [
        (SETTINGS_KEY, b'{"quota": -1}', "settings"),
        (STATISTICS_KEY, b"{", "statistics"),
        (SHIFT_KEY, b"short", "shift of the clock"),
        (HISTORY_KEY, b"short", "state of the history"),
    ],
    ids=["settings", "statistics", "shift", "history"],
)
def test_what_a_manager_could_not_start_with_is_found(
    directory: Path, key: bytes, row: bytes, name: str
) -> None:
    tamper(directory, lambda writer: writer.put(Table.META, key, row))
    assert found(directory) == [f"The {name} cannot be read."]


def test_a_message_that_would_not_expire_is_found(directory: Path) -> None:
    tamper(directory, lambda writer: writer.delete(Table.EXPIRY, rows(writer, Table.EXPIRY)[0][0]))
    [sentence] = found(directory)
    assert sentence.startswith("Message ")
    assert sentence.endswith(" would never expire.")


@pytest.mark.parametrize("place", [(77, 77), None])
def test_the_end_of_a_message_that_is_not_there_is_found(
    directory: Path, place: tuple[int, int] | None
) -> None:
    def add(writer: Writer) -> None:
        _, queue, lookup = split_expiry_key(rows(writer, Table.EXPIRY)[0][0])
        writer.put(Table.EXPIRY, expiry_key(5, *(place or (queue, lookup))), b"")

    tamper(directory, add)
    [sentence] = found(directory)
    assert sentence.endswith(" expires but is not there.")


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A store with messages that wait and ids of sent ones, not open."""
    place = tmp_path / "waiting"
    with openmsmq.open(place) as manager:
        queue = manager.create_queue("later")
        queue.send_many(["a", "b"], deliver_at=3600, dedup_ids=["1", "2"])
        away = manager.open_queue("DIRECT=OS:other\\private$\\t")
        away.send(Message("c", time_to_be_received=9999), deliver_at=3600)
    return place


def test_a_store_with_messages_that_wait_is_whole(waiting: Path) -> None:
    report = check(waiting)
    assert report.findings == ()
    assert report.messages == 3


def test_a_message_that_would_wait_for_ever_is_found(waiting: Path) -> None:
    tamper(waiting, lambda writer: writer.delete(Table.DELAYED, rows(writer, Table.DELAYED)[0][0]))
    [sentence] = found(waiting)
    assert sentence.endswith(" (delayed) would never be read.")


def test_one_that_waits_and_is_not_there_is_found(waiting: Path) -> None:
    tamper(waiting, lambda writer: writer.put(Table.DELAYED, due_key(5, 77, 77), b""))
    assert found(waiting) == ["Message 77 of queue number 77 waits but is not there."]


def test_ids_that_would_never_be_forgotten_are_found(waiting: Path) -> None:
    def drop(writer: Writer) -> None:
        groups = [key for key, _ in rows(writer, Table.TRANSFER) if key[:1] == GROUP]
        writer.delete(Table.TRANSFER, groups[0])

    tamper(waiting, drop)
    assert found(waiting) == ["There are 2 ids of sent messages, 0 in groups, where 2 are counted."]


def test_rows_about_ids_that_make_no_sense_are_found(waiting: Path) -> None:
    def spoil(writer: Writer) -> None:
        writer.put(Table.META, DEDUP_STATE_KEY, b"?")
        writer.put(Table.TRANSFER, GROUP + bytes(8), b"?")
        writer.put(Table.TRANSFER, DEDUP + bytes(16), b"?")
        writer.put(Table.DELAYED, b"?", b"")

    tamper(waiting, spoil)
    sentences = found(waiting)
    assert "The state of the ids of sent messages cannot be read." in sentences
    assert sum("of the table transfer makes no sense" in one for one in sentences) == 2
    assert sum("of the table delayed makes no sense" in one for one in sentences) == 1


def test_a_page_of_the_history_that_is_missing_is_found(directory: Path) -> None:
    tamper(
        directory, lambda writer: writer.delete(Table.HISTORY, rows(writer, Table.HISTORY)[2][0])
    )
    assert found(directory) == ["Page 2 of the history is missing."]


def test_a_history_that_is_shorter_than_it_says_is_found(directory: Path) -> None:
    tamper(
        directory, lambda writer: writer.delete(Table.HISTORY, rows(writer, Table.HISTORY)[-1][0])
    )
    assert found(directory) == ["The history does not have the pages that it counts."]


@pytest.fixture
def subscribed(tmp_path: Path) -> Path:
    """A store with messages that subscriptions were given."""
    with openmsmq.open(tmp_path / "data") as manager:
        orders = manager.create_queue("orders")
        orders.send_many([Message(b"%d" % number) for number in range(10)])
        orders.subscription("audit", copy=True).reserve(0, 6)
        lake = orders.subscription("lake")
        lake.reserve(0, 4)
        lake.commit(1)
    return tmp_path / "data"


def test_a_store_with_subscriptions_is_whole(subscribed: Path) -> None:
    report = check(subscribed)
    assert (report.findings, report.queues, report.messages) == ((), 1, 6 + 3 + 6)


def test_what_a_subscription_has_skipped_is_no_fault(subscribed: Path) -> None:
    with openmsmq.open(subscribed) as manager:
        lake = manager.open_queue("orders").subscription("lake", owner="me")
        lake.bind()
        lake.mark_read(1, 2)
        lake.commit(3)
    assert check(subscribed).findings == ()

    def change(writer: Writer) -> None:
        writer.put(Table.QUEUES, queue_key(store_of(writer, "lake"), READ_ROW), b"123")

    tamper(subscribed, change)
    [finding] = found(subscribed)
    assert "of the table queues makes no sense" in finding


def store_of(reader: Snapshot, name: str) -> int:
    """The number under which there is what a subscription was given."""
    for key, row in rows(reader, Table.QUEUES):
        if key[-1] == 0 and f'"{name}|'.encode() in row:
            return int.from_bytes(key[:-1], "big")
    raise AssertionError(name)


LAKE = r"subscription lake of private$\orders"


@pytest.mark.parametrize("shift", [0, 1])
def test_a_run_that_ends_behind_what_was_given_is_found(tmp_path: Path, shift: int) -> None:
    directory = tmp_path / "data"
    with openmsmq.open(directory) as manager:
        orders = manager.create_queue("orders")
        orders.send_many([Message(b"%d" % number) for number in range(8)])
        orders.subscription("lake").reserve(0, 8)

    def change(writer: Writer) -> None:
        run = the_run(writer)
        writer.delete(Table.RUNS, run.key)
        run.first += shift
        writer.put(Table.RUNS, run.key, run.pack())

    tamper(directory, change)
    expected = f"Message 9 of {LAKE} is not between 1 and 8."
    assert (expected in check(directory).findings) is bool(shift)


def test_a_message_at_an_impossible_position_is_found(subscribed: Path) -> None:
    def change(writer: Writer) -> None:
        number = store_of(writer, "lake")
        row = writer.get(Table.INDEX, index_key(number, 2))
        assert row is not None
        writer.delete(Table.INDEX, index_key(number, 2))
        writer.put(Table.INDEX, index_key(number, 9), row)

    tamper(subscribed, change)
    assert found(subscribed) == [f"Message 9 of {LAKE} is not between 1 and 4."]


def test_a_message_that_a_subscription_lacks_is_found(subscribed: Path) -> None:
    def change(writer: Writer) -> None:
        writer.delete(Table.INDEX, index_key(store_of(writer, "lake"), 3))

    tamper(subscribed, change)
    first, second, third = found(subscribed)
    assert first == f"There are 2 messages in {LAKE}, not 2 to 4."
    assert LAKE in second
    assert third.endswith("belongs to no message.")


def test_a_subscription_that_says_not_how_far_it_has_come_is_found(subscribed: Path) -> None:
    def change(writer: Writer) -> None:
        writer.delete(Table.QUEUES, queue_key(store_of(writer, "lake"), SUBSCRIPTION_ROW))

    tamper(subscribed, change)
    assert f"The read position of {LAKE} is missing." in found(subscribed)


@pytest.mark.parametrize("row", [b"", b"\x09" + bytes(16)])
def test_the_state_of_a_subscription_that_makes_no_sense_is_found(
    subscribed: Path, row: bytes
) -> None:
    def change(writer: Writer) -> None:
        writer.put(Table.QUEUES, queue_key(store_of(writer, "lake"), SUBSCRIPTION_ROW), row)

    tamper(subscribed, change)
    assert any("of the table queues makes no sense" in sentence for sentence in found(subscribed))


def test_a_message_with_half_a_reader_is_found(subscribed: Path) -> None:
    def change(writer: Writer) -> None:
        key, row = rows(writer, Table.INDEX)[0]
        writer.put(Table.INDEX, key, row + b"x")

    tamper(subscribed, change)
    [sentence] = found(subscribed)
    assert "of the table index makes no sense" in sentence
