"""The contract of the Python API, held by the async one and by its sync shadow alike."""

from __future__ import annotations

import asyncio
import math
import os
import time
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.client.adapter import PATIENCE, Api, start
from tests.unit.service.stores import SlowStore

from openmsmq import (
    Access,
    Acknowledge,
    Manager,
    Message,
    Queue,
    ReceiveTimeout,
    Seek,
    Settings,
    Share,
    aio,
)
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.engine.transactions.transaction import SPILL_SIZE
from openmsmq.errors import (
    AccessDenied,
    IllegalCursorAction,
    IllegalPropertyValue,
    IllegalQueuePathName,
    InvalidHandle,
    InvalidParameter,
    MessageAlreadyReceived,
    MessageNotFound,
    OperationCancelled,
    PropertyNotAllowed,
    QueueDeleted,
    QueueExists,
    QueueNotAvailable,
    QueueNotFound,
    SharingViolation,
    StorageFull,
    StoreInUse,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.packet.columns import JoinedPackets
from openmsmq.packet.view import PacketView


@pytest.fixture
def queue(manager: Manager) -> Queue:
    return manager.create_queue("orders")


def bodies(queue: Queue) -> list[bytes]:
    """What can be read in a queue, in order."""
    return [message.body for message in queue.peek_many(1000, timeout=0)]


# Managers and queues


def test_a_manager_has_a_name_and_an_identity(manager: Manager, queue: Queue) -> None:
    assert manager.name == "server1"
    assert str(UUID(manager.id)) == manager.id
    assert manager.id != str(UUID(int=0))


def test_an_existing_queue_is_opened_where_that_is_ok(manager: Manager, queue: Queue) -> None:
    queue.send("kept")
    again = manager.create_queue("orders", exist_ok=True, label="ignored")
    assert again.receive(0).text == "kept"
    assert again.info().label == ""
    with pytest.raises(QueueExists):
        manager.create_queue("orders")


def test_an_existing_queue_of_the_other_kind_is_refused(manager: Manager, queue: Queue) -> None:
    with pytest.raises(QueueExists, match="is not transactional, which cannot be changed"):
        manager.create_queue("orders", transactional=True, exist_ok=True)


def test_fields_of_a_message_can_be_keywords_of_send(queue: Queue) -> None:
    queue.send("hello", label="greeting", priority=5)
    message = queue.receive(0)
    assert (message.text, message.label, message.priority) == ("hello", "greeting", 5)
    with pytest.raises(InvalidParameter, match="label: a Message has its own"):
        queue.send(Message("hello"), label="greeting")


def test_a_queue_is_created_open(manager: Manager) -> None:
    """DMPR-121, DMPR-128, DMPR-170."""
    queue = manager.create_queue(
        "orders", transactional=True, journal=True, quota=100, label="Orders"
    )
    info = queue.info()
    assert queue.name == info.name == ".\\private$\\orders"
    assert (info.transactional, info.journal, info.quota, info.label) == (True, True, 100, "Orders")
    assert (info.messages, info.bytes) == (0, 0)
    assert abs(info.created - time.time()) < 60
    assert manager.queues() == [info]


def test_queues_are_listed_by_name(manager: Manager) -> None:
    for name in ("b", "a", ".\\public"):
        manager.create_queue(name)
    assert [info.name for info in manager.queues()] == [
        ".\\private$\\a",
        ".\\private$\\b",
        ".\\public",
    ]


def test_a_queue_that_exists_is_opened_by_any_of_its_names(manager: Manager, queue: Queue) -> None:
    queue.send("x")
    for name in ("ORDERS", ".\\private$\\orders", "DIRECT=OS:server1\\private$\\orders"):
        with manager.open_queue(name) as opened:
            assert opened.peek(timeout=0).text == "x"


def test_properties_can_be_changed(manager: Manager, queue: Queue) -> None:
    before = queue.info()
    with pytest.raises(IllegalPropertyValue):
        queue.set(label="half \ud800 pair")
    queue.set(label="new", quota=7, journal=True)
    after = queue.info()
    assert (after.label, after.quota, after.journal) == ("new", 7, True)
    assert (after.id, after.created, after.transactional) == (before.id, before.created, False)
    queue.set()
    assert queue.info().label == "new"


def test_everything_is_there_after_closing_and_opening_again(api: Api, tmp_path: Path) -> None:
    """DMPR-001, DMPR-061, DMPR-391."""
    with api.open(tmp_path) as manager:
        identity = manager.id
        queue = manager.create_queue("orders", label="x")
        queue.send_many([Message(b"1"), Message(b"2", priority=7)])
        queue.send(Message(b"3", recoverable=False))
        info, lookups = queue.info(), [m.lookup_id for m in queue.peek_many(9, timeout=0)]
    with api.open(tmp_path) as manager:
        again = manager.open_queue("orders")
        assert manager.id == identity
        assert bodies(again) == [b"2", b"1"]
        assert [m.lookup_id for m in again.peek_many(9, timeout=0)] == lookups[:2]
        assert (again.info().id, again.info().label) == (info.id, "x")
        assert again.info().messages == 2


def test_a_deleted_queue_is_gone(manager: Manager, queue: Queue) -> None:
    """DMPR-131, DMPR-132, DMPR-135, DMPR-172."""
    other = manager.open_queue("orders")
    waiting = start(queue.receive)
    cursor = other.cursor()
    time.sleep(0.02)
    manager.delete_queue("orders")
    with pytest.raises(QueueDeleted):
        waiting.result(PATIENCE)
    assert manager.queues() == []
    with pytest.raises(QueueNotFound):
        manager.open_queue("orders")
    for attempt in (
        lambda: other.receive(timeout=0),
        lambda: other.peek(timeout=0),
        lambda: other.peek_by_lookup_id(0, Seek.FIRST),
        lambda: cursor.peek(timeout=0),
        lambda: other.send("x"),
        other.purge,
        lambda: other.set(label="x"),
    ):
        with pytest.raises(QueueNotAvailable):
            attempt()
    other.close()
    assert bodies(manager.create_queue("orders")) == []


# Sending and receiving


def test_messages_are_sent_as_messages_bytes_or_text(queue: Queue) -> None:
    """DMPR-197."""
    queue.send(Message(b"one", label="first"))
    queue.send(b"two")
    queue.send_many(["three", Message("four")])
    first, second, third, fourth = queue.receive_many(10, timeout=0)
    assert (first.body, first.label) == (b"one", "first")
    assert (second.body, second.body_type) == (b"two", 0)
    assert (third.text, third.body_type, fourth.text) == ("three", 31, "four")
    assert queue.receive_many(10, timeout=0) == []
    queue.send_many([])
    assert queue.info().messages == 0


def test_packets_are_sent_by_those_who_have_them(manager: Manager, queue: Queue) -> None:
    """The manager writes what is its own to say."""
    queue.send_many([Message(b"1", label="a", priority=5), Message(b"2")])
    first, second = queue.receive_many(2)
    ids = queue.send_packets([first.packet, second.packet])
    again = queue.receive_many(2)
    assert [one.id for one in again] == list(ids)
    assert [one.to_message() for one in again] == [first.to_message(), second.to_message()]
    staged = manager.create_queue("staged", transactional=True)
    with manager.transaction() as transaction:
        staged.send_packets([first.packet], transaction=transaction)
        assert staged.info().messages == 0
    assert staged.info().messages == 1


def test_packets_that_lie_together_are_sent_so(manager: Manager, queue: Queue) -> None:
    queue.send_many([Message(b"1", label="a"), Message(b"2"), Message(b"3")])
    packets = [one.packet for one in queue.receive_many(3)]
    joined = JoinedPackets(b"".join(packets), 3)
    ids = queue.send_packets(joined)
    again = queue.receive_many(3)
    assert [one.id for one in again] == list(ids)
    assert [one.body for one in again] == [b"1", b"2", b"3"]
    staged = manager.create_queue("staged", transactional=True)
    with manager.transaction() as transaction:
        staged.send_packets(joined, transaction=transaction)
        assert staged.info().messages == 0
    assert [one.label for one in staged.receive_many(9, timeout=0)] == ["a", "", ""]


def test_messages_are_received_by_priority_then_arrival(queue: Queue) -> None:
    """DMPR-043, DMPR-203."""
    for number, priority in enumerate((3, 7, 0, 7, 3)):
        queue.send(Message(str(number), priority=priority))
    assert [queue.receive(timeout=0).text for _ in range(5)] == ["1", "3", "0", "4", "2"]


def test_a_message_received_knows_its_place_and_origin(manager: Manager, queue: Queue) -> None:
    queue.send("x")
    seen, taken = queue.peek(timeout=0), queue.receive(timeout=0)
    assert seen == taken
    assert str(taken.source_manager) == manager.id
    assert taken.id.startswith(manager.id)
    assert str(taken.destination_queue) == "DIRECT=OS:server1\\private$\\orders"
    assert abs(taken.arrived_time.timestamp() - time.time()) < 60


def test_a_peek_takes_nothing(queue: Queue) -> None:
    """DMPR-220."""
    queue.send_many(["1", "2", "3"])
    assert queue.peek().text == queue.peek(timeout=0).text == "1"
    assert [message.text for message in queue.peek_many(2, timeout=0)] == ["1", "2"]
    assert queue.info().messages == 3


def packets_of(slices: tuple[QueuedSlice, ...]) -> list[tuple[int, bytes]]:
    """The lookup identifiers and packets of messages in slices."""
    return [pair for one in slices for pair in enumerate(one.split(), one.lookup_id)]


def test_messages_that_came_together_are_peeked_together(queue: Queue) -> None:
    queue.send_many(f"{number}" for number in range(100))
    found = queue.peek_slices(60, timeout=0)
    assert sum(one.messages for one in found) == 60
    others = queue.peek_many(60, timeout=0)
    assert packets_of(found) == [(one.lookup_id, one.packet) for one in others]
    queue.receive_many(7, timeout=0)
    again = queue.peek_slices(999, timeout=0, after=others[9].lookup_id)
    assert again[0].lookup_id == others[10].lookup_id
    assert sum(one.messages for one in again) == 90


def test_a_peek_can_begin_behind_any_place(queue: Queue) -> None:
    queue.send_many(["1", "2", "3"])
    first, *others = queue.peek_many(9, timeout=0)
    assert queue.peek_many(9, timeout=0, after=first.lookup_id) == others
    assert packets_of(queue.peek_slices(9, timeout=0, after=first.lookup_id)) == [
        (one.lookup_id, one.packet) for one in others
    ]
    assert queue.peek_many(9, timeout=0, after=others[-1].lookup_id) == []
    assert queue.peek_slices(9, timeout=0, after=others[-1].lookup_id) == ()
    assert queue.peek_by_lookup_id(first.lookup_id + 1, Seek.AHEAD) == first
    assert queue.peek_by_lookup_id(first.lookup_id - 1, Seek.BEHIND) == first


def test_info_tells_how_much_is_in_a_queue(queue: Queue) -> None:
    queue.send_many([Message(b"x" * 1000), Message(b"y", recoverable=False)])
    assert queue.info().messages == 2
    assert queue.info().bytes > 1000
    queue.receive_many(2)
    assert (queue.info().messages, queue.info().bytes) == (0, 0)


def test_a_purge_says_how_many_it_removed(queue: Queue) -> None:
    """DMPR-136, DMPR-138."""
    queue.send_many(["1", "2", Message("3", recoverable=False)])
    assert queue.purge() == 3
    assert queue.purge() == 0
    queue.send("4")
    assert [message.text for message in queue.receive_many(5, timeout=0)] == ["4"]


def test_a_large_message_arrives_whole(queue: Queue) -> None:
    body = bytes(range(256)) * 16_000
    queue.send(body)
    assert queue.receive(timeout=0).body == body


# Timeouts


def test_without_waiting_an_empty_queue_answers_at_once(queue: Queue) -> None:
    """DMPR-266."""
    for read in (queue.receive, queue.peek, queue.cursor().peek):
        with pytest.raises(ReceiveTimeout) as info:
            read(timeout=0)
        assert info.value.hresult == 0xC00E001B
        assert isinstance(info.value, TimeoutError)
    with pytest.raises(MessageNotFound):
        queue.cursor().receive(timeout=0)
    assert queue.receive_many(5, timeout=0) == queue.peek_many(5, timeout=0) == []


def test_a_short_wait_ends_without_a_message(queue: Queue) -> None:
    """DMPR-264, DMPR-265."""
    begin = time.monotonic()
    for read in (queue.receive, queue.peek, queue.cursor().peek, queue.cursor().receive):
        with pytest.raises(ReceiveTimeout):
            read(timeout=0.01)
    assert queue.receive_many(5, timeout=0.01) == queue.peek_many(5, timeout=0.01) == []
    assert 0.05 <= time.monotonic() - begin < 5
    queue.send("x")
    assert queue.receive(timeout=0).text == "x"


@pytest.mark.parametrize("timeout", [None, 1e9, float("inf")])
def test_a_reader_waits_until_a_message_comes(queue: Queue, timeout: float | None) -> None:
    """For the first only, if it wants many (DMPR-202, DMPR-205)."""
    for read in (
        lambda: queue.receive(timeout).text,
        lambda: queue.receive_many(9, timeout)[0].text,
        lambda: queue.cursor().receive(timeout).text,
    ):
        waiting = start(read)
        time.sleep(0.01)
        assert not waiting.done()
        queue.send("x")
        assert waiting.result(PATIENCE) == "x"
    waiting = start(lambda: queue.peek(timeout).text)
    queue.send("y")
    assert waiting.result(PATIENCE) == "y"
    assert queue.info().messages == 1


def test_readers_are_served_in_their_order(queue: Queue) -> None:
    """DMPR-268."""
    waiting: list[Future[str | None]] = []
    for _ in range(3):
        waiting.append(start(lambda: queue.receive().text))
        time.sleep(0.02)
    queue.send_many(["1", "2", "3"])
    assert [reader.result(PATIENCE) for reader in waiting] == ["1", "2", "3"]


# Lookup identifiers and cursors


def test_messages_are_found_by_lookup_identifier(queue: Queue) -> None:
    """DMPR-230, DMPR-231, DMPR-233, DMPR-238, DMPR-239, DMPR-240, DMPR-241."""
    queue.send_many(["1", "2", "3", "4"])
    lookups = [message.lookup_id for message in queue.peek_many(9, timeout=0)]
    assert lookups == sorted(lookups)
    assert queue.peek_by_lookup_id(lookups[1]).text == "2"
    assert queue.peek_by_lookup_id(lookups[1], Seek.NEXT).text == "3"
    assert queue.peek_by_lookup_id(lookups[1], Seek.PREVIOUS).text == "1"
    assert queue.peek_by_lookup_id(0, Seek.FIRST).text == "1"
    assert queue.peek_by_lookup_id(0, Seek.LAST).text == "4"
    assert queue.peek_by_lookup_id(0, "last").text == "4"
    with pytest.raises(InvalidParameter, match="seek 'lats': one of current, next, previous, fir"):
        queue.peek_by_lookup_id(0, "lats")
    assert queue.receive_by_lookup_id(lookups[2]).text == "3"
    assert queue.receive_by_lookup_id(lookups[1], Seek.NEXT).text == "4"
    assert [message.text for message in queue.peek_many(9, timeout=0)] == ["1", "2"]


def test_a_cursor_walks_and_takes(queue: Queue) -> None:
    """DMPR-225, DMPR-248, DMPR-249, DMPR-254, DMPR-256."""
    queue.send_many(["1", "2", "3", "4"])
    with queue.cursor() as cursor:
        assert [cursor.peek().text, cursor.peek().text] == ["1", "1"]
        assert cursor.next().text == "2"
        assert cursor.receive().text == "2"
        assert cursor.receive(timeout=0).text == "3"
        assert cursor.peek(timeout=0).text == "4"
        with pytest.raises(ReceiveTimeout):
            cursor.next(timeout=0)
    assert [message.text for message in queue.peek_many(9, timeout=0)] == ["1", "4"]


def test_cursors_do_not_disturb_each_other(queue: Queue) -> None:
    """DMPR-207, DMPR-222."""
    queue.send_many(["1", "2", "3"])
    first, second = queue.cursor(), queue.cursor()
    first.peek()
    second.peek()
    assert second.next().text == "2"
    assert first.receive().text == "1"
    assert first.receive().text == "2"
    for read in (second.peek, second.receive):
        with pytest.raises(MessageAlreadyReceived):
            read(timeout=0)
    assert second.next().text == "3"


def test_closing_a_cursor_ends_its_wait(queue: Queue) -> None:
    """DMPR-262."""
    cursor = queue.cursor()
    waiting = start(cursor.peek)
    time.sleep(0.02)
    cursor.close()
    with pytest.raises(OperationCancelled):
        waiting.result(PATIENCE)
    with pytest.raises(InvalidHandle):
        cursor.peek(timeout=0)
    cursor.close()


def test_a_new_cursor_has_no_next_message(queue: Queue) -> None:
    """DMPR-224."""
    queue.send("1")
    with pytest.raises(IllegalCursorAction):
        queue.cursor().next(timeout=0)


# Handles


def test_closing_a_handle_ends_its_waits_and_its_cursors(manager: Manager, queue: Queue) -> None:
    """Not those of others (DMPR-174, DMPR-175, DMPR-176)."""
    other = manager.open_queue("orders")
    waiting, theirs = start(queue.receive), start(other.receive)
    cursor = queue.cursor()
    time.sleep(0.02)
    queue.close()
    queue.close()
    with pytest.raises(OperationCancelled):
        waiting.result(PATIENCE)
    with pytest.raises(InvalidHandle):
        cursor.peek(timeout=0)
    other.send("x")
    assert theirs.result(PATIENCE).text == "x"


def test_a_handle_may_exclude_others_until_it_is_closed(manager: Manager, queue: Queue) -> None:
    """DMPR-165, DMPR-166, DMPR-168, DMPR-176."""
    with pytest.raises(SharingViolation):
        manager.open_queue("orders", share=Share.DENY_RECEIVE)
    queue.close()
    with manager.open_queue("orders", access=Access.RECEIVE, share=Share.DENY_RECEIVE) as lone:
        with pytest.raises(SharingViolation):
            manager.open_queue("orders")
        with manager.open_queue("orders", access=Access.SEND) as sender:
            sender.send("x")
        with manager.open_queue("orders", access=Access.PEEK) as peeker:
            assert peeker.peek(timeout=0).text == "x"
        assert lone.receive(timeout=0).text == "x"
    manager.open_queue("orders").close()


# Transactions


@pytest.fixture
def ledger(manager: Manager) -> Queue:
    """A transactional queue with messages 1 to 3."""
    ledger = manager.create_queue("ledger", transactional=True)
    with manager.transaction() as transaction:
        ledger.send_many(["1", "2", "3"], transaction=transaction)
    return ledger


def texts(queue: Queue) -> list[str | None]:
    return [message.text for message in queue.peek_many(1000, timeout=0)]


def test_a_transaction_commits_when_all_went_well(manager: Manager, ledger: Queue) -> None:
    """Over several queues, seen by no one before (DMPR-285, DMPR-286, DMPR-294, DMPR-295)."""
    other = manager.create_queue("other", transactional=True)
    with manager.transaction() as transaction:
        first = ledger.receive(timeout=0, transaction=transaction)
        other.send(f"got {first.text}", transaction=transaction)
        assert ledger.peek(timeout=0, transaction=transaction).text == "2"
        assert (texts(ledger), texts(other)) == (["2", "3"], [])
    assert (texts(ledger), texts(other)) == (["2", "3"], ["got 1"])


def test_a_transaction_aborts_on_an_exception(manager: Manager, ledger: Queue) -> None:
    """DMPR-290, DMPR-291."""

    def attempt() -> None:
        with manager.transaction() as transaction:
            assert ledger.receive_many(2, timeout=0, transaction=transaction)
            ledger.send("4", transaction=transaction)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        attempt()
    assert texts(ledger) == ["1", "2", "3"]
    assert [m.abort_count for m in ledger.peek_many(9, timeout=0)] == [1, 1, 0]


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_can_be_ended_by_hand(manager: Manager, ledger: Queue, commits: bool) -> None:
    with manager.transaction() as transaction:
        cursor = ledger.cursor()
        cursor.peek(transaction=transaction)
        cursor.next(transaction=transaction)
        assert cursor.receive(timeout=0, transaction=transaction).text == "2"
        lookup = ledger.peek(timeout=0).lookup_id
        assert ledger.receive_by_lookup_id(lookup, transaction=transaction).text == "1"
        assert ledger.peek_by_lookup_id(0, Seek.FIRST, transaction=transaction).text == "3"
        assert ledger.peek_many(5, timeout=0, transaction=transaction)
        if commits:
            transaction.commit()
        else:
            transaction.abort()
    assert texts(ledger) == (["3"] if commits else ["1", "2", "3"])


def test_a_plain_receive_from_a_transactional_queue_is_allowed(ledger: Queue) -> None:
    """DMPR-398."""
    assert ledger.receive(timeout=0).text == "1"


def test_a_large_transaction_is_all_or_nothing(manager: Manager, ledger: Queue) -> None:
    with manager.transaction() as transaction:
        for number in range(5):
            ledger.send(Message(bytes([number]) * SPILL_SIZE), transaction=transaction)
    assert [message.body[:1] for message in ledger.peek_many(9, timeout=0)][3:] == [
        bytes([number]) for number in range(5)
    ]


@pytest.mark.parametrize("commits", [True, False])
def test_a_prepared_transaction_is_ended_by_its_name_later(
    api: Api, tmp_path: Path, commits: bool
) -> None:
    """DMPR-028, DMPR-107, DMPR-306."""
    with api.open(tmp_path) as manager:
        ledger = manager.create_queue("ledger", transactional=True)
        with manager.transaction() as transaction:
            ledger.send_many(["1", "2"], transaction=transaction)
        with manager.transaction("transfer") as transaction:
            ledger.receive(timeout=0, transaction=transaction)
            ledger.send("3", transaction=transaction)
            transaction.prepare()
        assert manager.prepared() == list(manager.prepared_ages()) == ["transfer"]
    with api.open(tmp_path) as manager:
        ledger = manager.open_queue("ledger")
        assert (manager.prepared(), texts(ledger)) == (["transfer"], ["2"])
        if commits:
            manager.commit_prepared("transfer")
        else:
            manager.abort_prepared("transfer")
        assert manager.prepared() == []
        assert texts(ledger) == (["2", "3"] if commits else ["1", "2"])


# A store that refuses


def refuse(store: SlowStore) -> None:
    """Let the next commit fail."""
    store.refuse = {"commit": StorageFull("disk")}


def test_a_transaction_whose_commit_fails_is_aborted(
    manager: Manager, ledger: Queue, store: SlowStore
) -> None:
    """Its messages are back for others."""

    def attempt() -> None:
        with manager.transaction() as transaction:
            ledger.receive(timeout=0, transaction=transaction)
            ledger.send("4", transaction=transaction)
            refuse(store)

    with pytest.raises(StorageFull):
        attempt()
    assert texts(ledger) == ["1", "2", "3"]


@pytest.mark.parametrize("swallows", [False, True])
def test_a_transaction_of_which_part_was_not_kept_is_aborted(
    manager: Manager, ledger: Queue, store: SlowStore, swallows: bool
) -> None:
    """Even if the program goes on as if nothing had happened."""

    def attempt() -> None:
        with manager.transaction() as transaction:
            ledger.receive(timeout=0, transaction=transaction)
            refuse(store)
            try:
                ledger.send(b"x" * SPILL_SIZE, transaction=transaction)
            except StorageFull:
                if not swallows:
                    raise

    with pytest.raises(TransactionSequence if swallows else StorageFull):
        attempt()
    assert texts(ledger) == ["1", "2", "3"]


def test_a_send_that_fails_has_sent_nothing(
    manager: Manager, ledger: Queue, store: SlowStore
) -> None:
    plain = manager.create_queue("plain")
    refuse(store)
    with pytest.raises(StorageFull) as info:
        plain.send_many(["1", Message("2", recoverable=False)])
    assert info.value.hresult == 0xC00E002A
    assert (plain.info().messages, texts(plain)) == (0, [])


# Closing, and others


def test_a_second_opener_learns_who_has_the_directory(api: Api, tmp_path: Path) -> None:
    manager = api.open(tmp_path)
    with pytest.raises(StoreInUse, match=r"process \d+ on ") as info:
        api.open(tmp_path)
    assert info.value.hresult == 0xC00E0009
    manager.close()
    api.open(tmp_path)


def test_closing_a_manager_ends_all_waits_and_all_use(manager: Manager, queue: Queue) -> None:
    waiting = [start(queue.receive), start(queue.peek), start(queue.cursor().peek)]
    time.sleep(0.03)
    transaction = manager.transaction()
    manager.close()
    manager.close()
    for reader in waiting:
        with pytest.raises(OperationCancelled):
            reader.result(PATIENCE)
    for attempt in (
        manager.queues,
        manager.prepared,
        transaction.commit,
        lambda: manager.open_queue("orders"),
        lambda: manager.create_queue("new"),
        lambda: manager.delete_queue("orders"),
        lambda: queue.send("x"),
        lambda: queue.receive(timeout=0),
        queue.info,
        queue.purge,
    ):
        with pytest.raises(InvalidHandle) as info:
            attempt()
        assert info.value.hresult == 0xC00E0007


# Names, copies and moves


def test_a_queue_keeps_all_properties_it_is_given(manager: Manager) -> None:
    """DMPR-121, DMPR-128."""
    kind = "12345678-1234-4234-8234-123456789abc"
    queue = manager.create_queue(
        "full", journal_quota=7, authenticate=True, privacy=2, base_priority=-3, type=kind
    )
    info = queue.info()
    assert (info.journal_quota, info.authenticate, info.privacy) == (7, True, 2)
    assert (info.base_priority, str(info.type)) == (-3, kind)
    queue.set(quota=9, journal_quota=math.inf, authenticate=False, privacy=0, base_priority=4)
    info = queue.info()
    assert (info.quota, info.journal_quota, info.base_priority) == (9, None, 4)


def test_a_dead_letter_says_why_it_is_one(manager: Manager, queue: Queue) -> None:
    """DMPR-068, DMPR-308, DMPR-310."""
    sent = queue.send(Message("x", dead_letter=True, time_to_be_received=0))
    dead = manager.open_queue(".\\DeadLetter$")
    message = dead.receive(timeout=PATIENCE)
    assert (message.id, message.text, message.message_class) == (sent, "x", 0xC002)
    assert queue.info().messages == 0
    with pytest.raises(AccessDenied):
        dead.send("x")


@pytest.mark.parametrize("transactional", [False, True])
def test_a_message_can_name_a_dead_letter_queue_of_its_own(
    manager: Manager, transactional: bool
) -> None:
    """DMPR-071."""
    queue = manager.create_queue("sent", transactional=transactional)
    dead = manager.create_queue("dead", transactional=transactional)
    message = Message("x", dead_letter_queue="dead", time_to_be_received=0)
    assert message.dead_letter

    def send(message: Message) -> str:
        if not transactional:
            return queue.send(message)
        with manager.transaction() as transaction:
            return queue.send(message, transaction=transaction)

    sent = send(message)
    found = dead.receive(timeout=PATIENCE)
    assert (found.id, found.text, found.message_class) == (sent, "x", 0xC002)
    assert str(found.dead_letter_queue).endswith("\\private$\\dead")
    system = ".\\XactDeadLetter$" if transactional else ".\\DeadLetter$"
    assert manager.open_queue(system).info().messages == 0
    assert manager.explain(sent)[-2].queue == ".\\private$\\dead"
    assert "as a dead letter" in manager.explain(sent)[-2].text
    manager.create_queue("other", transactional=not transactional)
    with pytest.raises(TransactionUsage, match="dead_letter_queue"):
        send(Message("x", dead_letter_queue="other"))
    with pytest.raises(QueueNotFound):
        send(Message("x", dead_letter_queue="none"))
    with pytest.raises(IllegalQueuePathName, match="a queue of the sending manager is needed"):
        send(Message("x", dead_letter_queue=r"elsewhere\private$\dead"))
    assert queue.info().messages == 0


def test_copies_of_what_was_sent_and_received_stay_in_journals(manager: Manager) -> None:
    """DMPR-065, DMPR-399."""
    queue = manager.create_queue("kept", journal=True)
    queue.send(Message("x", journal=True))
    with manager.open_queue(".\\Journal$") as sent:
        assert [message.text for message in sent.peek_many(9, timeout=0)] == ["x"]
    queue.receive(timeout=0)
    assert (queue.info().messages, queue.info().journal_messages) == (0, 1)
    with manager.open_queue(".\\private$\\kept\\Journal$") as journal:
        assert journal.receive(timeout=0).text == "x"
    assert queue.info().journal_messages == 0


def test_acknowledgements_arrive_in_the_administration_queue(
    manager: Manager, queue: Queue
) -> None:
    """DMPR-079, DMPR-080, DMPR-085."""
    admin = manager.create_queue("admin")
    asked = Acknowledge.FULL_RECEIVE | Acknowledge.POS_ARRIVAL
    queue.send(Message("x", acknowledge=asked, admin_queue="admin"))
    received = queue.receive(timeout=0)
    reports = admin.receive_many(9, timeout=0)
    assert [report.message_class for report in reports] == [0x0002, 0x4000]
    identifier = PacketView(received.packet).identifier
    assert {report.correlation_id for report in reports} == {identifier}


def test_messages_are_moved_to_subqueues_and_back(manager: Manager, queue: Queue) -> None:
    """DMPR-275, DMPR-280, DMPR-402, DMPR-403."""
    queue.send_many(["1", "2"])
    first = queue.peek(timeout=0)
    queue.move(first.lookup_id, "retry")
    retry = manager.open_queue(".\\private$\\orders;retry")
    moved = retry.peek_by_lookup_id(first.lookup_id)
    assert (moved.text, moved.move_count) == ("1", 1)
    assert texts(queue) == ["2"]
    names = [info.name for info in manager.queues(everything=True)]
    assert ".\\private$\\orders;retry" in names
    retry.move(first.lookup_id, "")
    retry.close()
    assert [message.text for message in queue.peek_many(9, timeout=0)] == ["1", "2"]
    names = [info.name for info in manager.queues(everything=True)]
    assert ".\\private$\\orders;retry" not in names


def test_a_move_may_be_part_of_a_transaction(manager: Manager, ledger: Queue) -> None:
    """DMPR-277, DMPR-287."""
    lookup = ledger.peek(timeout=0).lookup_id
    for commits in (False, True):
        with manager.transaction() as transaction:
            ledger.move(lookup, "done", transaction=transaction)
            assert texts(ledger) == ["2", "3"]
            if not commits:
                transaction.abort()
        assert texts(ledger) == (["2", "3"] if commits else ["1", "2", "3"])
    with manager.open_queue(".\\private$\\ledger;done") as done:
        assert texts(done) == ["1"]


def test_a_message_of_a_transaction_may_be_rejected(manager: Manager, ledger: Queue) -> None:
    with manager.transaction() as transaction:
        first, second = ledger.receive_many(2, timeout=0, transaction=transaction)
        ledger.reject(second.lookup_id, transaction=transaction)
        with pytest.raises(MessageNotFound):
            ledger.reject(second.lookup_id + 7, transaction=transaction)
    info = ledger.info()
    assert (info.rejected, info.received) == (1, 1)
    assert "rejected" in [one.event for one in manager.explain(second.id)]
    assert "rejected" not in [one.event for one in manager.explain(first.id)]


def test_what_is_sent_elsewhere_waits_in_an_outgoing_queue(api: Api, tmp_path: Path) -> None:
    """DMPR-046, DMPR-161, DMPR-171, DMPR-316."""
    name = "DIRECT=OS:other\\private$\\orders"
    with api.open(tmp_path) as manager:
        with manager.open_queue(name) as queue, manager.open_queue(name) as same:
            queue.send("1")
            same.send("2")
            assert (queue.name, queue.info().messages, queue.info().kind) == (name, 2, "outgoing")
            with pytest.raises(AccessDenied):
                queue.peek(timeout=0)
            [shown] = manager.outgoing()
            assert (shown.name, shown.messages, shown.state) == (name, 2, "offline")
            queue.pause()
            assert queue.info().state == manager.outgoing()[0].state == "on hold"
            queue.resume()
            assert queue.info().state == "inactive"
        assert name not in [info.name for info in manager.queues()]
    with api.open(tmp_path) as manager:
        (found,) = (i for i in manager.queues(everything=True) if i.kind == "outgoing")
        assert (found.name, found.messages) == (name, 2)


def test_the_life_of_a_message_is_explained(api: Api, tmp_path: Path) -> None:
    """After a restart too, and the end of an express message with it."""
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        sent, express = queue.send_many(["1", Message("2", recoverable=False)])
        queue.receive(timeout=0)
        before = manager.explain(sent)
        assert [event.event for event in before] == ["arrived", "received"]
        assert all(f"process {os.getpid()}" in event.by for event in before)
    with api.open(tmp_path) as manager:
        assert manager.explain(sent) == before
        assert [event.event for event in manager.explain(express)] == ["arrived_express", "lost"]
        with pytest.raises(InvalidParameter):
            manager.explain("nonsense")


def test_the_history_of_a_queue_has_the_newest_first(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        (sent,) = queue.send_many(["1"])
        queue.receive(timeout=0)
        last = manager.queue_history("orders", limit=1)
        (event,) = last.events
        assert (event.event, event.message_id, event.count) == ("received", sent, 1)
        assert f"process {os.getpid()}" in event.by
        first = manager.queue_history("orders", before=last.next)
        assert ([one.event for one in first.events], first.next) == (["arrived"], 0)
        with pytest.raises(QueueNotFound):
            manager.queue_history("nothing")


def test_statistics_and_settings_last(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        assert manager.settings() == Settings()
        queue = manager.create_queue("orders")
        queue.send_many(["1", Message("2", recoverable=False)])
        queue.receive(timeout=0)
        manager.configure(history=5, quota=1000)
        counts = manager.statistics()
        assert (counts["arrived"], counts["received"]) == (2, 1)
    with api.open(tmp_path) as manager:
        assert manager.settings() == Settings(history=5, quota=1000)
        assert manager.statistics() == counts
        with pytest.raises(PropertyNotAllowed):
            manager.configure(color=5)


def test_a_manager_is_ready_until_it_is_closed(manager: Manager) -> None:
    """DMPR-025, DMPR-390."""
    assert manager.state == "ready"
    manager.close()
    assert manager.state == "stopped"


# Cancellation, which only the async API has


def test_cancelling_a_receive_loses_no_message(tmp_path: Path) -> None:
    """Whenever it comes: before the message, while it is removed, or after."""

    async def consume(queue: aio.Queue, got: list[str], delay: float) -> None:
        receiving = asyncio.create_task(queue.receive())
        await asyncio.sleep(delay)
        receiving.cancel()
        try:
            got.append(str((await receiving).text))
        except asyncio.CancelledError:
            return

    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            sent = [str(number) for number in range(60)]
            got: list[str] = []
            for number, text in enumerate(sent):
                send = asyncio.create_task(queue.send(text))
                await consume(queue, got, number % 20 * 0.0001)
                await send
            rest = await queue.receive_many(1000, timeout=0)
            await asyncio.sleep(0.01)
            rest += await queue.receive_many(1000, timeout=0)
            assert sorted(got + [str(message.text) for message in rest]) == sorted(sent)

    asyncio.run(main())


def test_a_time_limit_around_a_receive_loses_no_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(queue.receive(), 0.01)
            await queue.send("1")
            assert (await asyncio.wait_for(queue.receive(), PATIENCE)).text == "1"

    asyncio.run(main())


def test_a_cancelled_receive_in_a_transaction_leaves_the_message_to_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders", transactional=True)
            transaction = manager.transaction()
            waiting = asyncio.create_task(queue.receive(transaction=transaction))
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            async with manager.transaction() as other:
                await queue.send("1", transaction=other)
            assert (await queue.receive(timeout=0, transaction=transaction)).text == "1"
            await transaction.abort()
            assert (await queue.peek(timeout=0)).text == "1"

    asyncio.run(main())


def test_a_read_cancelled_at_the_moment_of_its_answer_loses_nothing(tmp_path: Path) -> None:
    """A receive gives its message back, a peek has nothing to give back."""

    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            for read in (queue.peek, queue.receive):
                reading = asyncio.create_task(read())
                await asyncio.sleep(0.001)
                await queue.send(Message("1", recoverable=False))  # answered without a pause
                reading.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await reading
                assert (await queue.receive(timeout=0)).text == "1"
                assert (await queue.info()).messages == 0

    asyncio.run(main())


# Once, and later


def test_a_message_is_sent_once_under_an_id(manager: Manager, queue: Queue) -> None:
    first = queue.send("a", dedup_id="order-17")
    again = queue.send("a", dedup_id="order-17")
    other = queue.send("b", dedup_id="order-18")
    assert first == again != other
    assert [first.duplicate, again.duplicate, other.duplicate] == [False, True, False]
    assert [message.text for message in queue.peek_many(9, 0)] == ["a", "b"]
    assert [event.event for event in manager.explain(again)] == ["arrived"]


def test_many_messages_have_an_id_each(queue: Queue) -> None:
    queue.send("a", dedup_id="1")
    ids = queue.send_many(["a", "b"], dedup_ids=["1", "2"])
    assert [one.duplicate for one in ids] == [True, False]
    assert [message.text for message in queue.peek_many(9, 0)] == ["a", "b"]
    with pytest.raises(InvalidParameter, match="1 ids for 2 messages"):
        queue.send_many(["a", "b"], dedup_ids=["1"])


def test_the_same_id_may_be_used_for_every_queue(manager: Manager, queue: Queue) -> None:
    other = manager.create_queue("invoices")
    assert not queue.send("a", dedup_id="1").duplicate
    assert not other.send("a", dedup_id="1").duplicate
    both = manager.open_queue(r"DIRECT=OS:.\private$\orders,DIRECT=OS:.\private$\invoices")
    ids = both.send_many(["a", "b"], dedup_ids=["1", "2"])
    assert [one.duplicate for one in ids] == [True, False, True, False]
    assert other.info().messages == queue.info().messages == 2


def test_in_a_transaction_an_id_counts_when_it_commits(manager: Manager) -> None:
    queue = manager.create_queue("tx", transactional=True)
    for ends in ("abort", "commit", "commit"):
        transaction = manager.transaction()
        queue.send("a", transaction=transaction, dedup_id="1")
        getattr(transaction, ends)()
    assert [message.text for message in queue.peek_many(9, 0)] == ["a"]


def test_a_large_transaction_sends_each_once(manager: Manager) -> None:
    """More than goes in one frame, and more than stays in memory."""
    queue = manager.create_queue("tx", transactional=True)
    body = bytes(1 << 20)
    ids = [str(number) for number in range(10)]
    for _ in range(2):
        with manager.transaction() as transaction:
            queue.send_many([body] * 10, transaction=transaction, dedup_ids=ids)
    assert queue.info().messages == 10


def test_no_one_reads_a_message_before_its_time(queue: Queue) -> None:
    queue.send("later", deliver_at=datetime.now(UTC) + timedelta(seconds=0.4))
    queue.send("now")
    info = queue.info()
    assert (info.messages, info.delayed) == (1, 1)
    assert info.delayed_bytes > 0
    assert queue.receive(0).text == "now"
    assert queue.receive_many(9, 0) == []
    assert queue.receive(PATIENCE).text == "later"
    assert queue.info().delayed == 0


def test_seconds_count_from_now(queue: Queue) -> None:
    queue.send("later", deliver_at=0.3)
    queue.send("much later", deliver_at=3600)
    assert queue.receive(PATIENCE).text == "later"
    assert queue.info().delayed == 1


def test_what_would_expire_before_is_refused(queue: Queue) -> None:
    message = Message("x", time_to_be_received=5)
    with pytest.raises(IllegalPropertyValue, match="expire before"):
        queue.send(message, deliver_at=60)
    queue.send(message, deliver_at=1)


def test_purging_and_deleting_take_what_is_waiting(manager: Manager, queue: Queue) -> None:
    queue.send_many(["a", "b"], deliver_at=3600)
    queue.send("c")
    assert queue.purge() == 3
    queue.send("a", deliver_at=3600)
    manager.delete_queue("orders")
    assert manager.create_queue("orders").info().delayed == 0


def test_an_express_message_that_waits_is_on_disk(queue: Queue) -> None:
    queue.send(Message("x", recoverable=False), deliver_at=0.01)
    assert queue.receive(PATIENCE).recoverable is False


# Poison


def test_a_queue_puts_poison_aside(manager: Manager) -> None:
    queue = manager.create_queue("tx", transactional=True, abort_limit=2)
    with manager.transaction() as transaction:
        queue.send_many(["bad", "good"], transaction=transaction)
    for _ in range(2):
        transaction = manager.transaction()
        assert queue.receive(0, transaction=transaction).text == "bad"
        transaction.abort()
    assert queue.peek(0).text == "good"
    (bad,) = manager.open_queue(r".\private$\tx;poison").peek_many(9, 0)
    assert (bad.text, bad.abort_count) == ("bad", 2)
    assert manager.explain(bad.id)[-1].event == "poisoned"


def test_its_rules_can_be_changed_and_seen(manager: Manager) -> None:
    queue = manager.create_queue("tx", transactional=True)
    info = queue.info()
    assert (info.abort_limit, info.retry_delay, info.poison) == (0, 0, "subqueue")
    queue.set(abort_limit=3, retry_delay=60, poison="dead-letter")
    info = queue.info()
    assert (info.abort_limit, info.retry_delay, info.poison) == (3, 60, "dead-letter")
    queue.set(abort_limit=0)
    assert queue.info().abort_limit == 0
    with pytest.raises(IllegalPropertyValue, match="poison 'bin'"):
        queue.set(poison="bin")


# Iteration


def test_a_loop_over_a_queue_receives_one_message_after_the_other(tmp_path: Path) -> None:
    async def main() -> list[str | None]:
        async with aio.open(tmp_path) as manager:
            queue = await manager.create_queue("orders")
            await queue.send_many(["a", "b", "c"])
            found = []
            async for message in queue:
                found.append(message.text)
                if len(found) == 2:
                    break
            assert (await queue.receive(0)).text == "c"
            return found

    assert asyncio.run(main()) == ["a", "b"]
