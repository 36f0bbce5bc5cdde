"""Units as people see them."""

from __future__ import annotations

from tests.unit.engine.world import HandClock, commit_all
from tests.unit.service.stores import SlowStore

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.transactions.units import unit_infos
from openmsmq.types.units import UnitInfo, unit_name


def test_a_unit_tells_who_has_not_confirmed_and_since_when() -> None:
    clock = HandClock()
    local = QueueManager(SlowStore(), clock, name="shop01")
    name = unit_name(local.identity, "0" * 24)
    local.commit(local.begin(name), ["postgresql 1/shop"])
    commit_all(local)
    clock.wait(90)
    local.advance(local.clock.now(), local.clock.elapsed())
    assert unit_infos(local) == [UnitInfo(name, "committing", 90, ("postgresql 1/shop",))]
