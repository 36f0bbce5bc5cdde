"""What is written down of messages that were given."""

from __future__ import annotations

import pytest
from tests.unit.engine.runs import BODIES, check, fill, history, runs
from tests.unit.engine.world import NOW, World, commit_all, letter

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Record
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.rows import place_of, take
from openmsmq.engine.subscriptions.subscription import SubscriptionMode
from openmsmq.packet.view import PacketView


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


def bodies(entries: list[Entry]) -> list[str]:
    return [PacketView(entry.packet).body.decode() for entry in entries]


@pytest.mark.parametrize("way", SubscriptionMode)
@pytest.mark.parametrize("count", [8, 5])
def test_messages_of_a_run_are_given_together(way: SubscriptionMode, count: int) -> None:
    """They leave their run with the commit that gives them, and their places are as they were."""
    world = World()
    world.done(world.core.configure(history=1))
    queue = world.queue()
    sent = fill(world, queue)
    lookups = world.lookups(queue)
    world.send(queue, letter("x", number=20))
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", queue, way))
    assert world.done(reservations.reserve(lake, 0, count, 1 << 20)) == count
    commit_all(world.core)
    check(world)
    found = reservations.read(lake, 0, count, 1 << 20)
    assert [entry.lookup for entry in found] == lookups[:count]
    assert bodies(found) == BODIES[:count]
    is_copy = way is SubscriptionMode.COPY
    assert world.bodies(queue) == ([*BODIES, "x"] if is_copy else [*BODIES[count:], "x"])
    assert queue.messages == (9 if is_copy else 9 - count)
    if not is_copy:
        assert history(world, sent[0])[-1] is Event.RESERVED
    world.done(reservations.drop(lake))
    commit_all(world.core)
    check(world)
    assert world.bodies(queue) == [*BODIES, "x"]


def test_a_message_that_left_its_run_meanwhile_is_given_like_any_other() -> None:
    world = World()
    queue = world.queue()
    fill(world, queue)
    (run,) = runs(world)
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", queue, SubscriptionMode.TAKE))
    raws = [(lookup, run.member(lookup)) for lookup in world.lookups(queue)]
    entries = [Entry(lookup, raw, b"") for lookup, raw in raws if raw is not None]

    def work(batch: Batch) -> None:
        batch.explode(queue, entries[2].lookup, entries[2].record)
        take(batch, lake, entries, 1)

    world.core.submit(work, lambda: None, lambda error: pytest.fail(str(error)))
    world.commit()
    assert queue.messages == 0
    assert not runs(world)
    lake.reserved = 8
    assert bodies(reservations.read(lake, 0, 8, 1 << 20)) == BODIES
