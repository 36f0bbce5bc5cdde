"""Queues emptied step by step, while others go on and whatever crashes."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import (
    READER,
    World,
    commit_all,
    letter,
    message,
    packets,
)

from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    StorageFailed,
    StorageFull,
)
from openmsmq.types.lookup import ARRIVAL_MASK, ranges_of


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue()


def full(world: World) -> tuple[ManagedQueue, ManagedQueue, ManagedQueue]:
    """A queue with messages, a subqueue with some, a journal with some."""
    queue = world.queue(journal=True)
    world.send(queue, letter("received"), letter("moved"), letter("left"))
    world.send(queue, letter("express", express=True))
    world.take(queue)
    sub = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], sub)
    return queue, sub, journal_of(queue)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues are emptied two messages a commit."""
    monkeypatch.setattr(emptying, "STEP", 2)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose queues are emptied two messages a commit."""
    monkeypatch.setattr(emptying, "STEP", 2)
    return World()


def test_others_send_between_the_steps_of_a_purge(world: World) -> None:
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcdefg")
    purged = world.core.queue_lifecycle.purge(queue)
    sent = [world.enqueuer.send(other, [message(str(n))]) for n in range(3)]
    world.commit()
    assert not purged.done
    assert all(pending.done for pending in sent)
    assert world.done(purged) == 7
    assert world.read(other) == ["0", "1", "2"]


def test_what_is_sent_while_a_purge_goes_on_stays(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    purged = world.core.queue_lifecycle.purge(queue)
    world.commit()
    world.send(queue, "new")
    assert world.done(purged) == 5
    assert world.read(queue) == ["new"]


def test_a_deleted_queue_is_emptied_to_the_end_after_a_crash(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abcdefg")
    world.core.queue_lifecycle.delete(queue)
    world.commit()
    world.commit()
    assert world.rows(Table.INDEX)
    again = world.restart()
    while again.core.wants_commit:
        again.commit()
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not again.rows(table)


def test_a_purge_removes_what_is_there_and_says_how_much(world: World, small_steps: None) -> None:
    """DMPR-136, DMPR-138."""
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcde")
    world.send(queue, "x", "y", express=True)
    world.send(other, "o")
    pending = world.core.queue_lifecycle.purge(queue)
    assert world.read(queue) == []
    assert world.done(pending) == 7
    assert (queue.messages, queue.total_size, world.core.express_size) == (0, 0, 0)
    assert len(world.rows(Table.QUEUES)) == 4
    assert world.read(other) == ["o"]
    world.send(queue, "new")
    assert world.read(queue) == ["new"]
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 1
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 0
    again = world.restart()
    assert again.read(again.core.queues.find("q")) == []


def test_a_purge_leaves_what_comes_after_it(world: World, small_steps: None) -> None:
    queue = world.queue()
    world.send(queue, *"abc")
    pending = world.core.queue_lifecycle.purge(queue)
    world.enqueuer.send(queue, [message("d"), message("e", priority=7)])
    world.commit()
    assert world.read(queue) == ["e", "d"]
    assert world.done(pending) == 3
    assert world.read(queue) == ["e", "d"]


def test_two_purges_at_once_count_every_message_once(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abc")
    first = world.core.queue_lifecycle.purge(queue)
    second = world.core.queue_lifecycle.purge(queue)
    assert world.done(first) + world.done(second) == 3
    assert (queue.messages, queue.total_size) == (0, 0)


def test_a_purge_counts_what_cannot_be_read_yet(world: World) -> None:
    queue = world.queue()
    late = letter("b", number=2)._replace(due=world.core.timeline.millis + 60_000)
    world.done(world.enqueuer.post(queue, [letter("a"), late]))
    assert queue.delayed is not None
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 2
    world.tick(60)
    assert world.read(queue) == []


@pytest.mark.parametrize("commits", [1, 2])
def test_a_purge_of_what_cannot_be_read_yet_may_fail(world: World, commits: int) -> None:
    """Of either part; the rest is there then."""
    queue = world.queue()
    due = world.core.timeline.millis + 60_000
    waiting = [letter(f"{n}", number=n)._replace(due=due) for n in range(10, 13)]
    world.done(world.enqueuer.post(queue, [letter("a"), *waiting]))
    pending = world.core.queue_lifecycle.purge(queue)
    for _ in range(commits - 1):
        world.commit()
    world.commit(StorageFailed("broken"))
    with pytest.raises(StorageFailed):
        world.done(pending)
    world.tick(60)
    assert "12" in world.bodies(queue)


def test_a_purge_that_fails_leaves_the_messages_readable(world: World, small_steps: None) -> None:
    """Those it has not removed yet."""
    queue = world.queue()
    world.send(queue, *"abcde")
    taken = world.take(queue, 1, READER)
    pending = world.core.queue_lifecycle.purge(queue)
    world.commit()
    waiting = world.wait_peek(queue)
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert packets(waiting.result()) == ["c"]
    world.done(world.receiver.end(queue, ranges_of([taken[0].lookup]), READER, delete=False))
    assert world.read(queue) == list("acde")


def test_a_purge_tried_again_counts_once(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abc")
    pending = world.core.queue_lifecycle.purge(queue)
    world.enqueuer.send(queue, [message("d")])
    world.commit(StorageFull("disk"))
    assert world.done(pending) == 3


def test_a_queue_deleted_while_it_is_purged_is_gone(world: World, small_steps: None) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    pending = world.core.queue_lifecycle.purge(queue)
    world.core.start_commit(world.store.begin())
    world.core.queue_lifecycle.delete(queue)
    world.store.commit()
    world.core.finish_commit()
    world.done(pending)
    assert not world.rows(Table.INDEX)
    assert not world.rows(Table.PACKETS)


def test_a_queue_and_its_parts_are_purged_apart(world: World) -> None:
    queue, sub, journal = full(world)
    assert world.done(world.core.queue_lifecycle.purge(journal)) == 1
    assert world.bodies(sub) == ["moved"]
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 2
    assert world.bodies(sub) == ["moved"]
    assert world.done(world.core.queue_lifecycle.purge(sub)) == 1
    assert sub.deleted
    assert not world.rows(Table.INDEX)


def test_what_was_purged_while_held_is_remembered_for_a_journal_too(world: World) -> None:
    """Through a crash (DMPR-137)."""
    queue = world.queue(journal=True)
    world.send(queue, letter("a"), letter("b"))
    world.take(queue, 2)
    world.take(journal_of(queue), 1, READER)
    assert world.done(world.core.queue_lifecycle.purge(journal_of(queue))) == 1
    again = world.restart()
    commit_all(again.core)
    assert again.bodies(journal_of(again.find())) == []


def test_what_is_being_purged_is_not_read_though_it_was_the_first_message_of_all(
    world: World,
) -> None:
    queue = world.queue()
    world.send(queue, "a")
    assert [entry.lookup & ARRIVAL_MASK for entry in world.entries(queue)] == [1]
    purged = world.core.queue_lifecycle.purge(queue)
    assert world.read(queue) == []
    assert world.done(purged) == 1
