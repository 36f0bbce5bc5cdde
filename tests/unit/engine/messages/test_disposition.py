"""What follows when messages arrive or leave: dead letters, journals, acknowledgements."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.unit.engine.world import (
    HERE,
    MANY,
    NOW,
    PARTNER,
    READER,
    World,
    commit_all,
    letter,
    message,
)

from openmsmq.engine.arrivals.incoming import SOURCE
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.messages.disposition import EVENTS, OWED
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import CHUNK_SIZE, Owed
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.transaction import SPILL_SIZE
from openmsmq.errors import StorageFailed, StorageFull
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass
from openmsmq.types.lookup import ranges_of
from openmsmq.types.queues import QueueKind
from openmsmq.types.read import Seek
from openmsmq.types.settings import Settings

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])
HISTORY = pytest.mark.parametrize("history", [True, False], ids=["history", "no history"])
ADMIN = HERE + "admin"
THERE = "DIRECT=OS:there\\private$\\admin"
ALL = Acknowledge.FULL_RECEIVE | Acknowledge.FULL_REACH_QUEUE


def count(queue: ManagedQueue) -> int:
    return queue.messages + len(queue.express)


def classes(world: World, queue: ManagedQueue) -> list[int]:
    """The classes of acknowledgements in a queue."""
    return [view.message_class for view in world.views(queue)]


# Dead letters


@EXPRESS
@HISTORY
@pytest.mark.parametrize("wanted", [True, False])
def test_a_message_that_expires_becomes_a_dead_letter_if_its_sender_wants(
    world: World, queue: ManagedQueue, express: bool, history: bool, wanted: bool
) -> None:
    """DMPR-068, DMPR-069."""
    world.core.history.limit = history << 20
    sent = letter("a", express=express, dead_letter=wanted, expires=NOW + 5, priority=5)
    world.send(queue, sent)
    world.tick(10)
    dead = world.core.queues.dead_letter
    assert count(queue) == 0
    assert world.bodies(dead) == ["a"] * wanted
    assert world.count("dead_lettered") == int(wanted)
    if wanted:
        (record,), (lookup,) = world.records(dead), world.lookups(dead)
        assert record.message_class == MessageClass.NACK_RECEIVE_TIMEOUT
        assert (record.expires, record.arrived_time, lookup >> 56) == (INFINITE, NOW + 10, 2)
    world.tick(10**6)
    assert count(dead) == int(wanted)
    assert len(world.rows(Table.PACKETS)) == int(wanted and not express)
    assert count(world.core.queues.transactional_dead_letter) == 0


def test_a_large_dead_letter_is_kept_whole(world: World, queue: ManagedQueue) -> None:
    body = "x" * (3 * CHUNK_SIZE)
    world.send(queue, letter(body, dead_letter=True, expires=NOW))
    world.tick(5)
    assert world.bodies(world.core.queues.dead_letter) == [body]
    again = world.restart()
    assert again.bodies(again.core.queues.dead_letter) == [body]


def test_a_transactional_message_from_here_has_a_dead_letter_queue_of_its_own(
    world: World,
) -> None:
    """DMPR-068."""
    queue = world.queue(transactional=True)
    world.send_in(queue, letter("a", transactional=True, dead_letter=True, expires=NOW))
    world.tick(5)
    dead = world.core.queues.transactional_dead_letter
    assert world.bodies(dead) == ["a"]
    assert world.records(dead)[0].message_class == MessageClass.NACK_RECEIVE_TIMEOUT
    assert count(world.core.queues.dead_letter) == 0


def test_a_transactional_message_from_elsewhere_is_its_senders_to_keep(world: World) -> None:
    queue = world.queue(transactional=True)
    world.send_in(
        queue, letter("a", source=PARTNER, transactional=True, dead_letter=True, expires=NOW)
    )
    world.tick(5)
    assert count(queue) == 0
    assert count(world.core.queues.transactional_dead_letter) == 0
    assert count(world.core.queues.dead_letter) == 0
    assert not world.rows(Table.PACKETS)


def test_a_plain_message_from_elsewhere_is_kept_here(world: World, queue: ManagedQueue) -> None:
    world.send(queue, letter("a", source=PARTNER, dead_letter=True, expires=NOW))
    world.tick(5)
    assert world.bodies(world.core.queues.dead_letter) == ["a"]


@EXPRESS
def test_a_purge_and_a_delete_leave_no_dead_letters(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-399."""
    world.send(queue, letter("a", express=express, dead_letter=True))
    world.done(world.core.queue_lifecycle.purge(queue))
    world.send(queue, letter("b", express=express, dead_letter=True))
    world.done(world.core.queue_lifecycle.delete(queue))
    assert count(world.core.queues.dead_letter) == 0
    assert not world.rows(Table.PACKETS)
    assert (world.count("purged"), world.count("queue_deleted")) == (1, 1)


