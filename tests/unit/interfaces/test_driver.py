"""How interfaces call the queue manager."""

from __future__ import annotations

from tests.unit.app_server.machines import InstantDriver
from tests.unit.engine.world import HandClock

from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.store.memory import MemoryStore


def test_drivers_of_the_product_and_of_tests_are_drivers() -> None:
    manager = QueueManager(MemoryStore(), HandClock(), name="HOST")
    driver: EngineDriver = InstantDriver(manager)
    assert driver.call(lambda: 7) == 7
    kind: type[EngineDriver] = LoopDriver
    assert kind is LoopDriver
