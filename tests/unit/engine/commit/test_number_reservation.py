"""Blocks of numbers are reserved before they are used, and what is left is given back."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import (
    World,
    message,
)

from openmsmq.engine.commit.number_reservation import (
    ARRIVAL_BLOCK,
    ARRIVAL_KEY,
    MESSAGE_ID_BLOCK,
    NUMBERS_LEFT,
    pack_number,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFull


@pytest.fixture
def world() -> World:
    return World()


def test_message_identifiers_are_reserved_before_they_are_used(world: World) -> None:
    """DMPR-053."""
    numbers = world.core.numbers
    world.core.take_message_ids(MESSAGE_ID_BLOCK // 2)
    assert not world.core.wants_commit
    world.core.take_message_ids(1)
    assert world.core.wants_commit
    world.commit()
    world.core.take_message_ids(MESSAGE_ID_BLOCK // 2)
    used = numbers.message_id
    assert world.restart().core.numbers.message_id >= used
    world.core.take_message_ids(1)
    world.commit(StorageFull("disk"))
    assert world.restart().core.numbers.message_id == numbers.message_id_end
    world.core.take_message_ids(1)
    assert world.core.wants_commit  # and it is tried again


def test_a_commit_that_stores_messages_reserves_their_identifiers(world: World) -> None:
    """DMPR-053: whatever else fails in it."""
    queue = world.queue()
    world.core.take_message_ids(3 * MESSAGE_ID_BLOCK)
    world.commit(StorageFull("disk"))
    world.send(queue, "a")
    used = world.core.numbers.message_id
    assert world.restart().core.numbers.message_id > used


def test_numbers_that_were_reserved_for_nothing_are_given_back(world: World) -> None:
    """DMPR-030, DMPR-053: and none is used twice."""
    queue = world.queue()
    for _ in range(5):
        world.send(queue, "a", "b")
        world.core.take_message_ids(2)
        used, given = world.core.numbers.arrival, world.core.numbers.message_id
        pending = world.enqueuer.send(queue, [message("c")])
        world.core.stop()
        world.done(pending)
        world = world.restart()
        queue = world.find()
        assert used < world.core.numbers.arrival <= used + 2 * NUMBERS_LEFT
        assert given <= world.core.numbers.message_id <= given + 2 * NUMBERS_LEFT


def test_a_long_life_reserves_more_arrival_numbers_before_they_run_out() -> None:
    """DMPR-030, DMPR-393."""
    world = World()
    queue = world.queue()
    world.core.numbers.arrival += ARRIVAL_BLOCK // 2
    world.send(queue, "a")
    world.core.numbers.arrival += ARRIVAL_BLOCK // 2
    world.send(queue, "b")
    again = world.restart()
    found = again.core.queues.find("q")
    again.send(found, "c")
    assert again.read(found) == list("abc")
    assert not World(again.store.committed).core.wants_commit


def test_the_store_reserves_ahead_of_use() -> None:
    """What a process may use is on disk before it begins."""
    world = World()
    row = world.store.committed.tables[Table.META][ARRIVAL_KEY]
    assert row == pack_number(world.core.numbers.arrival_end)
    assert world.core.numbers.arrival < world.core.numbers.arrival_end