@EXPRESS
@HISTORY
def test_without_room_a_dead_letter_is_discarded(
    world: World, queue: ManagedQueue, express: bool, history: bool
) -> None:
    """It is counted, and reported in the history (DMPR-070)."""
    world.core.history.limit = history << 20
    dead = world.core.queues.dead_letter
    world.done(world.core.queue_lifecycle.change(dead, NOW, {"quota": 1}))
    sent = [letter("x" * 500, number=n, express=express, dead_letter=True) for n in range(3)]
    world.send(queue, *(one._replace(expires=NOW) for one in sent))
    world.tick(5)
    assert count(dead) == 1
    assert (world.count("discarded"), world.count("dead_lettered")) == (2, 1)
    assert len(world.rows(Table.PACKETS)) == int(not express)
    if history:
        arrived = Event.ARRIVED_EXPRESS if express else Event.ARRIVED
        assert world.reported(sent[2]) == [
            (arrived, "q"),
            (Event.EXPIRED, "q"),
            (Event.DISCARDED, dead.name),
        ]


def test_the_quota_of_the_machine_does_not_forbid_dead_letters(
    world: World, queue: ManagedQueue
) -> None:
    """They take no more than the message did."""
    world.send(queue, letter("x" * 600, dead_letter=True, expires=NOW))
    world.core.settings = Settings(quota=1)
    world.tick(5)
    assert count(world.core.queues.dead_letter) == 1


# Journals of what was sent


@EXPRESS
@pytest.mark.parametrize("wanted", [True, False])
def test_a_copy_of_what_was_sent_stays_if_the_sender_wants(
    world: World, queue: ManagedQueue, express: bool, wanted: bool
) -> None:
    """DMPR-065, DMPR-066."""
    sent = letter("a", express=express, journal=wanted, expires=NOW + 5, priority=6)
    journal = world.core.queues.system_journal
    waiting = world.wait_peek(journal)
    world.send(queue, sent)
    assert world.bodies(queue) == ["a"]
    assert world.bodies(journal) == ["a"] * wanted
    assert waiting.done == wanted
    assert world.count("journaled") == int(wanted)
    if wanted:
        (record,), (lookup,) = world.records(journal), world.lookups(journal)
        assert (record.message_class, record.expires, lookup >> 56) == (0, INFINITE, 1)
        assert (Event.JOURNALED, journal.name) in world.reported(sent)
    world.take(queue)
    world.tick(10)
    assert count(journal) == int(wanted)
    again = world.restart()
    assert again.bodies(again.core.queues.system_journal) == ["a"] * (wanted and not express)


def test_what_is_sent_in_a_transaction_is_copied_when_it_commits(world: World) -> None:
    """From memory and from the store (DMPR-065)."""
    queue = world.queue(transactional=True)
    journal = world.core.queues.system_journal
    for size in (1, SPILL_SIZE + 1):
        transaction = world.transactions.begin()
        world.send(
            queue,
            letter("x" * size, journal=True, transactional=True),
            letter("y", transactional=True),
            transaction=transaction,
        )
        assert count(journal) == 0
        world.done(world.transactions.commit(transaction))
        (view,) = world.views(journal)
        assert view.message_size == size
        world.done(world.core.queue_lifecycle.purge(journal))
    transaction = world.transactions.begin()
    world.send(queue, letter(journal=True, transactional=True), transaction=transaction)
    world.done(world.transactions.abort(transaction))
    assert count(journal) == 0


