"""A message as it is found in a queue."""

from __future__ import annotations

from tests.unit.engine.world import World

from openmsmq.engine.queues.entry import Entry


def test_an_entry_says_whether_its_message_is_in_memory_only() -> None:
    world = World()
    queue = world.queue()
    world.send(queue, "a")
    world.send(queue, "b", express=True)
    assert [entry.express for entry in world.entries(queue)] == [False, True]
    assert not Entry(1, b"", b"").express
