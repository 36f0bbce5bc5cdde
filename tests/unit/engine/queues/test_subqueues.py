"""Moving messages between a queue and its subqueues."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import (
    HERE,
    MANY,
    NOW,
    World,
    commit_all,
    letter,
    message,
    packets,
)

from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InvalidParameter,
    MessageLockedUnderTransaction,
    MessageNotFound,
    MQError,
    QueueNotAvailable,
    StorageFailed,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import Acknowledge
from openmsmq.types.caller import Caller
from openmsmq.types.lookup import LOOKUP_MAX

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue()


@pytest.fixture
def ledger(world: World) -> ManagedQueue:
    """Transactional, with messages a to c."""
    ledger = world.queue("ledger", transactional=True)
    world.fill(ledger, *"abc")
    return ledger


# Plain


@EXPRESS
def test_a_message_that_is_moved_is_in_the_target_and_not_in_the_source(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """With its bytes and its identifier (DMPR-275, DMPR-279, DMPR-280, DMPR-402)."""
    for text, priority in (("a", 3), ("bb", 3), ("ccc", 7), ("dddd", 0)):
        world.send(queue, text, express=express, priority=priority)
    lookups = dict(zip(world.read(queue), world.lookups(queue), strict=True))
    target = world.subqueue(queue)
    for text in ("dddd", "ccc", "a"):
        world.move(queue, lookups[text], target)
    assert (world.read(queue), world.read(target)) == (["bb"], ["ccc", "a", "dddd"])
    assert world.lookups(target) == [lookups["ccc"], lookups["a"], lookups["dddd"]]
    assert world.lookup(target, lookups["a"]) == "a"
    with pytest.raises(MessageNotFound):
        world.lookup(queue, lookups["a"])
    assert (queue.total_size, target.total_size, queue.quota_size) == (2, 8, 10)
    assert not queue.holds
    for text in ("a", "ccc", "dddd"):
        world.move(target, lookups[text], queue)
    assert world.lookups(queue) == list(lookups.values())
    assert world.read(queue) == ["ccc", "a", "bb", "dddd"]


@EXPRESS
def test_moves_are_counted_and_reported(world: World, queue: ManagedQueue, express: bool) -> None:
    sent = letter("x", express=express)
    world.send(queue, sent)
    (lookup,) = world.lookups(queue)
    target = world.subqueue(queue)
    world.tick(60)
    world.caller = Caller("partner")
    world.move(queue, lookup, target)
    (record,) = world.records(target)
    assert (record.move_count, record.last_move_time, record.arrived_time) == (1, NOW + 60, NOW)
    world.tick(60)
    world.move(target, lookup, queue)
    (record,) = world.records(queue)
    assert (record.move_count, record.last_move_time) == (2, NOW + 120)
    assert world.count("moved") == 2
    assert [event for event, _ in world.reported(sent)][1:] == [Event.MOVED, Event.MOVED]


def test_between_subqueues_of_one_queue_it_works_too(world: World, queue: ManagedQueue) -> None:
    world.send(queue, "a")
    (lookup,) = world.lookups(queue)
    first, second = world.subqueue(queue, "one"), world.subqueue(queue, "two")
    world.move(queue, lookup, first)
    world.move(first, lookup, world.subqueue(queue, "two"))
    assert world.read(world.subqueue(queue, "two")) == ["a"]
    assert "ONE" not in queue.subqueues
    assert second.deleted


@EXPRESS
def test_a_reader_of_the_target_gets_what_is_moved(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """DMPR-276."""
    world.send(queue, "a", express=express)
    target = world.subqueue(queue)
    waiting = world.wait_receive(target)
    world.move(queue, world.lookups(queue)[0], target)
    assert packets(world.done(waiting)) == ["a"]
    assert queue.subqueues == {}


def test_no_one_reads_a_message_while_it_moves(world: World, queue: ManagedQueue) -> None:
    world.send(queue, "a")
    (lookup,) = world.lookups(queue)
    target = world.subqueue(queue)
    pending = world.moves.move(queue, lookup, target)
    assert (world.read(queue), world.read(target), pending.done) == ([], [], False)
    with pytest.raises(MessageNotFound):
        world.moves.move(queue, lookup, target)
    world.done(pending)
    assert world.read(target) == ["a"]


def test_a_move_that_fails_leaves_the_message_where_it_was(
    world: World, queue: ManagedQueue
) -> None:
    world.send(queue, "a")
    waiting = world.receiver.peek(queue, 1, world, wait=True)
    assert waiting.done
    target = world.subqueue(queue)
    pending = world.moves.move(queue, world.lookups(queue)[0], target)
    again = world.wait_peek(queue)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert packets(again.result()) == ["a"]
    assert target.deleted
    assert (target.pins, queue.subqueues, queue.total_size) == (0, {}, 1)


def test_a_move_survives_a_restart(world: World, queue: ManagedQueue) -> None:
    """DMPR-001, DMPR-275."""
    world.send(queue, "a", "b")
    lookups = world.lookups(queue)
    world.move(queue, lookups[0], world.subqueue(queue))
    again = world.restart()
    found = again.find()
    assert again.read(found) == ["b"]
    assert again.read(again.subqueue(found)) == ["a"]
    assert again.lookups(again.find("q;retry")) == lookups[:1]
    assert again.records(again.find("q;retry"))[0].move_count == 1


def test_a_queue_deleted_while_a_message_moves_takes_it_with_it(
    world: World, queue: ManagedQueue
) -> None:
    world.send(queue, "a")
    world.moves.move(queue, world.lookups(queue)[0], world.subqueue(queue))
    world.core.queue_lifecycle.delete(queue)
    commit_all(world.core)
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not world.rows(table)


# In a transaction


def test_a_move_in_a_transaction_takes_place_when_it_commits(
    world: World, ledger: ManagedQueue
) -> None:
    """DMPR-277, DMPR-280, DMPR-287, DMPR-402."""
    lookups = world.lookups(ledger)
    target = world.subqueue(ledger)
    transaction = world.transactions.begin()
    world.move(ledger, lookups[1], target, transaction)
    assert not transaction.is_empty
    assert (world.read(ledger), world.read(target)) == (["a", "c"], [])
    assert list(ledger.holds) == [lookups[1]]
    assert ledger.holds.holder_of(lookups[1]) is transaction
    waiting = world.wait_peek(target)
    world.done(world.transactions.commit(transaction))
    assert (world.read(ledger), world.read(target)) == (["a", "c"], ["b"])
    assert packets(waiting.result()) == ["b"]
    assert (world.lookups(target), list(ledger.holds), target.pins) == ([lookups[1]], [], 0)
    assert (ledger.total_size, target.total_size) == (2, 1)
    assert world.records(target)[0].move_count == 1


def test_an_abort_leaves_it_where_it_was(world: World, ledger: ManagedQueue) -> None:
    """Not as often aborted as one that was received (DMPR-277)."""
    sent = letter("x", transactional=True)
    world.send_in(ledger, sent)
    lookup = world.lookups(ledger)[-1]
    target = world.subqueue(ledger)
    transaction = world.transactions.begin()
    world.move(ledger, lookup, target, transaction)
    world.done(world.transactions.abort(transaction))
    assert world.lookups(ledger)[-1] == lookup
    assert (world.records(ledger)[-1].move_count, world.records(ledger)[-1].abort_count) == (0, 0)
    assert (target.pins, ledger.subqueues) == (0, {})
    assert world.reported(sent) == [(Event.ARRIVED, "ledger"), (Event.ABORTED, "ledger")]


@pytest.mark.parametrize("commits", [True, False])
def test_a_prepared_move_waits_through_a_restart(
    world: World, ledger: ManagedQueue, commits: bool
) -> None:
    """DMPR-277, DMPR-284, DMPR-287."""
    lookups = world.lookups(ledger)
    transaction = world.transactions.begin("xid")
    world.move(ledger, lookups[0], world.subqueue(ledger), transaction)
    world.take(ledger, 1, transaction)
    world.done(world.transactions.prepare(transaction))
    for _ in range(2):
        world = world.restart()
        found = world.find("ledger")
        assert world.read(found) == ["c"]
        target = world.subqueue(found)
        assert (world.read(target), target.pins) == ([], 1)
    again = world.core.prepared["xid"]
    end = world.transactions.commit if commits else world.transactions.abort
    world.done(end(again))
    assert world.read(found) == (["c"] if commits else ["a", "b", "c"])
    assert (list(found.holds), target.pins) == ([], 0)
    if commits:
        assert world.read(target) == ["a"]
    else:
        assert target.deleted
    assert not world.rows(Table.TRANSACTIONS)
    found = world.restart().find("ledger")
    assert list(found.subqueues) == ["RETRY"] * commits


@pytest.mark.parametrize("restarts", [True, False])
def test_a_prepared_move_of_a_queue_deleted_meanwhile_does_nothing(
    world: World, ledger: ManagedQueue, restarts: bool
) -> None:
    transaction = world.transactions.begin("xid")
    world.move(ledger, world.lookups(ledger)[0], world.subqueue(ledger), transaction)
    world.done(world.transactions.prepare(transaction))
    world.done(world.core.queue_lifecycle.delete(ledger))
    if restarts:
        world = world.restart()
    world.done(world.transactions.commit(world.core.prepared["xid"]))
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES, Table.TRANSACTIONS):
        assert not world.rows(table)


def test_a_transaction_may_move_to_several_places_and_receive_too(
    world: World, ledger: ManagedQueue
) -> None:
    first, second, third = world.lookups(ledger)
    transaction = world.transactions.begin()
    world.move(ledger, first, world.subqueue(ledger, "one"), transaction)
    world.move(ledger, third, world.subqueue(ledger, "two"), transaction)
    assert [entry.lookup for entry in world.take(ledger, MANY, transaction)] == [second]
    world.done(world.transactions.commit(transaction))
    assert world.read(ledger) == []
    assert world.read(world.subqueue(ledger, "one")) == ["a"]
    assert world.read(world.subqueue(ledger, "two")) == ["c"]


def test_a_plain_move_out_of_a_transactional_queue_is_allowed(
    world: World, ledger: ManagedQueue
) -> None:
    """A-54."""
    target = world.subqueue(ledger)
    world.move(ledger, world.lookups(ledger)[0], target)
    assert world.read(target) == ["a"]


def test_a_transaction_that_cannot_be_written_moves_nothing(
    world: World, ledger: ManagedQueue
) -> None:
    transaction = world.transactions.begin()
    target = world.subqueue(ledger)
    world.move(ledger, world.lookups(ledger)[0], target, transaction)
    pending = world.transactions.commit(transaction)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert (target.pins, world.read(ledger)) == (1, ["b", "c"])
    world.done(world.transactions.abort(transaction))
    assert world.read(ledger) == ["a", "b", "c"]


# And purges


@EXPRESS
def test_what_is_moved_while_the_target_is_purged_stays(
    world: World, queue: ManagedQueue, express: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although it arrived before."""
    monkeypatch.setattr(emptying, "STEP", 1)
    world.send(queue, *"abc", express=express)
    lookups = world.lookups(queue)
    target = world.subqueue(queue)
    world.move(queue, lookups[0], target)
    purged = world.core.queue_lifecycle.purge(target)
    moved = world.moves.move(queue, lookups[1], target)
    assert world.done(purged) == 1
    assert moved.done
    assert world.read(target) == ["b"]
    assert not target.spared