@EXPRESS
def test_without_room_the_copy_is_discarded_and_the_message_is_sent(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-067."""
    journal = world.core.queues.system_journal
    world.done(world.core.queue_lifecycle.change(journal, NOW, {"quota": 1}))
    sent = [letter("x" * 500, number=n, express=express, journal=True) for n in range(3)]
    world.send(queue, *sent)
    assert (count(queue), count(journal)) == (3, 1)
    assert (world.count("discarded"), world.count("journaled")) == (2, 1)
    assert world.reported(sent[1])[-1] == (Event.DISCARDED, journal.name)


@EXPRESS
def test_the_quota_of_the_machine_forbids_copies(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-067."""
    world.core.settings = Settings(quota=1)
    world.send(queue, letter("x" * 500, express=express, journal=True))
    assert (count(queue), count(world.core.queues.system_journal)) == (1, 0)
    assert world.count("discarded") == 1


# Journals of what was received


@EXPRESS
@HISTORY
def test_a_copy_of_what_was_received_stays_in_the_journal_of_the_queue(
    world: World, express: bool, history: bool
) -> None:
    """DMPR-117, DMPR-399."""
    world.core.history.limit = history << 20
    queue = world.queue(journal=True)
    sent = letter("a", express=express, expires=NOW + 5)
    world.send(queue, sent)
    world.take(queue)
    journal = journal_of(queue)
    assert world.bodies(journal) == ["a"]
    assert (count(queue), queue.total_size) == (0, 0)
    assert journal.total_size == len(sent.packet)
    assert world.records(journal)[0].message_class == 0
    assert (world.count("received"), world.count("journaled")) == (1, 1)
    world.tick(100)
    assert world.bodies(journal) == ["a"]
    world.take(journal)
    assert count(journal) == 0
    assert not world.rows(Table.PACKETS)


def test_the_history_says_why_a_message_is_a_dead_letter_and_needs_no_reason_for_a_copy(
    world: World,
) -> None:
    queue = world.queue(journal=True)
    late, read = letter("a", dead_letter=True, expires=NOW + 1), letter("b", number=2)
    world.send(queue, late)
    world.tick(5)
    world.send(queue, read)
    world.take(queue)
    found = {}
    for sent in (late, read):
        happened = world.core.history.of(world.core.snapshot, PacketView(sent.packet).identifier)
        found.update({Event(item.event): item.extra for item in happened})
    assert found[Event.DEAD_LETTERED] != ""
    assert found[Event.JOURNALED] == ""


@pytest.mark.parametrize("way", ["receive", "two steps", "lookup", "transaction"])
def test_every_way_of_receiving_leaves_a_copy(world: World, way: str) -> None:
    """DMPR-399."""
    queue = world.queue(journal=True, transactional=True)
    world.send_in(queue, letter("a", transactional=True))
    (lookup,) = world.lookups(queue)
    match way:
        case "receive":
            world.take(queue)
        case "two steps":
            world.take(queue, 1, READER)
            world.done(world.receiver.end(queue, ranges_of([lookup]), READER, delete=True))
        case "lookup":
            entries = world.receiver.by_lookup(queue, lookup, Seek.CURRENT, peek=False)
            world.done(entries)
        case "transaction":
            transaction = world.transactions.begin()
            world.take(queue, 1, transaction)
            assert count(journal_of(queue)) == 0
            world.done(world.transactions.commit(transaction))
    assert world.bodies(journal_of(queue)) == ["a"]


def test_what_leaves_in_another_way_leaves_none(world: World) -> None:
    """Purged, expired, moved, aborted, deleted (DMPR-399)."""
    queue = world.queue(journal=True, transactional=True)
    journal = journal_of(queue)
    world.send_in(queue, letter("purged", transactional=True))
    world.done(world.core.queue_lifecycle.purge(queue))
    world.send_in(queue, letter("expired", transactional=True, expires=NOW))
    world.tick(5)
    world.send_in(queue, letter("moved", transactional=True))
    world.move(queue, world.lookups(queue)[0], world.subqueue(queue))
    world.send_in(queue, letter("aborted", transactional=True))
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    world.done(world.transactions.abort(transaction))
    assert count(journal) == 0
    world.done(world.core.queue_lifecycle.delete(queue))
    assert not world.rows(Table.INDEX)


@EXPRESS
def test_what_is_received_from_a_subqueue_goes_to_the_journal_of_its_queue(
    world: World, express: bool
) -> None:
    """DMPR-118, DMPR-399."""
    queue = world.queue(journal=True)
    world.send(queue, letter("a", express=express))
    target = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], target)
    world.take(target)
    assert world.bodies(journal_of(queue)) == ["a"]
    assert target.journal is None


