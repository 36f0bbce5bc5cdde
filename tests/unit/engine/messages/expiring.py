"""Messages that expire, stored and express, and a manager that they have reached."""

from __future__ import annotations

import pytest
from tests.unit.engine.station import Station
from tests.unit.engine.world import World, message

from openmsmq.engine.queues.queue import ManagedQueue

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])


def send(
    world: World, queue: ManagedQueue, text: str, seconds: int, *, express: bool = False
) -> None:
    """Send a message that lives this many seconds from now."""
    expires = world.core.timeline.now + seconds
    world.send(queue, message(text, expires=expires, express=express))


def receiver(*packets: bytes) -> Station:
    """One that these have reached."""
    station = Station()
    station.world.queue("q", transactional=True)
    station.take(*packets)
    return station
