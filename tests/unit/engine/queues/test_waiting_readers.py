"""Readers that wait: woken in order, after all effects of a commit, and cancelled."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.engine.world import (
    OWNER,
    READER,
    World,
    letter,
    message,
    packets,
)

from openmsmq.engine.messages import receive
from openmsmq.engine.messages.scan import first_fitting
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.errors import (
    OperationCancelled,
    TransactionSequence,
)
from openmsmq.types.access import Mode
from openmsmq.types.lookup import LOOKUP_MAX


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue()


@pytest.fixture
def world() -> World:
    return World()


def test_closing_a_handle_cancels_the_reads_that_wait_on_it(world: World) -> None:
    """And no others (DMPR-174)."""
    queue = world.queue()
    mine, theirs = object(), object()
    for mode in (Mode(), Mode()):
        world.core.queues.open(queue, mode)
    waiting = world.wait_receive(queue, owner=mine)
    other = world.wait_receive(queue, owner=theirs)
    world.core.queues.close(queue, Mode(), mine)
    assert isinstance(waiting.error, OperationCancelled)
    assert waiting.error.hresult == 0xC00E0008
    assert not other.done
    assert len(queue.modes) == 1


def test_readers_wake_after_all_effects_of_a_commit(world: World) -> None:
    """A reader that waits takes the first message, not the first that was written."""
    queue = world.queue()
    waiting = world.wait_receive(queue)
    for priority in (1, 7, 3):
        world.enqueuer.send(queue, [message(str(priority), priority=priority)])
    world.commit()
    assert packets(world.done(waiting)) == ["7"]
    assert world.read(queue) == ["3", "1"]


def test_a_reader_waits_for_a_journal(world: World) -> None:
    queue = world.queue(journal=True)
    waiting = world.wait_receive(journal_of(queue))
    world.send(queue, letter("a"))
    (entry,) = world.take(queue)
    assert [found.packet for found in world.done(waiting)] == [entry.packet]


def test_readers_that_cannot_find_anything_do_not_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message wakes the first of many, and one more to see that nothing is left."""
    queue = world.queue()
    waiting = [world.wait_receive(queue) for _ in range(50)]
    looks = []

    def counted(*given: Any) -> list[Any]:
        found = first_fitting(*given)
        looks.append(bool(found))
        return found

    monkeypatch.setattr(receive, "first_fitting", counted)
    world.send(queue, "a")
    assert looks == [True, False]
    assert [pending.done for pending in waiting] == [True] + [False] * 49
    world.send(queue, "b")
    assert packets(waiting[1].result()) == ["b"]


def test_readers_behind_one_that_finds_nothing_look_if_they_look_elsewhere(world: World) -> None:
    queue = world.queue()
    world.send(queue, "old")
    (held,) = world.take(queue, holder=READER)
    heads = [world.wait_receive(queue) for _ in range(2)]
    cursor = world.receiver.open_cursor(queue)
    found = world.receiver.peek_cursor(queue, cursor, OWNER, wait=True, following=False)
    behind = world.receiver.peek(queue, 1, OWNER, wait=True, after=held.lookup)
    world.send(queue, "new")
    assert [pending.done for pending in heads] == [True, False]
    assert not found.done or packets(found.result()) == ["new"]
    world.send(queue, "newer", "newest")
    assert heads[1].done
    assert packets(behind.result()) == ["newest"]


def test_urgent_messages_do_not_make_readers_walk_over_those_that_are_held(world: World) -> None:
    queue = world.queue()
    world.send(queue, *map(str, range(20)))
    held = world.take(queue, 20, READER)
    for number in range(3):
        world.send(queue, f"urgent {number}", priority=7)
        assert [last for _, last in queue.parts_after(0)] == [queue.gap[0], LOOKUP_MAX]
        assert world.receive(queue) == [f"urgent {number}"]
        assert queue.parts_after(0) == [(held[-1].lookup, LOOKUP_MAX)]
    world.core.removal.release(queue, [held[7].lookup])
    world.core.readers.notify()
    assert world.receive(queue) == ["7"]


def test_a_reader_whose_transaction_is_over_is_answered_behind_one_that_finds_nothing(
    world: World,
) -> None:
    queue = world.queue(transactional=True)
    first = world.wait_receive(queue)
    empty = world.wait_receive(queue)
    transaction = world.transactions.begin()
    late = world.wait_receive(queue, holder=transaction)
    world.done(world.transactions.abort(transaction))
    world.fill(queue, "a")
    assert packets(world.done(first)) == ["a"]
    assert not empty.done
    assert isinstance(late.error, TransactionSequence)


def test_while_an_outcome_is_applied_no_reader_is_woken(world: World) -> None:
    """A-55: not even by what asks for it in between."""
    queue = world.queue()
    world.send(queue, "a")
    (held,) = world.take(queue, holder=READER)
    waiting = world.receiver.peek(queue, 1, OWNER, wait=True)
    readers = world.core.readers
    readers.pause()
    world.core.removal.release(queue, [held.lookup])
    readers.notify()
    assert not waiting.done
    readers.resume()
    assert packets(waiting.result()) == ["a"]
