"""A manager, and a queue in it."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import World

from openmsmq.engine.queues.queue import ManagedQueue


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue()