def test_what_was_purged_cannot_be_moved(world: World, queue: ManagedQueue) -> None:
    world.send(queue, "a")
    (lookup,) = world.lookups(queue)
    world.core.queue_lifecycle.purge(queue)
    with pytest.raises(MessageNotFound):
        world.moves.move(queue, lookup, world.subqueue(queue))


@pytest.mark.parametrize("commits", [True, False])
def test_a_purge_of_the_source_does_not_undo_a_move_that_commits(
    world: World, ledger: ManagedQueue, commits: bool
) -> None:
    """DMPR-105, DMPR-137, DMPR-292."""
    transaction = world.transactions.begin()
    target = world.subqueue(ledger)
    world.move(ledger, world.lookups(ledger)[0], target, transaction)
    assert world.done(world.core.queue_lifecycle.purge(ledger)) == 2
    if commits:
        world.done(world.transactions.commit(transaction))
        assert world.read(target) == ["a"]
    else:
        world.done(world.transactions.abort(transaction))
        assert target.deleted
    assert (world.read(ledger), ledger.messages, ledger.total_size) == ([], 0, 0)
    assert not ledger.purge_pending
    assert world.count("purged") == 3 - commits


# What is refused


def test_what_is_not_there_cannot_be_moved(world: World, queue: ManagedQueue) -> None:
    world.send(queue, "a")
    (lookup,) = world.lookups(queue)
    target = world.subqueue(queue)
    for wrong in (0, -1, lookup + 1, LOOKUP_MAX, LOOKUP_MAX + 1):
        with pytest.raises(MessageNotFound) as info:
            world.moves.move(queue, wrong, target)
        assert info.value.hresult == 0xC00E0088
    world.receive(queue)
    with pytest.raises(MessageNotFound):
        world.moves.move(queue, lookup, world.subqueue(queue))