@EXPRESS
def test_without_room_in_it_the_copy_is_discarded(world: World, express: bool) -> None:
    queue = world.queue(journal=True, journal_quota=1)
    sent = [letter("x" * 500, number=n, express=express) for n in range(3)]
    world.send(queue, *sent)
    world.take(queue, MANY)
    assert (count(queue), count(journal_of(queue))) == (0, 1)
    assert (world.count("received"), world.count("discarded")) == (3, 2)
    assert len(world.rows(Table.PACKETS)) == int(not express)
    assert world.reported(sent[1])[-1] == (Event.DISCARDED, "q;JOURNAL")


def test_what_is_taken_from_a_journal_or_as_a_dead_letter_is_not_copied_again(
    world: World,
) -> None:
    queue = world.queue(journal=True)
    world.send(queue, letter("a", journal=True))
    world.take(queue)
    for system in (journal_of(queue), world.core.queues.system_journal):
        world.take(system)
    assert not world.rows(Table.INDEX)


def test_a_journal_is_in_the_store_with_its_messages(world: World) -> None:
    """DMPR-001."""
    queue = world.queue(journal=True)
    world.send(queue, letter("a"))
    world.take(queue)
    again = world.restart()
    journal = journal_of(again.find())
    assert again.bodies(journal) == ["a"]
    assert (journal.messages, journal.size) == (1, journal_of(queue).size)


# Acknowledgements


@EXPRESS
@pytest.mark.parametrize("asked", [Acknowledge.NONE, Acknowledge.POS_ARRIVAL])
def test_arrival_is_acknowledged_if_the_sender_wants(
    world: World, queue: ManagedQueue, express: bool, asked: Acknowledge
) -> None:
    """DMPR-078, DMPR-079, DMPR-083."""
    admin = world.queue("admin")
    waiting = world.wait_peek(admin)
    world.send(queue, letter(express=express, acknowledge=asked, admin=ADMIN))
    expected = [MessageClass.ACK_REACH_QUEUE] if asked else []
    assert classes(world, admin) == expected
    assert waiting.done == bool(asked)
    assert world.count("acknowledged") == bool(asked)
    world.take(queue)
    assert classes(world, admin) == expected


