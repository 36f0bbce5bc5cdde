"""What is written down of messages that were given."""

from __future__ import annotations

from tests.unit.engine.world import NOW, World, commit_all, letter

from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Record
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.rows import place_of
from openmsmq.engine.subscriptions.subscription import SubscriptionMode


def test_a_message_keeps_its_place_and_when_it_expires() -> None:
    world = World()
    queue = world.queue()
    world.send(queue, letter("a", expires=NOW + 9))
    [lookup] = world.lookups(queue)
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", queue, SubscriptionMode.TAKE))
    assert world.done(reservations.reserve(lake, 0, 1, 1)) == 1
    [found] = reservations.read(lake, 0, 1, 1)
    assert found.lookup == lookup
    assert place_of(found.record) == (lookup, NOW + 9)
    assert Record.unpack(found.record).expires > NOW + 9


def test_the_life_of_a_message_tells_of_its_subscription() -> None:
    world = World()
    queue = world.queue()
    world.done(world.core.configure(history=1))
    sent = [letter("a", number=1), letter("b", number=2, express=True), letter("c", number=3)]
    for message in sent:
        world.send(queue, message)
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", queue, SubscriptionMode.TAKE))
    world.done(reservations.reserve(lake, 0, 9, 1 << 20))
    retry = world.subqueue(queue)
    world.done(reservations.commit(lake, 1, retry))
    world.done(reservations.commit(lake, 2))
    world.done(reservations.drop(lake))
    commit_all(world.core)
    assert world.reported(sent[0])[1:] == [(Event.RESERVED, "q"), (Event.MOVED, "q;retry")]
    assert world.reported(sent[1])[1:] == [(Event.RESERVED, "q"), (Event.RECEIVED, "q")]
    assert world.reported(sent[2])[1:] == [(Event.RESERVED, "q"), (Event.RETURNED, "q")]
    assert (world.count("reserved"), world.count("returned")) == (3, 1)
