"""The end of messages: to the second, no matter who holds them and whatever the clock does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.engine.messages.expiring import EXPRESS, receiver, send
from tests.unit.engine.runs import BODIES, check, fill, history, letters, runs
from tests.unit.engine.station import Station, places
from tests.unit.engine.world import (
    HERE,
    NOW,
    PARTNER,
    READER,
    World,
    commit_all,
    letter,
    message,
    packets,
)

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.messages import expiry_sweep as expiring
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.messages.expiry_sweep import UNCONFIRMED, reason
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import expiry_key
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import MessageNotFound, ReceiveTimeout
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.types.lookup import ranges_of
from openmsmq.types.queues import QueueKind

# To the second


@EXPRESS
def test_a_message_lives_to_the_end_of_its_last_second(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-088, DMPR-193, DMPR-307, DMPR-310, DMPR-323."""
    send(world, queue, "short", 2, express=express)
    send(world, queue, "long", 5, express=express)
    world.send(queue, "for ever", express=express)
    world.tick(2.9)
    assert world.read(queue) == ["short", "long", "for ever"]
    world.tick(0.1)
    assert world.read(queue) == ["long", "for ever"]
    assert (queue.messages + len(queue.express), queue.total_size) == (2, len("longfor ever"))
    world.tick(100)
    assert world.read(queue) == ["for ever"]
    assert not world.rows(Table.EXPIRY)
    assert world.count("expired") == 2


