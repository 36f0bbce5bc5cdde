"""Messages that readers hold: released, removed, and purged meanwhile."""

from __future__ import annotations

import pytest
from tests.unit.engine.messages.expiring import EXPRESS, send
from tests.unit.engine.runs import fill
from tests.unit.engine.world import (
    MANY,
    READER,
    World,
    commit_all,
    letter,
)

from openmsmq.engine.messages.removal import RETRY_S
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import SubscriptionMode
from openmsmq.errors import StorageFailed
from openmsmq.types.lookup import ranges_of
from openmsmq.types.read import Seek


@EXPRESS
def test_what_a_reader_gives_back_too_late_has_expired(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    send(world, queue, "a", 5, express=express)
    (entry,) = world.take(queue, 1, READER)
    world.tick(10)
    assert queue.messages + len(queue.express) == 1
    world.done(world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False))
    assert world.read(queue) == []
    world.tick()
    assert (queue.messages + len(queue.express), world.count("expired")) == (0, 1)


@EXPRESS
def test_what_a_reader_gives_back_in_time_expires_later(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    send(world, queue, "a", 5, express=express)
    (entry,) = world.take(queue, 1, READER)
    world.tick(3)
    world.done(world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False))
    assert world.read(queue) == ["a"]
    world.tick(3)
    assert (queue.messages + len(queue.express), world.count("expired")) == (0, 1)


def test_a_purge_that_was_answered_holds_after_a_crash_for_messages_someone_had(
    world: World,
) -> None:
    queue = world.queue(transactional=True)
    world.fill(queue, *"abc")
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 2
    again = world.restart()
    while again.core.wants_commit:
        again.commit()
    assert again.read(again.core.queues.find("q")) == []


def test_what_was_purged_and_given_back_goes_with_a_queue_deleted_meanwhile(
    world: World,
) -> None:
    queue = world.queue()
    world.send(queue, "a")
    (entry,) = world.take(queue, 1, READER)
    world.done(world.core.queue_lifecycle.purge(queue))
    pending = world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False)
    world.core.queue_lifecycle.delete(queue)
    world.done(pending)
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not world.rows(table)


def test_what_was_purged_and_given_back_goes_a_little_later_if_the_disk_refuses(
    world: World,
) -> None:
    """Meanwhile no one reads it."""
    queue = world.queue()
    world.send(queue, "a", "b")
    (entry,) = world.take(queue, 1, READER)
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 1
    pending = world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False)
    for _ in range(2):
        world.commit(StorageFailed("EIO"))
        assert (world.read(queue), queue.messages) == ([], 1)
        assert world.core.next_deadline == RETRY_S
        assert world.pass_time(RETRY_S)
    with pytest.raises(StorageFailed):
        world.done(pending)
    commit_all(world.core)
    assert (queue.messages, world.core.next_deadline) == (0, None)
    assert not world.rows(Table.INDEX)


def test_a_queue_that_is_deleted_meanwhile_takes_it_along(world: World) -> None:
    queue = world.queue()
    world.send(queue, "a")
    (entry,) = world.take(queue, 1, READER)
    world.done(world.core.queue_lifecycle.purge(queue))
    world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False)
    world.commit(StorageFailed("EIO"))
    world.done(world.core.queue_lifecycle.delete(queue))
    world.tick(RETRY_S)
    assert world.core.next_deadline is None
    assert not world.rows(Table.INDEX)


def test_a_purge_leaves_locked_messages_to_their_holders(world: World) -> None:
    """They are removed when they are given back (DMPR-137)."""
    queue = world.queue()
    world.send(queue, "a", "b")
    world.send(queue, "c", express=True)
    taken = world.take(queue, MANY, READER)
    world.send(queue, "d")
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 1
    assert queue.total_size == 3
    world.done(
        world.receiver.end(
            queue, ranges_of([entry.lookup for entry in taken]), READER, delete=False
        )
    )
    assert world.read(queue) == []
    assert queue.total_size == 0


@pytest.mark.parametrize("way", SubscriptionMode)
def test_what_left_although_it_was_purged_is_forgotten(world: World, way: SubscriptionMode) -> None:
    """One by one and as a slice of a run: nothing is left for a restart to look for."""
    queue = world.queue()
    fill(world, queue)
    world.send(queue, letter("x", number=9), letter("y", number=11))
    last = world.lookups(queue)[-1]
    taken = world.receiver.by_lookup(queue, last, Seek.CURRENT, peek=False, holder=READER)
    (entry,) = world.done(taken)
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", queue, way))
    pending = reservations.reserve(lake, 0, 9, 1 << 20)
    assert len(queue.holds) == 10
    purged = world.core.queue_lifecycle.purge(queue)
    assert len(queue.purge_pending) == 10
    world.done(purged)
    assert pending.result() == 9
    if way is SubscriptionMode.TAKE:
        assert queue.purge_pending == {entry.lookup}
        assert list(queue.holds) == [entry.lookup]
    ended = world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=True)
    world.done(ended)
    assert entry.lookup not in queue.purge_pending
