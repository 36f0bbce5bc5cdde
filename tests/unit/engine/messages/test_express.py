"""Express messages: in memory, counted, and in order."""

from __future__ import annotations

from tests.unit.engine.world import World, letter

from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table


def test_express_messages_are_counted_while_they_are_there() -> None:
    world = World()
    queue, core = world.queue(), world.core
    lookups = core.express.insert(queue, [letter("a"), letter("b")])
    assert lookups == sorted(lookups)
    assert core.express_size == queue.express.size == core.total_size > 0
    core.express.drop(queue, lookups[:1])
    assert list(queue.express.lookups()) == lookups[1:]
    core.express.drop(queue, lookups[1:])
    assert core.express_size == queue.express.size == 0


def test_nothing_of_an_express_message_is_written() -> None:
    world = World()
    queue = world.queue()
    before = dict(world.store.committed.tables[Table.PACKETS])
    world.core.express.insert(queue, [letter("a")])
    assert not world.core.wants_commit
    assert world.store.committed.tables[Table.PACKETS] == before


def test_only_arrivals_count_as_such() -> None:
    world = World()
    queue, counts = world.queue(), world.core.statistics.counts
    before = counts.get(Event.ARRIVED.word, 0)
    world.core.express.insert(queue, [letter("a")], event=Event.JOURNALED)
    assert world.core.statistics.counts.get(Event.ARRIVED.word, 0) == before
    world.core.express.insert(queue, [letter("b")])
    assert world.core.statistics.counts[Event.ARRIVED.word] == before + 1
