"""The queue manager of this process: names, messages into packets, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

import pytest
from tests.unit.model.world import NOW, OWNER, commit_all

from openmsmq.errors import (
    IllegalFormatName,
    IllegalQueuePathName,
    MessageTooLarge,
    MQError,
    QueueExists,
    QueueNotFound,
    TransactionSequence,
    UnsupportedFormatNameOperation,
)
from openmsmq.manager.local import LocalManager, received
from openmsmq.messages.message import Message
from openmsmq.messages.received import ReceivedMessage
from openmsmq.model.layout import Record
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Holder
from openmsmq.model.transaction import Transaction
from openmsmq.names.direct import DirectName
from openmsmq.names.path import PathName
from openmsmq.properties.message import INFINITE
from openmsmq.store.memory import Disk, MemoryStore

T = TypeVar("T")


class StillClock:
    """Stands still until it is told otherwise, and counts identifiers."""

    def __init__(self) -> None:
        self.time = NOW + 0.75
        self._given = 0

    def now(self) -> float:
        return self.time

    def new_guid(self) -> UUID:
        self._given += 1
        return UUID(int=self._given)


class Manager:
    """A local manager on a store in memory, with commits made as they are needed."""

    def __init__(self, disk: Disk | None = None, name: str = "Server1") -> None:
        self.store = MemoryStore(disk)
        self.clock = StillClock()
        self.local = LocalManager(self.store, self.clock, name=name)

    def done(self, pending: Pending[T]) -> T:
        commit_all(self.local.core)
        return pending.result()

    def create(self, name: str = "orders", *, transactional: bool = False) -> Queue:
        return self.done(self.local.create_queue(name, transactional=transactional))

    def send(
        self, queue: Queue, *messages: Message, transaction: Transaction | None = None
    ) -> None:
        self.done(self.local.send(queue, messages, transaction))

    def peek(self, queue: Queue) -> list[ReceivedMessage]:
        found = self.local.receiving.peek(queue, 100, OWNER, wait=False)
        return [] if found.error else received(found.result())


@pytest.fixture
def manager() -> Manager:
    return Manager()


# Names


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "ORDERS",
        ".\\private$\\orders",
        "server1\\private$\\orders",
        "LOCALHOST\\Private$\\Orders",
        "DIRECT=OS:.\\private$\\orders",
        "direct=os:SERVER1\\private$\\orders",
        "FormatName:DIRECT=OS:server1\\PRIVATE$\\orders",
    ],
)
def test_a_queue_is_found_by_every_name_it_has_here(manager: Manager, name: str) -> None:
    queue = manager.create()
    assert manager.local.find_queue(name) is queue
    with pytest.raises(QueueExists):
        manager.local.create_queue(name)


def test_names_may_be_parsed_already(manager: Manager) -> None:
    path = PathName(".", "orders", private=True)
    assert manager.local.local_name(path) == "private$\\orders"
    assert manager.local.local_name(DirectName.from_wire("OS:server1\\orders")) == "orders"


def test_a_public_queue_and_a_private_one_are_two(manager: Manager) -> None:
    private, public = manager.create("orders"), manager.create(".\\orders")
    assert private.properties.name == "private$\\orders"
    assert public.properties.name == "orders"
    assert manager.local.find_queue("server1\\orders") is public


@pytest.mark.parametrize(
    "name",
    [
        "nowhere",
        ".\\nowhere",
        "DIRECT=OS:server1\\private$\\nowhere",
        "DIRECT=OS:localhost\\private$\\nowhere",
    ],
)
def test_an_unknown_queue_is_not_found(manager: Manager, name: str) -> None:
    """DMPR-156, DMPR-157."""
    manager.create()
    with pytest.raises(QueueNotFound) as info:
        manager.local.find_queue(name)
    assert info.value.hresult == 0xC00E0003


@pytest.mark.parametrize(
    "name",
    [
        "other\\private$\\orders",
        "DIRECT=OS:other\\private$\\orders",
        "DIRECT=TCP:10.0.0.1\\private$\\orders",
        "PUBLIC=12345678-1234-4234-8234-123456789abc",
        ".\\private$\\orders;retry",
        ".\\private$\\orders\\Journal$",
        ".\\DeadLetter$",
    ],
)
def test_queues_elsewhere_and_built_in_ones_are_refused(manager: Manager, name: str) -> None:
    """DMPR-116."""
    manager.create()
    with pytest.raises(UnsupportedFormatNameOperation) as info:
        manager.local.find_queue(name)
    assert info.value.hresult == 0xC00E0020
    with pytest.raises(IllegalQueuePathName) as illegal:
        manager.local.create_queue(name)
    assert illegal.value.hresult == 0xC00E0014


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", IllegalQueuePathName),
        (".\\private$\\", IllegalQueuePathName),
        ("\\orders", IllegalQueuePathName),
        (".\\private$\\" + "x" * 200, IllegalQueuePathName),
        ("a\nb", IllegalQueuePathName),
        ("DIRECT=", IllegalFormatName),
        ("DIRECT=XYZ:a\\b", IllegalFormatName),
        ("PUBLIC=nonsense", IllegalFormatName),
    ],
)
def test_what_is_no_name_is_refused_and_changes_nothing(
    manager: Manager, name: str, error: type[MQError]
) -> None:
    """DMPR-116."""
    before = manager.store.committed
    for attempt in (manager.local.create_queue, manager.local.find_queue):
        with pytest.raises(error):
            attempt(name)
    assert manager.store.committed == before
    assert manager.local.core.queues == []


def test_a_queue_is_created_now_with_an_identifier_of_its_own(manager: Manager) -> None:
    """DMPR-122."""
    first, second = manager.create("a"), manager.create("b")
    for queue in (first, second):
        assert queue.properties.created == queue.properties.modified == NOW
    assert first.properties.id != second.properties.id


def test_a_change_is_noted_with_its_time(manager: Manager) -> None:
    queue = manager.create()
    manager.clock.time += 60
    manager.done(manager.local.change_queue(queue, label="new"))
    changed = queue.properties
    assert (changed.label, changed.created, changed.modified) == ("new", NOW, NOW + 60)


# Messages


def test_a_message_arrives_as_it_was_sent(manager: Manager) -> None:
    """DMPR-055, DMPR-074, DMPR-075."""
    queue = manager.create()
    sent = Message(
        b"body",
        body_type=17,
        label="Größe",
        priority=5,
        correlation_id=b"x" * 20,
        app_specific=7,
        extension=b"more",
        time_to_be_received=60,
        admin_queue="answers",
    )
    manager.send(queue, sent)
    (found,) = manager.peek(queue)
    assert (found.body, found.body_type, found.label) == (b"body", 17, "Größe")
    assert (found.priority, found.correlation_id, found.app_specific) == (5, b"x" * 20, 7)
    assert (found.extension, found.time_to_be_received) == (b"more", 60)
    assert found.sent_time == found.arrived_time == datetime.fromtimestamp(NOW, UTC)
    assert str(found.destination_queue) == "DIRECT=OS:Server1\\private$\\orders"
    assert str(found.admin_queue) == "DIRECT=OS:Server1\\private$\\answers"
    assert found.source_manager == manager.local.core.identity
    assert found.lookup_id & (1 << 56) - 1 == found.arrival
    assert (found.abort_count, found.move_count, found.transactional) == (0, 0, False)


def test_identifiers_are_unique_whatever_happens(manager: Manager) -> None:
    """Also those of express messages before a crash (DMPR-053)."""
    queue = manager.create()
    ids: list[str] = []
    for _ in range(3):
        manager.send(queue, Message(b"1"), Message(b"2", recoverable=False), Message(b"3"))
        manager.send(queue, Message(b"4", recoverable=False))
        ids += [found.id for found in manager.peek(queue)]
        queue_of = manager.local.receiving.receive(queue, 100, OWNER, wait=False)
        manager.done(queue_of)
        manager = Manager(manager.store.committed)
        queue = manager.local.find_queue("orders")
    assert len(set(ids)) == len(ids) == 12


@pytest.mark.parametrize(
    ("seconds", "expires"),
    [(None, INFINITE), (0, NOW), (60, NOW + 60), (INFINITE - 1, INFINITE - 1)],
)
def test_the_time_a_message_may_be_received_is_kept(
    manager: Manager, seconds: int | None, expires: int
) -> None:
    """Counted from when it was sent (A-10)."""
    queue = manager.create()
    manager.send(queue, Message(b"", time_to_be_received=seconds))
    (entry,) = manager.local.receiving.peek(queue, 1, OWNER, wait=False).result()
    assert Record.unpack(entry.record).expires == expires


def test_only_recoverable_messages_outlive_the_process(manager: Manager) -> None:
    """DMPR-061."""
    queue = manager.create()
    manager.send(queue, Message(b"express", recoverable=False), Message(b"recoverable"))
    again = Manager(manager.store.committed)
    assert [m.body for m in again.peek(again.local.find_queue("orders"))] == [b"recoverable"]


def test_a_message_sent_in_a_transaction_is_recoverable_with_priority_0(manager: Manager) -> None:
    """Whatever the caller said (DMPR-394)."""
    queue = manager.create(transactional=True)
    transaction = manager.local.begin()
    messages = [Message(bytes([48 + n]), priority=n, recoverable=n % 2 == 0) for n in range(8)]
    for message in messages:
        manager.send(queue, message, transaction=transaction)
    manager.done(manager.local.commit(transaction))
    again = Manager(manager.store.committed)
    found = again.peek(again.local.find_queue("orders"))
    assert b"".join(message.body for message in found) == b"01234567"
    assert {(m.priority, m.recoverable, m.transactional) for m in found} == {(0, True, True)}
    assert {message.lookup_id >> 56 for message in found} == {7}


def test_a_message_arrives_when_its_transaction_commits(manager: Manager) -> None:
    """DMPR-055."""
    queue = manager.create(transactional=True)
    transaction = manager.local.begin()
    manager.send(queue, Message(b""), transaction=transaction)
    manager.clock.time += 60
    manager.done(manager.local.commit(transaction))
    (found,) = manager.peek(queue)
    assert found.sent_time == datetime.fromtimestamp(NOW, UTC)
    assert found.arrived_time == datetime.fromtimestamp(NOW + 60, UTC)


def test_an_aborted_receive_is_counted(manager: Manager) -> None:
    queue = manager.create(transactional=True)
    transaction = manager.local.begin()
    manager.send(queue, Message(b""), transaction=transaction)
    manager.done(manager.local.commit(transaction))
    again = manager.local.begin()
    manager.done(manager.local.receiving.receive(queue, 1, OWNER, wait=False, holder=again))
    manager.done(manager.local.abort(again))
    assert [message.abort_count for message in manager.peek(queue)] == [1]


def test_one_message_too_large_and_none_is_sent(manager: Manager) -> None:
    queue = manager.create()
    before = manager.local.core.numbers.message_id
    with pytest.raises(MessageTooLarge) as info:
        manager.local.send(queue, [Message(b"a"), Message(b"x" * (4 << 20))], None)
    assert info.value.hresult == 0xC00E0027
    assert manager.peek(queue) == []
    assert manager.local.core.numbers.message_id == before
    manager.send(queue, Message(b"x" * ((4 << 20) - 1000)))


def test_what_is_held_elsewhere_does_not_matter_to_sending(manager: Manager) -> None:
    queue = manager.create()
    manager.send(queue, Message(b"1"))
    manager.local.receiving.receive(queue, 1, OWNER, wait=False, holder=Holder())
    manager.send(queue, Message(b"2"))
    assert [message.body for message in manager.peek(queue)] == [b"2"]


# Prepared transactions


def test_a_prepared_transaction_is_known_by_its_name(manager: Manager) -> None:
    """DMPR-282, DMPR-284, DMPR-289."""
    queue = manager.create(transactional=True)
    transaction = manager.local.begin("transfer")
    manager.send(queue, Message(b"1"), transaction=transaction)
    with pytest.raises(TransactionSequence) as info:
        manager.local.prepared("transfer")
    assert info.value.hresult == 0xC00E0051
    manager.done(manager.local.prepare(transaction))
    again = Manager(manager.store.committed)
    again.done(again.local.commit(again.local.prepared("transfer")))
    assert [m.body for m in again.peek(again.local.find_queue("orders"))] == [b"1"]
    with pytest.raises(TransactionSequence):
        again.local.prepared("transfer")


def test_a_manager_keeps_its_identity(manager: Manager) -> None:
    """DMPR-004."""
    again = Manager(manager.store.committed)
    assert again.local.core.identity == manager.local.core.identity