@EXPRESS
def test_what_expires_under_a_cursor_is_gone(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    send(world, queue, "a", 1, express=express)
    world.send(queue, "b", express=express)
    cursor = QueueCursor()
    world.cursor_peek(queue, cursor)
    world.tick(2)
    assert packets(world.cursor_peek(queue, cursor, following=True).result()) == ["b"]


@EXPRESS
def test_a_message_without_any_lifetime_expires_at_once(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """It is accepted, and no one sees it (DMPR-196, DMPR-308)."""
    waiting = world.wait_receive(queue)
    send(world, queue, "a", -1, express=express)
    assert world.read(queue) == []
    assert world.core.next_deadline == 0
    world.tick()
    assert (queue.messages, len(queue.express)) == (0, 0)
    assert not waiting.done


@EXPRESS
def test_only_messages_that_are_still_there_expire(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-309."""
    for text in "abc":
        send(world, queue, text, 1, express=express)
    send(world, world.queue("other"), "d", 1, express=express)
    world.receive(queue)
    world.done(world.core.queue_lifecycle.purge(queue))
    world.tick(10)
    assert world.count("expired") == 1
    assert not world.rows(Table.EXPIRY)


def test_messages_expire_while_no_one_runs(world: World, queue: ManagedQueue) -> None:
    send(world, queue, "a", 60)
    send(world, queue, "b", 600)
    again = world.restart(61)
    assert again.core.next_deadline == 0
    assert again.read(again.find()) == ["b"]
    again.tick()
    assert again.find().messages == 1
    assert again.core.next_deadline == 540


# When the next is due


def test_many_expire_in_steps(
    world: World, queue: ManagedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "STEP", 3)
    for number in range(10):
        send(world, queue, str(number), 1)
        send(world, queue, f"x{number}", 1, express=True)
    world.send(queue, "stays")
    world.pass_time(5)
    left = []
    while world.core.wants_commit:
        world.commit()
        left.append(queue.messages)
        assert world.read(queue) == ["stays"]
    assert left == [8, 5, 2, 1]
    while world.core.next_deadline == 0:
        world.tick()
    assert len(queue.express) == 0
    assert world.count("expired") == 20


def test_a_manager_that_stops_leaves_the_rest_to_the_next_start(
    world: World, queue: ManagedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "STEP", 2)
    for number in range(5):
        send(world, queue, str(number), 1)
    world.pass_time(5)
    world.core.stop()
    commit_all(world.core)
    assert queue.messages == 3
    again = world.restart()
    again.tick()
    assert again.find().messages == 0


# Those that are held


def test_what_a_transaction_holds_expires_after_the_abort(world: World) -> None:
    """DMPR-311, DMPR-312."""
    queue = world.queue(transactional=True)
    world.send_in(queue, message("a", priority=0, expires=NOW + 5), message("b", priority=0))
    transaction = world.transactions.begin()
    world.receive(queue, 2, transaction)
    world.tick(10)
    assert queue.messages == 2
    assert world.core.next_deadline is None
    world.done(world.transactions.abort(transaction))
    assert world.read(queue) == ["b"]
    world.tick()
    assert (queue.messages, world.count("expired")) == (1, 1)


def test_what_a_transaction_received_in_time_does_not_expire(world: World) -> None:
    """DMPR-311, DMPR-312."""
    queue = world.queue(transactional=True)
    world.send_in(queue, message("a", priority=0, expires=NOW + 5))
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    world.tick(10)
    world.done(world.transactions.commit(transaction))
    world.tick()
    assert (queue.messages, world.count("expired"), world.count("received")) == (0, 0, 1)
    assert not world.rows(Table.EXPIRY)


def test_a_prepared_transaction_holds_through_a_restart(world: World) -> None:
    """DMPR-312."""
    queue = world.queue(transactional=True)
    world.send_in(queue, message("a", priority=0, expires=NOW + 5))
    transaction = world.transactions.begin("xid")
    world.receive(queue, 1, transaction)
    world.done(world.transactions.prepare(transaction))
    again = world.restart(60)
    again.tick()
    assert again.find().messages == 1
    again.done(again.transactions.abort(again.core.prepared["xid"]))
    again.tick()
    assert (again.find().messages, again.count("expired")) == (0, 1)


@EXPRESS
def test_what_comes_while_a_sweep_is_written_is_not_forgotten(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """A message that expires at once, in the very commit that removes others."""
    send(world, queue, "a", 1)
    world.pass_time(5)
    expires = world.core.timeline.now - 1
    pending = world.enqueuer.send(queue, [message("b", expires=expires, express=express)])
    world.commit()
    assert pending.done
    assert world.read(queue) == []
    assert world.core.next_deadline == 0
    world.tick()
    assert queue.messages + len(queue.express) == 0


def test_what_is_given_back_while_a_sweep_is_written_is_not_forgotten(world: World) -> None:
    queue = world.queue(transactional=True)
    world.send_in(queue, message("a", priority=0, expires=NOW + 1))
    world.send_in(queue, message("b", priority=0, expires=NOW + 1))
    transaction = world.transactions.begin()
    world.receive(queue, 1, transaction)
    aborted = world.transactions.abort(transaction)
    world.pass_time(5)
    world.commit()
    assert aborted.done
    assert world.read(queue) == []
    assert world.core.next_deadline == 0
    world.tick()
    assert queue.messages == 0


def test_a_message_purged_in_the_commit_that_lets_it_expire_goes_once(
    world: World, queue: ManagedQueue
) -> None:
    send(world, queue, "a", 1)
    purged = world.core.queue_lifecycle.purge(queue)
    world.pass_time(5)
    assert world.done(purged) == 1
    assert (queue.messages, queue.total_size, world.count("expired")) == (0, 0, 0)


def test_what_is_received_while_it_expires_is_received(world: World, queue: ManagedQueue) -> None:
    send(world, queue, "a", 1)
    pending = world.receiver.receive(queue, 1, world, wait=False)
    world.pass_time(5)
    assert packets(world.done(pending)) == ["a"]
    assert (world.count("expired"), world.count("received")) == (0, 1)
    assert not world.rows(Table.EXPIRY)


def test_the_messages_of_a_deleted_queue_do_not_expire(world: World, queue: ManagedQueue) -> None:
    send(world, queue, "a", 1)
    send(world, queue, "b", 1, express=True)
    world.core.queue_lifecycle.delete(queue)
    world.pass_time(5)
    commit_all(world.core)
    assert world.count("expired") == 0
    assert not world.rows(Table.EXPIRY)
    assert not world.rows(Table.PACKETS)


def test_a_row_without_its_message_is_swept_away(world: World, queue: ManagedQueue) -> None:
    disk = world.store.committed
    for number in (queue.number, 999):
        disk.tables[Table.EXPIRY][expiry_key(NOW, number, 5)] = b""
    again = World(disk, NOW + 5)
    again.tick()
    assert not again.rows(Table.EXPIRY)
    assert again.core.next_deadline is None


# Why it leaves


def test_the_reason_depends_on_where_the_message_was(world: World, queue: ManagedQueue) -> None:
    """DMPR-310, DMPR-314."""
    outgoing = world.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\private$\\q"))
    assert reason(queue) is MessageClass.NACK_RECEIVE_TIMEOUT
    assert reason(world.subqueue(queue)) is MessageClass.NACK_RECEIVE_TIMEOUT
    assert outgoing.kind is QueueKind.OUTGOING
    assert reason(outgoing) is MessageClass.NACK_REACH_QUEUE_TIMEOUT
    assert reason(journal_of(outgoing)) is MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER


@EXPRESS
def test_a_reader_of_dead_letters_gets_what_expires_while_it_waits(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-068."""
    dead = world.core.queues.dead_letter
    waiting = world.wait_receive(dead)
    sent = letter("a", express=express, dead_letter=True, expires=NOW + 1)
    world.send(queue, sent)
    world.tick(1)
    assert not waiting.done
    world.tick(1)
    (entry,) = world.done(waiting)
    assert entry.packet == sent.packet


@EXPRESS
def test_a_message_expires_in_the_subqueue_it_was_moved_to(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    send(world, queue, "a", 5, express=express)
    target = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], target)
    assert world.read(target) == ["a"]
    world.tick(6)
    assert target.total_size == 0
    assert queue.subqueues == {}
    assert world.count("expired") == 1
    assert not world.rows(Table.EXPIRY)


def test_it_is_reported_in_the_history(world: World, queue: ManagedQueue) -> None:
    sent = letter("a", source=PARTNER, admin=HERE + "admin", expires=NOW + 1)
    world.send(queue, sent)
    world.tick(5)
    assert world.reported(sent) == [(Event.ARRIVED, "q"), (Event.EXPIRED, "q")]


def test_a_wait_for_a_message_that_expires_first_goes_on(world: World, queue: ManagedQueue) -> None:
    send(world, queue, "a", 1)
    entry = world.take(queue, 1, READER)[0]
    waiting = world.wait_receive(queue)
    world.tick(5)
    world.done(world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False))
    world.tick()
    assert not waiting.done
    world.core.readers.cancel(queue, waiting, ReceiveTimeout())


# What was sent and is not acknowledged


def sender(*lives: int) -> Station:
    """One that sends messages in a transaction, which live so long; the body is the number."""
    station = Station()
    station.dispatcher.pause(station.out)  # so that the queue stays
    letters = [
        letter(str(n), number=n, transactional=True, dead_letter=True, expires=NOW + life)
        for n, life in enumerate(lives, 1)
    ]
    station.world.send_in(station.out, *letters)
    station.dispatcher.resume(station.out)
    return station


def dead(station: Station) -> list[tuple[str, MessageClass]]:
    """The dead letters of a sender, and why they are."""
    queue = station.core.queues.transactional_dead_letter
    reasons = [MessageClass(record.message_class) for record in station.world.records(queue)]
    return list(zip(station.world.bodies(queue), reasons, strict=True))


def test_a_message_that_was_sent_and_is_not_acknowledged_expires() -> None:
    """AMB-50: it may have arrived, and its sender is not left waiting for a timer to send again."""
    station = sender(3, 99)
    assert len(station.pump()) == 2
    station.world.tick(3)
    assert dead(station) == []
    station.world.tick(1)
    assert dead(station) == [("1", MessageClass.NACK_REACH_QUEUE_TIMEOUT)]
    assert station.dispatcher.in_transit(station.out) == 1
    assert station.out.messages == len(station.out.holds) == 1
    identifier = PacketView(letter("1").packet).identifier
    reported = [
        (item.event, item.extra)
        for item in station.core.history.of(station.core.snapshot, identifier)
    ]
    assert [event for event, _ in reported] == [Event.ARRIVED, Event.EXPIRED, Event.DEAD_LETTERED]
    assert reported[1][1] == UNCONFIRMED


def test_an_answer_that_comes_after_it_expired_is_ignored() -> None:
    """AMB-50: an OrderAck confirms the others, a FinalAck nothing."""
    station = sender(3, 99)
    station.pump()
    station.world.tick(5)
    station.final(1, 1, 1, MessageClass.ACK_RECEIVE)
    assert station.world.count("final acknowledgements of unknown messages") == 1
    station.order(1, 2)
    assert dead(station) == [("1", MessageClass.NACK_REACH_QUEUE_TIMEOUT)]
    assert (station.world.count("delivered"), station.unconfirmed) == (0, 1)


def test_an_acknowledgement_in_the_same_commit_is_in_time() -> None:
    """AMB-50: what is known when it would expire counts."""
    station = sender(3)
    station.pump()
    station.received_acks.ordered(station.origin, station.identifier(1), 1)
    station.world.pass_time(5)
    commit_all(station.core)
    assert dead(station) == []
    assert station.unconfirmed == 1


def test_a_message_outside_a_transaction_waits_for_its_session() -> None:
    """A-34: that it has arrived is known when the session ends or goes on."""
    station = Station()
    station.world.send(station.out, letter("1", dead_letter=True, expires=NOW + 3))
    station.pump()
    station.world.tick(5)
    assert station.out.messages == 1


def test_one_that_expires_when_the_session_ends_is_gone_once() -> None:
    """It is taken back between the commit that removes it and the end of this."""
    station = sender(3)
    station.pump()
    station.world.pass_time(5)
    core = station.core
    core.start_commit(core.store.begin())
    station.dispatcher.take_back(station.out)
    assert station.pump() == []
    core.store.commit()
    core.finish_commit()
    commit_all(core)
    assert dead(station) == [("1", MessageClass.NACK_REACH_QUEUE_TIMEOUT)]
    assert not station.out.holds


@pytest.mark.parametrize("arrived", range(4))
@pytest.mark.parametrize("known", range(3))
@pytest.mark.parametrize("expires", [(1,), (2,), (3,), (1, 2), (2, 3), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("is_lost", [False, True], ids=["same session", "next session"])
def test_the_rest_of_a_stream_is_taken_whether_it_arrived_or_not(
    arrived: int, known: int, expires: tuple[int, ...], is_lost: bool
) -> None:
    """AMB-27, AMB-50, MQQB-262: gaps close, and nothing behind them is lost or comes twice."""
    known = min(known, arrived)
    station = sender(*(3 if n in expires else 999 for n in (1, 2, 3)))
    packets = [entry.packet for entry in station.pump()]
    there = receiver(*packets[:arrived])
    if known:
        station.order(1, known)
    station.world.tick(5)
    if is_lost or arrived < 3:  # a session loses nothing while it is open
        station.dispatcher.take_back(station.out)
    station.world.send_in(station.out, letter("4", number=4, transactional=True))
    there.take(*(entry.packet for entry in station.pump()))
    wanted = [str(n) for n in range(1, 5) if n <= arrived or n not in expires]
    assert there.bodies() == wanted


def test_the_gap_closes_on_the_same_session_too() -> None:
    """AMB-27: whatever became of the one before it, the next one is taken."""
    station = sender(3)
    assert places(station.pump()) == [(1, 1, 0)]
    station.world.send_in(station.out, letter("2", number=2, transactional=True))
    station.world.tick(5)
    assert places(station.pump()) == [(1, 2, 0)]


# Runs


def expiring_run(world: World, queue: ManagedQueue, **given: Any) -> list[NewMessage]:
    """A run whose messages live for ten seconds."""
    return fill(world, queue, expires=world.core.timeline.now + 10, **given)


def taken(entries: list[Entry]) -> list[str]:
    """The bodies of messages."""
    return [PacketView(entry.packet).body.decode() for entry in entries]


def is_bare(world: World) -> bool:
    """Whether the store has no messages any more, and nothing that is to expire."""
    tables = Table.INDEX, Table.RUNS, Table.PACKETS, Table.EXPIRY
    return not any(world.rows(table) for table in tables)


def test_a_run_has_one_row_for_the_lifetime_of_all(world: World, queue: ManagedQueue) -> None:
    sent = expiring_run(world, queue)
    [run] = runs(world)
    assert list(world.rows(Table.EXPIRY)) == [run.expiry_key]
    world.tick(10)
    assert world.bodies(queue) == BODIES
    world.tick(1)
    assert world.read(queue) == []
    assert is_bare(world)
    assert (queue.messages, queue.size, world.count("expired")) == (0, 0, 8)
    assert all(history(world, one) == [Event.ARRIVED, Event.EXPIRED] for one in sent)


def test_no_one_sees_a_run_that_is_over_and_not_removed_yet(
    world: World, queue: ManagedQueue
) -> None:
    expiring_run(world, queue)
    [first, *_] = world.lookups(queue)
    world.pass_time(11)
    assert world.entries(queue) == []
    with pytest.raises(MessageNotFound):
        world.lookup(queue, first)


def test_what_is_taken_out_of_a_run_expires_with_it(world: World) -> None:
    """One is aborted, one moved, one held: none of them lives longer, or shorter."""
    queue = world.queue(transactional=True)
    expiring_run(world, queue)
    transaction = world.transactions.begin()
    world.take(queue, 2, transaction)
    world.done(world.transactions.abort(transaction))
    place, aside = world.lookups(queue)[4], world.subqueue(queue)
    world.move(queue, place, aside)
    holder = world.transactions.begin()
    assert taken(world.take(queue, 1, holder)) == ["a"]
    check(world)
    assert len(world.rows(Table.EXPIRY)) == 4, "of the run, a, b and e"
    world.tick(11)
    assert (queue.messages, aside.messages, world.count("expired")) == (1, 0, 7)
    assert len(world.rows(Table.EXPIRY)) == 1
    world.done(world.transactions.abort(holder))
    world.tick()
    assert (queue.messages, world.count("expired")) == (0, 8)
    assert is_bare(world)


def test_what_is_held_of_a_run_expires_when_it_is_free(world: World, queue: ManagedQueue) -> None:
    expiring_run(world, queue)
    assert taken(world.take(queue, 3, READER)) == ["a", "b", "c"]
    world.tick(11)
    assert (queue.messages, world.count("expired")) == (3, 5)
    world.tick(10)
    assert queue.messages == 3
    ranges = ranges_of(list(queue.holds))
    world.done(world.receiver.end(queue, ranges, READER, delete=False))
    world.tick()
    assert (queue.messages, world.count("expired")) == (0, 8)
    assert is_bare(world)


@pytest.mark.parametrize("leave", ["receive", "purge"])
def test_a_run_that_is_gone_leaves_no_lifetime(
    world: World, queue: ManagedQueue, leave: str
) -> None:
    expiring_run(world, queue)
    if leave == "purge":
        world.done(world.core.queue_lifecycle.purge(queue))
    else:
        world.take(queue, 8)
    assert is_bare(world)
    world.tick(11)
    assert world.count("expired") == 0


@pytest.mark.parametrize("transactional", [False, True])
def test_a_whole_run_becomes_dead_letters_by_its_row(*, transactional: bool) -> None:
    world = World()
    queue, queues = world.queue(transactional=transactional), world.core.queues
    dead = queues.transactional_dead_letter if transactional else queues.dead_letter
    sent = expiring_run(world, queue, dead_letter=True)
    [before] = runs(world)
    world.tick(11)
    [after] = runs(world)
    assert (after.queue, after.record.packet_number) == (
        dead.number,
        before.record.packet_number,
    ), "no packet was copied"
    assert world.bodies(dead) == BODIES
    assert {record.message_class for record in world.records(dead)} == {
        MessageClass.NACK_RECEIVE_TIMEOUT
    }
    assert (queue.messages, dead.messages) == (0, 8)
    assert not world.rows(Table.EXPIRY), "dead letters live for ever"
    events = [Event.ARRIVED, Event.EXPIRED, Event.DEAD_LETTERED]
    assert all(history(world, one) == events for one in sent)
    assert world.count(Event.DEAD_LETTERED.word) == 8
    check(world)
    assert taken(world.take(dead, 8)) == BODIES
    assert is_bare(world)


def test_what_is_left_of_a_run_becomes_dead_letters_one_by_one(
    world: World, queue: ManagedQueue
) -> None:
    expiring_run(world, queue, dead_letter=True)
    assert taken(world.take(queue, 3)) == ["a", "b", "c"]
    world.tick(11)
    assert world.bodies(world.core.queues.dead_letter) == BODIES[3:]
    assert not world.rows(Table.RUNS)
    check(world)


def test_dead_letters_of_a_run_that_do_not_fit_are_discarded_one_by_one(
    world: World, queue: ManagedQueue
) -> None:
    sent = expiring_run(world, queue, dead_letter=True)
    dead = world.core.queues.dead_letter
    size = len(sent[0].packet)
    room = 1024 // size
    assert room < 8
    properties = dead.properties
    dead.properties = replace(properties, quota=1)
    world.tick(11)
    assert world.bodies(dead) == BODIES[:room]
    assert world.count("discarded") == 8 - room
    check(world)


def test_a_transaction_may_commit_a_run_that_has_expired_meanwhile() -> None:
    world = World()
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin()
    new = letters(transactional=True, expires=world.core.timeline.now + 10)
    world.done(world.enqueuer.send(queue, new, transaction))
    world.tick(20)
    world.done(world.transactions.commit(transaction))
    world.tick()
    assert (queue.messages, world.count("expired")) == (0, 8)


def test_lifetimes_of_runs_last_beyond_a_restart(world: World, queue: ManagedQueue) -> None:
    expiring_run(world, queue)
    later = world.restart(5)
    assert later.bodies(later.find()) == BODIES
    later.tick(6)
    assert (later.find().messages, later.count("expired")) == (0, 8)
