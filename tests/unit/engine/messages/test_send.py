"""Messages of programs on their way into queues."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.unit.engine import handles
from tests.unit.engine.office import Manager
from tests.unit.engine.world import NOW, OWNER, commit

from openmsmq.engine.commit.number_reservation import MESSAGE_ID_BLOCK
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import NEVER, Owed, Record, split_due_key
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    IllegalPropertyValue,
    InsufficientResources,
    MachineQuotaExceeded,
    Malformed,
    QueueNotAvailable,
    QueueQuotaExceeded,
    StorageError,
    TransactionUsage,
)
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge
from openmsmq.types.access import Mode
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.queues import QueueKind

THERE = "DIRECT=OS:there\\private$\\q"
ASKED = [
    (Message(), Owed.NOTHING),
    (Message(dead_letter=True), Owed.DEAD_LETTER),
    (Message(journal=True), Owed.JOURNAL),
    (Message(acknowledge=Acknowledge.FULL_RECEIVE), Owed.NOTHING),
    (
        Message(acknowledge=Acknowledge.FULL_REACH_QUEUE, admin_queue="a"),
        Owed.ACK_ARRIVAL | Owed.NACK_ARRIVAL,
    ),
    (
        Message(acknowledge=Acknowledge.FULL_RECEIVE, admin_queue="a", dead_letter=True),
        Owed.ACK_RECEIVE | Owed.NACK_ARRIVAL | Owed.NACK_RECEIVE | Owed.DEAD_LETTER,
    ),
]


@pytest.fixture
def manager() -> Manager:
    return Manager()


def records(manager: Manager, queue: ManagedQueue) -> list[Record]:
    found = manager.local.receiver.peek(queue, 100, OWNER, wait=False)
    return [] if found.error else [Record.unpack(entry.record) for entry in found.result()]


@pytest.mark.parametrize(("message", "owed"), ASKED, ids=[str(owed) for _, owed in ASKED])
def test_what_a_message_asks_for_is_kept_with_it(
    manager: Manager, message: Message, owed: Owed
) -> None:
    """DMPR-065, DMPR-068, DMPR-078."""
    outgoing = manager.open(THERE)
    manager.send(outgoing, message)
    assert [record.flags for record in records(manager, outgoing)] == [owed]


def test_express_messages_get_no_identifiers_that_a_crash_would_give_again(
    manager: Manager,
) -> None:
    """DMPR-053: a receiver would take later messages for these."""
    outgoing, core = manager.open(THERE), manager.local
    core.take_message_ids(MESSAGE_ID_BLOCK)
    with pytest.raises(InsufficientResources, match="until the disk has taken a commit"):
        handles.send(manager.local, outgoing, [Message(recoverable=False)], None)
    manager.send(outgoing, Message(recoverable=True))
    manager.send(outgoing, Message(recoverable=False))
    assert manager.restart().local.numbers.message_id > core.numbers.message_id


def test_what_a_transaction_sends_is_marked_as_such(manager: Manager) -> None:
    outgoing = manager.open(THERE)
    transaction = manager.local.begin()
    manager.send(outgoing, Message(dead_letter=True), transaction=transaction)
    manager.done(manager.local.commit(transaction))
    assert records(manager, outgoing)[0].flags == Owed.DEAD_LETTER | Owed.TRANSACTIONAL


# Lifetimes


@pytest.mark.parametrize(
    ("received", "reached", "expires"),
    [
        (None, None, NOW + 0x54600),
        (None, 60, NOW + 60),
        (30, None, NOW + 30),
        (30, 60, NOW + 30),
        (90, 60, NOW + 60),
        (None, 0, NOW - 1),
        (None, INFINITE - 1, INFINITE - 1),
    ],
)
def test_on_its_way_a_message_expires_at_the_earlier_of_both_limits(
    manager: Manager, received: int | None, reached: int | None, expires: int
) -> None:
    """DMPR-086, DMPR-087 (A-10)."""
    outgoing = manager.open(THERE)
    manager.local.expiry.next = NEVER
    message = Message(time_to_be_received=received, time_to_reach_queue=reached)
    pending = handles.send(manager.local, outgoing, [message], None)
    manager.done(pending)
    raw = next(iter(manager.store.committed.tables[2].values()))
    assert Record.unpack(raw).expires == expires
    packet = next(iter(manager.store.committed.tables[3].values()))
    view = PacketView(packet)
    assert view.time_to_reach_queue == (0x54600 if reached is None else reached)
    assert view.sent_time == NOW


def test_how_long_it_may_travel_can_be_set(manager: Manager) -> None:
    """DMPR-086."""
    for setting, expires in ((100, NOW + 100), (None, NEVER)):
        manager.done(manager.local.configure(time_to_reach_queue=setting))
        outgoing = manager.open(f"DIRECT=OS:there\\private$\\q{setting}")
        manager.send(outgoing, Message())
        assert [record.expires for record in records(manager, outgoing)] == [expires]


def test_in_a_queue_here_the_time_to_reach_it_is_over_on_arrival(manager: Manager) -> None:
    """DMPR-196."""
    queue = manager.create()
    manager.send(queue, Message(b"x", time_to_reach_queue=0))
    assert records(manager, queue)[0].expires == NEVER
    assert manager.peek(queue)[0].time_to_reach_queue == 0


def test_lifetimes_count_without_the_jumps_of_the_clock(manager: Manager) -> None:
    queue = manager.create()
    manager.clock.time += 3600
    manager.local.advance(manager.local.clock.now(), manager.local.clock.elapsed())
    manager.send(queue, Message(time_to_be_received=60))
    assert records(manager, queue)[0].expires == NOW + 60
    manager.tick(61)
    assert records(manager, queue) == []


# Messages that programs have packed

BATCH = [
    Message(b"1"),
    Message(b"2", priority=6, recoverable=False),
    Message(b"3", time_to_be_received=30, time_to_reach_queue=60, journal=True),
    Message(b"4", acknowledge=Acknowledge.FULL_RECEIVE, admin_queue="DIRECT=OS:a\\q"),
    Message(b"5", dead_letter=True, time_to_reach_queue=20),
]


def packed(messages: list[Message]) -> list[bytes]:
    """Messages as a program packs them, which knows neither number nor time."""
    destination = parse_format_name("DIRECT=OS:nowhere\\q")
    return Packer(UUID(int=5)).pack_many(messages, destination, first_id=0, sent_time=0)


def stored(manager: Manager, queue: ManagedQueue) -> list[tuple[object, ...]]:
    """All that is known of messages in a queue, but for where they are."""
    entries = manager.local.receiver.peek(queue, 100, OWNER, wait=False).result()
    found: list[tuple[object, ...]] = []
    for entry in entries:
        record = Record.unpack(entry.record)._replace(packet_number=0)
        found.append((entry.lookup, record, entry.packet, entry.express))
    return found


@pytest.mark.parametrize("way", ["plain", "transaction"])
@pytest.mark.parametrize("name", ["orders", THERE, "DIRECT=OS:.\\private$\\orders," + THERE])
def test_what_a_program_has_packed_is_sent_as_if_it_had_not(name: str, way: str) -> None:
    """To a queue here, elsewhere, or several."""
    found = []
    for packs in (False, True):
        manager = Manager()
        manager.create(transactional=way == "transaction")
        queue = manager.open(name)
        transaction = manager.local.begin() if way == "transaction" else None
        if packs:
            pending = handles.send_packets(manager.local, queue, packed(BATCH), transaction)
        else:
            pending = handles.send(manager.local, queue, BATCH, transaction)
        answer = manager.done(pending)
        ids = list(answer)
        if transaction is not None:
            manager.done(manager.local.commit(transaction))
        targets = queue.members or (queue,)
        found.append((ids, [stored(manager, target) for target in targets]))
    assert found[0] == found[1]
    assert len(found[0][0]) == len(BATCH) * len(found[0][1])


# Several queues at once


@pytest.fixture
def several(manager: Manager) -> ManagedQueue:
    """Two queues here and one elsewhere, opened together."""
    manager.create("a")
    manager.create("b")
    names = ("DIRECT=OS:.\\private$\\a", "DIRECT=OS:.\\private$\\b", THERE)
    return manager.open(",".join(names))


def test_a_message_to_several_queues_arrives_in_each(
    manager: Manager, several: ManagedQueue
) -> None:
    """With identifiers of their own, and the names of all (DMPR-198, DMPR-199, MQQB-097)."""
    ids = manager.send(several, Message(b"1"), Message(b"2"))
    assert len(set(ids)) == 6
    assert several.kind is QueueKind.MULTIPLE
    found = []
    for member in several.members:
        assert manager.bodies(member) == [b"1", b"2"]
        found += [message.id for message in manager.peek(member)]
    assert found == ids
    for member in several.members:
        view = PacketView(manager.peek(member)[0].packet)
        header = view.message().multi_queue
        assert header is not None
        names = [str(element.name()) for element in header.destination.elements]
        assert ",".join(names) == several.name
        assert str(view.destination).endswith(member.name.removeprefix("DIRECT=OS:"))


def test_all_quotas_are_looked_at_before_anything_is_sent(
    manager: Manager, several: ManagedQueue
) -> None:
    """DMPR-200 (A-23)."""
    last = several.members[-2]
    manager.done(manager.local.change_queue(last, quota=0))
    with pytest.raises(QueueQuotaExceeded):
        handles.send(manager.local, several, [Message(b"x")], None)
    assert [manager.bodies(member) for member in several.members] == [[], [], []]
    assert not manager.local.wants_commit


def test_each_message_has_the_number_after_the_last_one(manager: Manager) -> None:
    """MQQB-196: in whatever queue it is."""
    sent = manager.send(manager.create(), Message(b"1"), Message(b"2"))
    sent = [*sent, *manager.send(manager.open(THERE), Message(b"3"))]
    first, *others = [int(str(identifier).rpartition("\\")[2]) for identifier in sent]
    assert others == [first + 1, first + 2]


def test_a_member_that_is_gone_lets_the_send_fail(manager: Manager, several: ManagedQueue) -> None:
    """DMPR-200."""
    manager.done(manager.local.queue_lifecycle.delete(several.members[0]))
    with pytest.raises(QueueNotAvailable):
        handles.send(manager.local, several, [Message(b"x")], None)


def test_in_a_transaction_all_members_must_be_transactional(
    manager: Manager, several: ManagedQueue
) -> None:
    with pytest.raises(TransactionUsage):
        handles.send(manager.local, several, [Message(b"x")], manager.local.begin())


def test_several_transactional_queues_get_their_copies_together(manager: Manager) -> None:
    """DMPR-198."""
    for name in "ab":
        manager.create(name, transactional=True)
    several = manager.open("DIRECT=OS:.\\private$\\a,DIRECT=OS:.\\private$\\b")
    transaction = manager.local.begin()
    manager.send(several, Message(b"x"), transaction=transaction)
    assert [manager.bodies(member) for member in several.members] == [[], []]
    manager.done(manager.local.commit(transaction))
    assert [manager.bodies(member) for member in several.members] == [[b"x"], [b"x"]]


def test_sending_nothing_is_nothing(manager: Manager, several: ManagedQueue) -> None:
    assert manager.send(several) == []
    assert manager.send(manager.create()) == []


def test_the_quota_of_the_machine_is_that_of_all(manager: Manager) -> None:
    """DMPR-186."""
    manager.done(manager.local.configure(quota=1))
    with pytest.raises(MachineQuotaExceeded):
        handles.send(manager.local, manager.create(), [Message(b"x" * 1024)], None)


# Once, and later


def test_a_message_for_another_computer_waits_here(manager: Manager) -> None:
    outgoing = manager.open(THERE)
    sent = handles.send(manager.local, outgoing, [Message("x")], None, DeliveryOptions(after=5000))
    manager.done(sent)
    assert outgoing.messages == 0
    assert outgoing.delayed is not None
    assert outgoing.delayed.messages == 1
    with pytest.raises(IllegalPropertyValue, match="expire before"):
        handles.send(
            manager.local, outgoing, [Message("x")], None, DeliveryOptions(after=400_000_000)
        )


def test_a_time_that_was_said_counts_by_the_clock_of_lifetimes(manager: Manager) -> None:
    queue = manager.create("q")
    manager.clock.time += 3600
    manager.local.advance(manager.local.clock.now(), manager.local.clock.elapsed())
    assert manager.local.timeline.shift == 3600
    at = int(manager.clock.now() + 5) * 1000
    manager.done(handles.send(manager.local, queue, [Message("x")], None, DeliveryOptions(at=at)))
    (row,) = manager.store.committed.tables[8]
    assert split_due_key(row)[0] == at - 3600 * 1000


def test_of_several_destinations_each_has_its_own_ids(manager: Manager) -> None:
    for name in "ab":
        manager.create(name)
    several = manager.open("DIRECT=OS:.\\private$\\a,DIRECT=OS:.\\private$\\b")
    first = manager.done(
        handles.send(
            manager.local,
            manager.open("a"),
            [Message("x")],
            None,
            DeliveryOptions(dedup_ids=("1",)),
        )
    )
    once = DeliveryOptions(dedup_ids=("1",))
    ids = manager.done(handles.send(manager.local, several, [Message("x")], None, once))
    assert [one.duplicate for one in ids] == [True, False]
    assert ids[0] == first[0]


def test_a_wrong_message_uses_up_no_id(manager: Manager) -> None:
    queue = manager.create("q", transactional=True)
    with pytest.raises(TransactionUsage):
        handles.send(manager.local, queue, [Message("x")], None, DeliveryOptions(dedup_ids=("1",)))


# In one piece

GROUP = [Message(bytes([n]) * 9, label="order", priority=4) for n in range(6)]


def in_one_piece(manager: Manager, queue: str, messages: list[Message]) -> bytes:
    """Messages as a program packs them that knows its manager."""
    packer = Packer(manager.local.identity, computer="here")
    run = packer.pack_run(messages, parse_format_name(f"DIRECT=OS:.\\private$\\{queue}"))
    assert run is not None
    return run.packets


def runs(manager: Manager) -> int:
    return len(manager.store.committed.tables[Table.RUNS])


@pytest.mark.parametrize("is_packed", [False, True], ids=["messages", "packets"])
def test_many_messages_stay_in_one_piece(manager: Manager, is_packed: bool) -> None:
    queue = manager.create("q")
    opened = manager.local.open_queue("q", Mode())
    if is_packed:
        ids = manager.done(opened.send_run(in_one_piece(manager, "q", GROUP), len(GROUP)))
    else:
        ids = manager.done(opened.send(GROUP))
    assert runs(manager) == 1
    found = manager.peek(queue)
    assert [message.body for message in found] == [message.body for message in GROUP]
    assert [message.id for message in found] == list(ids)
    assert {message.priority for message in found} == {4}
    assert {int(message.sent_time.timestamp()) for message in found} == {NOW}
    assert manager.send(queue, Message("next")) == [
        f"{manager.local.identity}\\{int(ids[-1].rpartition(chr(92))[2]) + 1}"
    ]


def test_packets_that_are_not_plain_are_sent_one_by_one(manager: Manager) -> None:
    queue = manager.create("q")
    packer = Packer(manager.local.identity, computer="here")
    special = [*GROUP, Message(b"urgent", priority=7)]
    name = parse_format_name("DIRECT=OS:.\\private$\\q")
    packets = b"".join(packer.pack_many(special, name, first_id=0, sent_time=0))
    opened = manager.local.open_queue("q", Mode())
    manager.done(opened.send_run(packets, len(special)))
    assert manager.bodies(queue) == [b"urgent", *(message.body for message in GROUP)]
    with pytest.raises(Malformed):
        opened.send_run(packets, len(special) + 1)


def test_in_a_transaction_packets_are_sent_one_by_one(manager: Manager) -> None:
    queue = manager.create("q", transactional=True)
    opened = manager.local.open_queue("q", Mode())
    packets = in_one_piece(manager, "q", GROUP)
    with pytest.raises(TransactionUsage):
        opened.send_run(packets, len(GROUP))
    transaction = manager.local.begin()
    manager.done(opened.send_run(packets, len(GROUP), transaction))
    assert manager.bodies(queue) == []
    manager.done(manager.local.commit(transaction))
    assert manager.bodies(queue) == [message.body for message in GROUP]


def test_a_piece_is_held_to_quotas_and_leaves_no_trace_when_it_is_refused(manager: Manager) -> None:
    manager.create("q", quota=1)
    opened = manager.local.open_queue("q", Mode())
    before = manager.local.numbers.message_id
    with pytest.raises(QueueQuotaExceeded):
        opened.send([Message(b"x" * 300)] * 5)
    assert manager.local.numbers.message_id == before
    manager.done(manager.local.configure(quota=1))
    with pytest.raises(MachineQuotaExceeded):
        opened.send([Message(b"x" * 300)] * 5)
    assert opened.queue.total_size == 0


def test_a_piece_that_comes_when_its_queue_has_got_a_journal_has_rows(manager: Manager) -> None:
    queue = manager.create("q")
    opened = manager.local.open_queue("q", Mode())
    pending = opened.send(GROUP)
    queue.properties = replace(queue.properties, journal=True)
    manager.done(pending)
    assert runs(manager) == 0
    assert manager.bodies(queue) == [message.body for message in GROUP]


def test_a_piece_for_a_queue_that_is_deleted_meanwhile_fails(manager: Manager) -> None:
    manager.create("q")
    pending = manager.local.open_queue("q", Mode()).send(GROUP)
    manager.done(manager.local.delete_queue("q"))
    assert isinstance(pending.error, QueueNotAvailable)
    other = manager.create("other")
    opened = manager.local.open_queue("other", Mode())
    other.deleted = True
    with pytest.raises(QueueNotAvailable):
        opened.send(GROUP)


def test_a_piece_that_the_disk_refuses_gives_its_room_back(manager: Manager) -> None:
    queue = manager.create("q")
    pending = manager.local.open_queue("q", Mode()).send(GROUP)
    assert queue.reserved
    commit(manager.local, StorageError("no"))
    assert pending.error is not None
    assert queue.reserved == 0
    assert manager.bodies(queue) == []


def test_large_pieces_are_several_runs(manager: Manager) -> None:
    queue = manager.create("q")
    sizes = [30_000] * 60 + [900_000] * 2 + [10] * 5
    sent = [Message(bytes([n]) * size) for n, size in enumerate(sizes)]
    manager.done(manager.local.open_queue("q", Mode()).send(sent))
    assert runs(manager) > 1
    assert manager.bodies(queue) == [message.body for message in sent]


def test_identifiers_that_begin_anew_are_given_one_by_one(manager: Manager) -> None:
    queue = manager.create("q")
    manager.local.numbers.message_id = manager.local.numbers.message_id_end = (1 << 32) - 4
    ids = manager.done(manager.local.open_queue("q", Mode()).send(GROUP))
    assert [message.id for message in manager.peek(queue)] == list(ids)
    assert runs(manager) == 0
