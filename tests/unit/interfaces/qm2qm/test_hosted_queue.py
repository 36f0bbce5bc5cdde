"""Queues that are open for older remote read: what is bounded."""

from __future__ import annotations

import pytest
from tests.strategies.remote_reader import ORDERS
from tests.unit.interfaces.qm2qm.test_server import Opener, World

from openmsmq.errors import InsufficientResources
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.interfaces.waits import WaitingRead


def test_cursors_and_waiting_reads_are_bounded() -> None:
    """MQQP-061, MQQP-062: there is one table, used by one thread."""
    world = World()
    opener = Opener(world)
    number = opener.ask(ORDERS).queue
    queue = world.old._queues[number]
    cursor, _ = opener.cursor(number)
    queue.cursors.update({1000 + at: queue.cursors[cursor] for at in range(CURSORS_MAX)})
    with pytest.raises(InsufficientResources):
        queue.require_room_for_cursor()
    assert opener.cursor(number)[1] == InsufficientResources.hresult
    queue.waiting.update({at: WaitingRead() for at in range(REQUESTS_MAX)})
    with pytest.raises(InsufficientResources):
        queue.require_room()