@EXPRESS
def test_what_has_expired_cannot_be_moved(world: World, queue: ManagedQueue, express: bool) -> None:
    world.send(queue, message("a", express=express, expires=NOW + 5))
    (lookup,) = world.lookups(queue)
    world.pass_time(10)
    with pytest.raises(MessageNotFound):
        world.moves.move(queue, lookup, world.subqueue(queue))


@EXPRESS
def test_what_someone_holds_cannot_be_moved(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    world.send(queue, "a", express=express)
    (entry,) = world.take(queue, 1, Holder())
    with pytest.raises(MessageLockedUnderTransaction) as info:
        world.moves.move(queue, entry.lookup, world.subqueue(queue))
    assert info.value.hresult == 0xC00E009C


@pytest.mark.parametrize("target", ["itself", "other", "journal", "system", "outgoing", "cousin"])
def test_messages_move_only_between_a_queue_and_its_subqueues(
    world: World, queue: ManagedQueue, target: str
) -> None:
    """DMPR-278: and into a system queue not in a transaction either."""
    world.send(queue, "a")
    (lookup,) = world.lookups(queue)
    other = world.queue("other", transactional=True)
    targets = {
        "itself": queue,
        "other": other,
        "journal": journal_of(queue),
        "system": world.core.queues.transactional_dead_letter,
        "outgoing": world.core.queues.outgoing(parse_format_name("DIRECT=OS:there\\q")),
        "cousin": world.subqueue(other),
    }
    for transaction in (None, world.transactions.begin()):
        with pytest.raises((InvalidParameter, TransactionUsage)):
            world.moves.move(queue, lookup, targets[target], transaction)
    assert world.read(queue) == ["a"]


def test_nothing_moves_out_of_a_system_queue(world: World, queue: ManagedQueue) -> None:
    world.send(queue, letter("a", dead_letter=True, expires=NOW))
    world.tick(5)
    dead = world.core.queues.dead_letter
    with pytest.raises(InvalidParameter) as info:
        world.moves.move(dead, world.lookups(dead)[0], queue)
    assert info.value.hresult == 0xC00E0006


def refusals(
    world: World, ledger: ManagedQueue
) -> list[tuple[type[MQError], ManagedQueue, ManagedTransaction]]:
    over = world.transactions.begin()
    world.done(world.transactions.commit(over))
    plain = world.queue("plain")
    world.send(plain, "p")
    return [
        (TransactionSequence, ledger, over),
        (TransactionUsage, plain, world.transactions.begin()),
    ]


def test_transactions_must_be_open_and_fit_the_queue(world: World, ledger: ManagedQueue) -> None:
    for error, source, transaction in refusals(world, ledger):
        (lookup, *_) = before = world.lookups(source)
        with pytest.raises(error):
            world.moves.move(source, lookup, world.subqueue(source), transaction)
        assert world.lookups(source) == before


def test_queues_that_are_gone_take_part_in_no_move(world: World, queue: ManagedQueue) -> None:
    world.send(queue, "a")
    (lookup,) = world.lookups(queue)
    target = world.subqueue(queue)
    world.done(world.core.queue_lifecycle.delete(queue))
    for source, other in ((queue, target), (target, queue)):
        with pytest.raises(QueueNotAvailable):
            world.moves.move(source, lookup, other)


@EXPRESS
def test_a_move_is_no_delivery(world: World, queue: ManagedQueue, express: bool) -> None:
    """Nothing is acknowledged or copied for it, but all that was owed still is afterwards."""
    admin = world.queue("admin")
    sent = letter(
        express=express,
        acknowledge=Acknowledge.FULL_RECEIVE,
        admin=HERE + "admin",
        dead_letter=True,
        expires=NOW + 5,
    )
    world.send(queue, sent)
    world.move(queue, world.lookups(queue)[0], world.subqueue(queue))
    assert admin.messages + len(admin.express) == 0
    world.tick(10)
    assert world.views(admin)[0].message_class == 0xC002
    assert len(world.views(world.core.queues.dead_letter)) == 1


def test_moves_pass_no_quota(world: World) -> None:
    """Both queues share one (A-05)."""
    queue = world.queue(quota=1)
    world.send(queue, message(b"x" * 1000))
    world.move(queue, world.lookups(queue)[0], world.subqueue(queue))
    assert queue.quota_size == 1000
