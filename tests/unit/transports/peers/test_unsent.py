"""What strangers make this manager send is dropped if it cannot be sent."""

from __future__ import annotations

from tests.unit.engine.world import World

from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.names.format import parse_format_name
from openmsmq.transports.limits import UNSENT_MAX
from openmsmq.transports.peers.unsent import UnsentQueues


def test_a_queue_is_dropped_when_it_has_waited_for_too_long() -> None:
    world = World()
    name = parse_format_name(r"DIRECT=OS:far\private$\q")
    guid = world.core.identity
    queue = world.core.acknowledgements.queue_for(name, guid, of_stranger=True)
    assert queue is not None
    assert queue.properties.purpose is Purpose.UNSOLICITED
    carried: list[ManagedQueue] = [queue]
    unsent = UnsentQueues(world.core, lambda item: item in carried)
    assert unsent.sweep(0.0)
    assert unsent.sweep(2 * UNSENT_MAX)
    carried.clear()
    assert unsent.sweep(2 * UNSENT_MAX)
    assert unsent.sweep(3 * UNSENT_MAX - 1)
    assert world.core.acknowledgements.queues(Purpose.UNSOLICITED) == [queue]
    assert unsent.sweep(3 * UNSENT_MAX)
    assert world.core.acknowledgements.queues(Purpose.UNSOLICITED) == []
    assert not unsent.sweep(3 * UNSENT_MAX)
