"""When messages expire: deadlines, readers that pass over what has expired, clocks that jump."""

from __future__ import annotations

import pytest
from tests.unit.engine.messages.expiring import EXPRESS, send
from tests.unit.engine.world import (
    MANY,
    READER,
    World,
    commit_all,
    packets,
)

from openmsmq.engine.messages import expiry as expiring
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import NEVER
from openmsmq.errors import MessageNotFound, StorageFailed
from openmsmq.types.lookup import ranges_of
from openmsmq.types.read import Seek


@EXPRESS
def test_what_has_expired_is_out_of_reach_before_it_is_removed(
    world: World, queue: ManagedQueue, express: bool
) -> None:
    """For every way of reading."""
    world.send(queue, "keep", express=express, priority=1)
    send(world, queue, "a", 1, express=express)
    lookup = world.lookups(queue)[0]
    world.now, world.elapsed = world.now + 5, world.elapsed + 5
    world.core.timeline.observe(world.now, world.elapsed)
    assert world.core.expiry.is_due
    assert world.read(queue) == ["keep"]
    for seek in (Seek.FIRST, Seek.LAST, Seek.NEXT):
        assert world.lookup(queue, lookup, seek) == "keep"
    with pytest.raises(MessageNotFound):
        world.lookup(queue, lookup)
    with pytest.raises(MessageNotFound):
        world.lookup(queue, lookup, peek=False)
    assert packets(world.cursor_peek(queue, QueueCursor()).result()) == ["keep"]
    with pytest.raises(MessageNotFound):
        world.moves.move(queue, lookup, world.subqueue(queue))
    assert world.receive(queue, MANY) == ["keep"]
    world.tick()
    assert (queue.messages, queue.total_size) == (0, 0)


def test_the_next_deadline_is_that_of_the_first_message(world: World, queue: ManagedQueue) -> None:
    """DMPR-193."""
    assert world.core.next_deadline is None
    send(world, queue, "late", 100)
    assert world.core.next_deadline == 101
    send(world, queue, "early", 50, express=True)
    assert world.core.next_deadline == 51
    world.tick(30)
    assert world.core.next_deadline == 21
    assert world.pass_time(21)
    assert world.core.next_deadline is None
    assert not world.pass_time()
    commit_all(world.core)
    assert world.core.next_deadline == 50
    world.tick(50)
    assert world.core.next_deadline is None


def test_nothing_is_written_while_nothing_is_due(world: World, queue: ManagedQueue) -> None:
    send(world, queue, "a", 100)
    assert not world.pass_time(100)
    assert not world.core.wants_commit


def test_the_deadline_is_tried_again_when_the_store_failed(
    world: World, queue: ManagedQueue
) -> None:
    """Not at once, again and again."""
    send(world, queue, "a", 1)
    assert world.pass_time(5)
    world.commit(StorageFailed("disk"))
    assert world.read(queue) == []
    assert world.core.next_deadline == expiring.RETRY
    assert world.pass_time(1)
    commit_all(world.core)
    assert queue.messages == 0
    send(world, queue, "b", -1)
    assert world.core.next_deadline == 0


def test_express_messages_that_are_gone_do_not_fill_the_memory(
    world: World, queue: ManagedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "STALE_MAX", 10)
    world.core.expiry._tidy_at = 10
    send(world, queue, "stays", 1000, express=True)
    for number in range(100):
        send(world, queue, str(number), 1000, express=True)
        world.lookup(queue, world.lookups(queue)[1], peek=False)
        assert len(world.core.expiry._heap) <= 12
    world.tick(1001)
    assert world.read(queue) == []
    assert world.count("expired") == 1


def test_a_message_given_back_again_and_again_is_known_once(
    world: World, queue: ManagedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "STALE_MAX", 10)
    world.core.expiry._tidy_at = 10
    send(world, queue, "a", 1000, express=True)
    for _ in range(100):
        (entry,) = world.take(queue, 1, READER)
        world.done(world.receiver.end(queue, ranges_of([entry.lookup]), READER, delete=False))
        assert len(world.core.expiry._heap) <= 11
    world.tick(1001)
    assert world.count("expired") == 1


@EXPRESS
@pytest.mark.parametrize("jump", [3600, -3600, 10 * 365 * 86400])
def test_a_clock_that_jumps_neither_ends_nor_prolongs_a_life(
    world: World, queue: ManagedQueue, express: bool, jump: int
) -> None:
    send(world, queue, "a", 60, express=express)
    world.tick(30, jump=jump)
    assert world.read(queue) == ["a"]
    assert world.core.next_deadline == 31
    send(world, queue, "b", 60, express=express)
    world.tick(31)
    assert world.read(queue) == ["b"]
    world.tick(30)
    assert world.read(queue) == []


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_jump_is_remembered_through_a_restart(
    world: World, queue: ManagedQueue, jump: int
) -> None:
    send(world, queue, "a", 60)
    world.tick(10, jump=jump)
    again = world.restart(20)
    again.tick()
    assert again.read(again.find()) == ["a"]
    again.tick(30)
    assert again.read(again.find()) == ["a"]
    again.tick(1)
    assert again.read(again.find()) == []


def test_a_jump_that_could_not_be_written_still_counts(world: World, queue: ManagedQueue) -> None:
    send(world, queue, "a", 60)
    world.pass_time(10, jump=3600)
    world.commit(StorageFailed("disk"))
    world.tick(10)
    assert world.read(queue) == ["a"]


def test_without_messages_that_expire_nothing_is_due(world: World, queue: ManagedQueue) -> None:
    """DMPR-307."""
    world.send(queue, "a")
    assert world.core.expiry.next == NEVER
    world.tick(10**9)
    assert world.read(queue) == ["a"]
