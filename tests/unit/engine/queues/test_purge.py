"""Queues emptied step by step, while others go on and whatever crashes."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import READER, World, message

from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.storage.tables import Table


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose queues are emptied two messages a commit."""
    monkeypatch.setattr(emptying, "STEP", 2)
    return World()


def test_others_send_between_the_steps_of_a_purge(world: World) -> None:
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcdefg")
    purged = world.core.queues.purge(queue)
    sent = [world.enqueuer.send(other, [message(str(n))]) for n in range(3)]
    world.commit()
    assert not purged.done
    assert all(pending.done for pending in sent)
    assert world.done(purged) == 7
    assert world.read(other) == ["0", "1", "2"]


def test_what_is_sent_while_a_purge_goes_on_stays(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abcde")
    purged = world.core.queues.purge(queue)
    world.commit()
    world.send(queue, "new")
    assert world.done(purged) == 5
    assert world.read(queue) == ["new"]


def test_a_purge_that_was_answered_holds_after_a_crash_for_messages_somebody_had(
    world: World,
) -> None:
    queue = world.queue(transactional=True)
    world.fill(queue, *"abc")
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    assert world.done(world.core.queues.purge(queue)) == 2
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
    world.done(world.core.queues.purge(queue))
    pending = world.receiver.end(queue, [entry.lookup], READER, delete=False)
    world.core.queues.delete(queue)
    world.done(pending)
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not world.rows(table)


def test_a_deleted_queue_is_emptied_to_the_end_after_a_crash(world: World) -> None:
    queue = world.queue()
    world.send(queue, *"abcdefg")
    world.core.queues.delete(queue)
    world.commit()
    world.commit()
    assert world.rows(Table.INDEX)
    again = world.restart()
    while again.core.wants_commit:
        again.commit()
    for table in (Table.INDEX, Table.PACKETS, Table.QUEUES):
        assert not again.rows(table)
