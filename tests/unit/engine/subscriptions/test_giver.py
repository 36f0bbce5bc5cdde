"""Messages are given to a subscription step by step; if a step fails, they are free again."""

from __future__ import annotations

import pytest
from tests.unit.engine.runs import BODIES, check, fill
from tests.unit.engine.world import World, commit_all, letter

from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import SubscriptionMode
from openmsmq.errors import MQError, StorageFailed, StorageFull


@pytest.mark.parametrize("error", [StorageFailed("EIO"), StorageFull("disk")], ids=repr)
@pytest.mark.parametrize("way", SubscriptionMode)
def test_what_could_not_be_given_is_free_again(way: SubscriptionMode, error: MQError) -> None:
    world = World()
    queue = world.queue()
    fill(world, queue)
    world.send(queue, letter("x", number=20))
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", queue, way))
    other = world.queue("other")
    pending = reservations.reserve(lake, 0, 9, 1 << 20)
    sent = world.enqueuer.send(other, [letter("y", number=21)])
    assert world.read(queue) == []
    world.commit(error)
    assert pending.error is sent.error is error
    assert not world.core.wants_commit, "nothing that needs room is tried again"
    assert not len(queue.holds)
    assert world.bodies(queue) == [*BODIES, "x"]
    assert world.done(reservations.reserve(lake, 0, 9, 1 << 20)) == 9
    commit_all(world.core)
    assert queue.messages == (9 if way is SubscriptionMode.COPY else 0)
    assert world.count("reserved") == (0 if way is SubscriptionMode.COPY else 9)
    check(world)
