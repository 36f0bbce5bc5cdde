"""Readers that wait: woken in order, after all effects of a commit, and cancelled."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import (
    World,
    letter,
    message,
    packets,
)

from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.errors import (
    OperationCancelled,
)
from openmsmq.types.access import Mode


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
