"""What a commit changes in the counters of queues."""

from __future__ import annotations

from tests.unit.engine.world import NOW, World, letter, message

from openmsmq.engine.queues.info import queue_info
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Total
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageError


def totals(queue: ManagedQueue) -> dict[str, int]:
    """What a queue counts, without what never happened."""
    return {total.name.lower(): queue.totals[total] for total in Total if queue.totals[total]}


def test_a_queue_counts_what_happens_to_its_messages() -> None:
    """Those of runs, those with rows of their own, and express ones."""
    world = World()
    queue, aside = world.queue(), world.queue("aside")
    world.send(queue, *(letter(str(n), number=n) for n in range(1, 6)))
    assert world.rows(Table.RUNS)
    world.send(queue, "alone")
    world.send(queue, "quick", "quicker", express=True)
    world.take(queue, 7)
    assert totals(queue) == {"arrived": 8, "received": 7}
    retry = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], retry)
    assert totals(queue) == {"arrived": 8, "received": 7, "moved": 1}
    assert totals(retry) == {"arrived": 1}
    world.send(queue, message("late", expires=NOW + 1))
    world.tick(5)
    assert totals(queue) == {"arrived": 9, "received": 7, "moved": 1, "expired": 1}
    assert totals(aside) == {}
    shown = queue_info(queue, world.core)
    assert (shown.arrived, shown.received, shown.moved, shown.expired) == (9, 7, 1, 1)


def test_aborts_and_poison_are_counted() -> None:
    world = World()
    queue = world.queue(transactional=True, abort_limit=2)
    world.send_in(queue, letter("bad", transactional=True))
    for _ in range(2):
        transaction = world.transactions.begin()
        world.take(queue, 1, transaction)
        world.done(world.transactions.abort(transaction))
    assert totals(queue) == {"arrived": 1, "aborted": 2, "moved": 1}
    assert totals(world.subqueue(queue, "poison")) == {"arrived": 1}


def test_what_was_counted_outlives_a_restart_with_the_next_commit_about_the_queue() -> None:
    world = World()
    queue = world.queue()
    world.send(queue, "quick", express=True)
    assert totals(world.restart().find()) == {}, "no commit is made for a counter alone"
    world.send(queue, "a")
    world.receive(queue, 2)
    world.send(queue, "b")
    assert totals(queue) == totals(world.restart().find()) == {"arrived": 3, "received": 2}


def test_a_commit_that_fails_counts_nothing() -> None:
    world = World()
    queue = world.queue()
    before = totals(queue)
    pending = world.enqueuer.send(queue, [message("a")])
    world.commit(StorageError("no"))
    assert pending.error is not None
    assert totals(queue) == before