@EXPRESS
@pytest.mark.parametrize(
    ("asked", "received", "expired", "purged", "deleted"),
    [
        (Acknowledge.NONE, [], [], [], []),
        (Acknowledge.POS_ARRIVAL, [2], [2], [2], [2]),
        (Acknowledge.POS_RECEIVE, [0x4000], [], [], []),
        (Acknowledge.NACK_REACH_QUEUE, [], [], [], []),
        (Acknowledge.NEG_RECEIVE, [], [0xC002], [0xC001], [0xC000]),
        (Acknowledge.FULL_REACH_QUEUE, [2], [2], [2], [2]),
        (Acknowledge.NACK_RECEIVE, [], [0xC002], [0xC001], [0xC000]),
        (Acknowledge.FULL_RECEIVE, [0x4000], [0xC002], [0xC001], [0xC000]),
        (ALL, [2, 0x4000], [2, 0xC002], [2, 0xC001], [2, 0xC000]),
    ],
)
def test_each_end_is_acknowledged_as_the_sender_wants(
    world: World,
    express: bool,
    asked: Acknowledge,
    received: list[int],
    expired: list[int],
    purged: list[int],
    deleted: list[int],
) -> None:
    """DMPR-078, DMPR-080, DMPR-082, DMPR-083, DMPR-084, DMPR-085, DMPR-310, DMPR-314."""
    admin = world.queue("admin")

    def sent() -> ManagedQueue:
        world.done(world.core.queue_lifecycle.purge(admin))
        name = f"q{world.core.numbers.queue}"
        made = world.queue(name)
        world.send(made, letter(express=express, acknowledge=asked, admin=ADMIN, expires=NOW + 5))
        return made

    world.take(sent())
    assert classes(world, admin) == received
    world.done(world.core.queue_lifecycle.purge(sent()))
    assert classes(world, admin) == purged
    world.done(world.core.queue_lifecycle.delete(sent()))
    assert classes(world, admin) == deleted
    sent()
    world.tick(10)
    assert classes(world, admin) == expired


@EXPRESS
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Acknowledge.NONE, []),
        (Acknowledge.POS_ARRIVAL, []),
        (Acknowledge.NEG_ARRIVAL, [0x8002]),
        (Acknowledge.NACK_REACH_QUEUE, [0x8002]),
        (Acknowledge.FULL_REACH_QUEUE, [0x8002]),
        (Acknowledge.NACK_RECEIVE, [0x8002]),
        (Acknowledge.FULL_RECEIVE, [0x8002]),
        (Acknowledge.NEG_RECEIVE, []),
    ],
)
def test_a_message_that_did_not_reach_its_queue_is_reported(
    world: World, express: bool, asked: Acknowledge, expected: list[int]
) -> None:
    """It is a dead letter too, if wanted (DMPR-068, DMPR-081, DMPR-083, DMPR-084, DMPR-085)."""
    admin = world.queue("admin")
    outgoing = world.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\private$\\q"))
    sent = letter(
        express=express, acknowledge=asked, admin=ADMIN, dead_letter=True, expires=NOW + 5
    )
    world.send(outgoing, sent)
    world.tick(10)
    assert classes(world, admin) == expected
    (record,) = world.records(world.core.queues.dead_letter)
    assert record.message_class == MessageClass.NACK_REACH_QUEUE_TIMEOUT


@EXPRESS
def test_a_purge_on_the_way_is_reported_as_such(world: World, express: bool) -> None:
    """DMPR-068, DMPR-081."""
    admin = world.queue("admin")
    outgoing = world.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\private$\\q"))
    world.send(outgoing, letter(express=express, acknowledge=ALL, admin=ADMIN, dead_letter=True))
    world.done(world.core.queue_lifecycle.purge(outgoing))
    assert classes(world, admin) == [MessageClass.NACK_PURGED]
    (record,) = world.records(world.core.queues.dead_letter)
    assert record.message_class == MessageClass.NACK_PURGED


@EXPRESS
def test_what_only_waits_to_be_sent_is_not_delivered_yet(world: World, express: bool) -> None:
    """Neither copied nor acknowledged (DMPR-065, DMPR-079)."""
    admin = world.queue("admin")
    outgoing = world.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\private$\\q"))
    world.send(outgoing, letter(express=express, acknowledge=ALL, admin=ADMIN, journal=True))
    assert (count(outgoing), count(admin), count(world.core.queues.system_journal)) == (1, 0, 0)


@EXPRESS
def test_an_acknowledgement_names_the_message_and_is_as_safe_as_it_was(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-082."""
    admin = world.queue("admin")
    sent = letter(
        "body",
        number=77,
        express=express,
        acknowledge=Acknowledge.NEG_RECEIVE,
        admin=ADMIN,
        expires=NOW + 5,
    )
    world.send(queue, sent)
    world.tick(10)
    (view,), (record,) = world.views(admin), world.records(admin)
    assert view.correlation_id == PacketView(sent.packet).identifier
    assert view.body == b"body"
    assert str(view.destination) == ADMIN
    assert str(view.response_queue) == HERE + "q"
    assert view.source_queue_manager == world.core.identity
    assert view.sent_time == NOW + 10
    assert view.recoverable is not express
    assert (record.expires, record.message_class, record.flags) == (INFINITE, 0, 0)
    assert (len(admin.express), admin.messages) == (int(express), int(not express))
    assert count(world.restart().find("admin")) == int(not express)


@EXPRESS
def test_an_acknowledgement_of_a_purge_is_as_safe_as_the_message_was(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """MQQB-300: also beside others in one commit."""
    admin = world.queue("admin")
    asked = Acknowledge.NEG_RECEIVE
    world.send(queue, letter("a", express=express, acknowledge=asked, admin=ADMIN))
    world.send(queue, letter("b", number=2))
    world.done(world.core.queue_lifecycle.purge(queue))
    assert classes(world, admin) == [MessageClass.NACK_Q_PURGED]
    assert (len(admin.express), admin.messages) == (int(express), int(not express))


INSECURE_CLASSES = (0x8000, 0x8004, 0x8006, 0x8007, 0x800B)


@pytest.mark.parametrize("reason", sorted(MessageClass), ids=lambda reason: reason.name)
@pytest.mark.parametrize("insecure", [False, True])
def test_five_classes_are_withheld_from_strangers(
    world: World, reason: MessageClass, insecure: bool
) -> None:
    """MQQB-295."""
    admin = world.queue("admin")
    world.done(world.core.configure(insecure_nacks=insecure))
    packet = letter(acknowledge=ALL, admin=ADMIN, express=True).packet
    world.core.acknowledgements.acknowledge(None, packet, reason, 0)
    is_sent = insecure or reason not in INSECURE_CLASSES
    assert classes(world, admin) == [reason] * is_sent


@pytest.mark.parametrize("flags", [0, Owed.STRANGER])
def test_managers_whose_certificate_is_pinned_hear_of_them(world: World, flags: int) -> None:
    """Unless the message came on a session that has not shown it."""
    admin = world.queue("admin")
    packet = letter(acknowledge=ALL, admin=ADMIN, express=True).packet
    source = UUID(bytes_le=packet[SOURCE])
    world.core.peers.configure(Identity.ADDRESS, {"PARTNER": Pin(source, certificate="aa")})
    for value in INSECURE_CLASSES:
        world.core.acknowledgements.acknowledge(None, packet, MessageClass(value), flags)
    assert classes(world, admin) == ([] if flags else list(map(MessageClass, INSECURE_CLASSES)))


def test_acknowledgements_have_identifiers_of_their_own(world: World, queue: ManagedQueue) -> None:
    """DMPR-053."""
    admin = world.queue("admin")
    for number in range(3):
        world.send(queue, letter(number=number, acknowledge=ALL, admin=ADMIN))
    ids = [view.identifier for view in world.views(admin)]
    assert len(set(ids)) == 3


def test_an_acknowledgement_asks_for_nothing_itself(world: World) -> None:
    """MQQB-305: not even if the administration queue is the queue of the message."""
    queue = world.queue("admin", journal=True)
    world.send(queue, letter(acknowledge=ALL, admin=ADMIN, journal=True, dead_letter=True))
    world.take(queue, MANY)
    world.take(queue, MANY)
    assert world.count("acknowledged") == 2
    assert count(queue) == 0


@EXPRESS
def test_without_an_administration_queue_nothing_is_acknowledged(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """MQQB-054: the message is sent all the same."""
    world.send(queue, letter(express=express, acknowledge=ALL))
    assert count(queue) == 1
    world.take(queue)
    assert count(queue) == 0
    assert world.count("acknowledged") == 0
    assert world.count("acknowledgements without a queue") == 0


@EXPRESS
@pytest.mark.parametrize("why", ["none", "transactional", "system", "subqueue", "deleted"])
def test_what_cannot_be_acknowledged_is_counted(
    world: World, queue: ManagedQueue, express: bool, why: str
) -> None:
    admin = ADMIN
    match why:
        case "transactional":
            world.queue("admin", transactional=True)
        case "system":
            admin = HERE + "SYSTEM$;DEADLETTER"
        case "subqueue":
            world.subqueue(world.queue("admin"))
            admin = ADMIN + ";retry"
        case "deleted":
            world.core.queue_lifecycle.delete(world.queue("admin"))
    world.send(queue, letter(express=express, acknowledge=Acknowledge.POS_ARRIVAL, admin=admin))
    assert world.count("acknowledgements without a queue") == 1
    assert world.count("acknowledged") == 0
    assert len(world.rows(Table.INDEX)) == int(not express)


@EXPRESS
def test_an_acknowledgement_for_another_computer_waits_to_be_sent(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    world.send(queue, letter(express=express, acknowledge=ALL, admin=THERE))
    world.take(queue)
    (outgoing,) = (q for q in world.core.queues.everything if q.kind is QueueKind.OUTGOING)
    assert outgoing.name == THERE
    assert classes(world, outgoing) == [MessageClass.ACK_REACH_QUEUE, MessageClass.ACK_RECEIVE]
    again = world.restart()
    names = [q.name for q in again.core.queues.everything if q.kind is QueueKind.OUTGOING]
    assert names == [THERE] * (not express)


def test_what_a_transaction_does_is_acknowledged_when_it_commits(world: World) -> None:
    """Not if it aborts (DMPR-079, DMPR-080)."""
    queue, admin = world.queue(transactional=True), world.queue("admin")
    for commits in (False, True):
        transaction = world.transactions.begin()
        sent = letter(transactional=True, acknowledge=ALL, admin=ADMIN)
        world.send(queue, sent, transaction=transaction)
        assert count(admin) == 0
        end = world.transactions.commit if commits else world.transactions.abort
        world.done(end(transaction))
    assert classes(world, admin) == [MessageClass.ACK_REACH_QUEUE]
    for commits in (False, True):
        transaction = world.transactions.begin()
        world.take(queue, 1, transaction)
        end = world.transactions.commit if commits else world.transactions.abort
        world.done(end(transaction))
    assert classes(world, admin) == [MessageClass.ACK_REACH_QUEUE, MessageClass.ACK_RECEIVE]


def test_with_a_journal_a_receive_is_both_copied_and_acknowledged(world: World) -> None:
    """DMPR-080, DMPR-399."""
    queue, admin = world.queue(journal=True), world.queue("admin")
    world.send(queue, letter("a", acknowledge=Acknowledge.POS_RECEIVE, admin=ADMIN))
    world.send(queue, letter("b"))
    world.take(queue, 2)
    assert world.bodies(journal_of(queue)) == ["a", "b"]
    assert classes(world, admin) == [MessageClass.ACK_RECEIVE]


@pytest.mark.parametrize("error", [StorageFailed("disk"), StorageFull("disk")], ids=["bad", "full"])
def test_when_the_commit_fails_nothing_was_acknowledged(
    world: World, queue: ManagedQueue, error: Exception
) -> None:
    admin = world.queue("admin")
    world.enqueuer.send(queue, [letter(acknowledge=ALL, admin=ADMIN, journal=True)])
    world.commit(error)
    assert (count(queue), count(admin), count(world.core.queues.system_journal)) == (0, 0, 0)
    assert (world.count("acknowledged"), world.count("journaled")) == (0, 0)


def test_flow_control_does_not_hold_back_what_the_manager_itself_sends(
    world: World, queue: ManagedQueue
) -> None:
    """A-50."""
    admin = world.queue("admin")
    world.send(
        queue,
        letter(acknowledge=ALL, admin=ADMIN, dead_letter=True, expires=NOW + 5),
    )
    world.core.begin_flow_control()
    world.tick(10)
    assert classes(world, admin)[-1] == MessageClass.NACK_RECEIVE_TIMEOUT
    assert count(world.core.queues.dead_letter) == 1


# The whole


def test_several_that_leave_together_go_their_own_ways(world: World, queue: ManagedQueue) -> None:
    """In one commit."""
    admin = world.queue("admin")
    wants: list[dict[str, Any]] = [
        {},
        {"dead_letter": True},
        {"acknowledge": Acknowledge.NEG_RECEIVE, "admin": ADMIN},
        {"dead_letter": True, "acknowledge": Acknowledge.NEG_RECEIVE, "admin": ADMIN},
    ]
    sent = [letter(str(n), number=100 + n, expires=NOW, **want) for n, want in enumerate(wants)]
    world.send(queue, *sent)
    world.pass_time(5)
    world.commit()
    assert world.bodies(world.core.queues.dead_letter) == ["1", "3"]
    assert world.bodies(admin) == ["2", "3"]
    assert world.count("expired") == 4
    events = [[event for event, _ in world.reported(one)] for one in sent]
    arrived = [Event.ARRIVED, Event.EXPIRED]
    assert events == [arrived, [*arrived, Event.DEAD_LETTERED]] * 2
    assert len(world.rows(Table.PACKETS)) == 4
    commit_all(world.core)


def test_every_reason_has_its_event_and_what_is_owed() -> None:
    """DMPR-314."""
    assert EVENTS.keys() == OWED.keys()


def test_messages_that_ask_for_nothing_leave_nothing(world: World, queue: ManagedQueue) -> None:
    """DMPR-323."""
    sent: list[NewMessage] = [message("a"), message("b", express=True), message("c")]
    world.send(queue, *sent)
    world.take(queue, 2)
    world.done(world.core.queue_lifecycle.purge(queue))
    assert (world.count("arrived"), world.count("received"), world.count("purged")) == (3, 2, 1)
    assert not world.rows(Table.INDEX)


@EXPRESS
@pytest.mark.parametrize("delete", [True, False])
def test_the_second_step_of_a_read_acknowledges_what_it_removes(
    world: World, queue: ManagedQueue, express: bool, delete: bool
) -> None:
    """DMPR-216: and nothing that it returns to the queue."""
    admin = world.queue("admin")
    asked = Acknowledge.FULL_RECEIVE
    world.send(queue, letter("a", express=express, acknowledge=asked, admin=ADMIN))
    (taken,) = world.take(queue, 1, READER)
    assert classes(world, admin) == []
    world.done(world.receiver.end(queue, ranges_of([taken.lookup]), READER, delete=delete))
    assert classes(world, admin) == [MessageClass.ACK_RECEIVE] * delete
    assert count(queue) == int(not delete)


@pytest.mark.parametrize("commits", [True, False])
def test_messages_that_a_transaction_holds_are_acknowledged_once_when_their_queue_is_deleted(
    world: World, commits: bool
) -> None:
    """DMPR-395: the outcome of the transaction says nothing more of them."""
    admin, queue = world.queue("admin"), world.queue(transactional=True)
    sent = [
        letter(text, transactional=True, acknowledge=Acknowledge.FULL_RECEIVE, admin=ADMIN)
        for text in "ab"
    ]
    world.send_in(queue, *sent)
    transaction = world.transactions.begin()
    world.take(queue, 2, transaction)
    world.done(world.core.queue_lifecycle.delete(queue))
    assert classes(world, admin) == [MessageClass.NACK_Q_DELETED] * 2
    end = world.transactions.commit if commits else world.transactions.abort
    world.done(end(transaction))
    assert classes(world, admin) == [MessageClass.NACK_Q_DELETED] * 2
